/** Programs and machines that stop a server from answering: it is replaced, and work goes on. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { SandboxError } from "../../src/core/errors.js";
import { isAlive } from "../../src/core/process.js";
import { openSandbox } from "../../src/verify/sandbox/open.js";
import { runOne } from "./programs.js";

/** Reports its test as done, then cuts its output while the server reads it. */
const CUTS_ITS_OUTPUT = (ms: number) => `import os, struct, time
os.write(1, b"7 " * 4_000_000)
os.write(3, struct.pack("<cBBxI", b"D", 0, 0, 0))
end = time.perf_counter() + ${ms} / 1000
while time.perf_counter() < end: pass
while True: os.ftruncate(1, 0), os.write(1, b"7 " * 400_000)
`;

function below(root: number): number[] {
  const children = readdirSync("/proc").filter((name) => {
    try {
      return new RegExp(`^PPid:\\s*${root}$`, "m").test(
        readFileSync(`/proc/${name}/status`, "utf8"),
      );
    } catch {
      return false;
    }
  });
  return children.flatMap((pid) => [Number(pid), ...below(Number(pid))]);
}

describe("a server", () => {
  test("outlives programs that cut their output while it is read", async () => {
    const sandbox = await openSandbox({ workers: 1, requireIsolation: "basic" });
    const limits = { cpuMs: 300, wallMs: 1000, outputBytes: 16 * 2 ** 20 };
    for (const ms of [0, 0.2, 0.5, 1, 2, 3, 5, 8]) {
      await runOne(sandbox, CUTS_ITS_OUTPUT(ms), "", { limits });
      expect((await runOne(sandbox, "print(5)")).stdout).toBe("5\n");
    }
    await sandbox.close();
  });

  test("that answers no more is ended and replaced; its work is an error", async () => {
    const sandbox = await openSandbox({ workers: 1, requireIsolation: "basic" });
    const servers = below(process.pid);
    const run = runOne(sandbox, "import time; time.sleep(1); print(5)");
    await new Promise((resolve) => setTimeout(resolve, 200));
    // What opening it had started for a moment is gone by now.
    for (const pid of servers.filter(isAlive)) process.kill(pid, "SIGSTOP");
    await expect(run).rejects.toThrow(SandboxError);
    expect((await runOne(sandbox, "print(5)")).stdout).toBe("5\n");
    await sandbox.close();
    expect(below(process.pid).filter((pid) => servers.includes(pid))).toEqual([]);
  });
});
