/** Owns a sandbox in the middle of a batch; says so on standard output and waits to be killed. */
import { openSandbox } from "../../src/verify/sandbox/open.js";
import { runOne } from "./programs.js";

const sandbox = await openSandbox({ workers: 2, requireIsolation: "basic" });
const limits = { cpuMs: 50_000, wallMs: 60_000 };
const forever = [
  runOne(sandbox, "while True: pass", "", { limits }),
  runOne(sandbox, "(setsid sleep 7654321 &); sleep 7654321", "", { limits, language: "bash" }),
];
await new Promise((resolve) => setTimeout(resolve, 700));
console.log("busy");
await Promise.all(forever);
