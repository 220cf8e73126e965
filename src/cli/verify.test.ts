/** `rlvr verify` stopped with Ctrl-C. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { childrenOf } from "../verify/process-tree.js";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "rlvr-verify-cli-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test.skipIf(process.platform !== "linux")(
  "Ctrl-C ends with 130, says so, and leaves no process behind",
  async () => {
    const problems = join(dir, "problems.jsonl");
    const program = join(dir, "slow.py");
    const tests = { kind: "stdio", cases: [{ input: "", output: "1\n" }] };
    const prompt = [{ role: "user", content: "Print one." }];
    writeFileSync(problems, JSON.stringify({ id: "one", source: "apps", prompt, tests }) + "\n");
    writeFileSync(program, "import time\ntime.sleep(60)\n");
    const child = spawn(
      process.execPath,
      ["--import", "tsx", MAIN, "verify", program, "--problems", problems, "--workers", "1"],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    let [output, talk] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (talk += chunk.toString()));
    const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
    const pid = child.pid ?? 0;
    await expect.poll(() => childrenOf(pid).length, { timeout: 20_000 }).toBeGreaterThan(0);
    const started = childrenOf(pid);
    child.kill("SIGINT");
    expect(await closed).toBe(130);
    expect(talk).toMatch(/interrupted/);
    expect(output).toBe("");
    await expect.poll(() => started.filter((id) => existsSync(`/proc/${id}`))).toEqual([]);
  },
  60_000,
);
