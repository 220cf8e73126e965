/**
 * A small run in a process of its own: prints what its memory was estimated at, and its peak.
 *
 *     memory-child.ts FIXTURE OUT [OVERRIDE…]
 */
import { readFileSync } from "node:fs";
import { train } from "../../src/train/train.js";
import { ArithmeticVerifier, tinyRun } from "./fixture.js";

const [fixture, out, ...overrides] = process.argv.slice(2);
let estimate;
await train(tinyRun(fixture, out, overrides), {
  verifier: new ArithmeticVerifier(),
  onEvent: (event) => {
    if (event.kind === "memory") ({ estimate } = event);
  },
});
const status = readFileSync("/proc/self/status", "utf8");
const peak = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024;
console.log(JSON.stringify({ estimate, peak }));
