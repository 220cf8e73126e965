/**
 * What happens to verdicts when a program, or the tests beside it, are killed by somebody else (as
 * by a machine short of memory), and when a compiled program is taken away: never a verdict.
 */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Problem, Tests } from "../../src/core/problem.js";
import { ConfigError, SandboxError } from "../../src/core/errors.js";
import { blockOf } from "../../src/verify/extract.js";
import { createVerifier, type Verifier } from "../../src/verify/verify.js";

const problemOf = (tests: Tests, language = "python"): Problem => ({
  id: "killed",
  source: "test",
  prompt: [{ role: "user", content: "" }],
  tests,
  language,
});
const STDIO: Tests = { kind: "stdio", cases: [{ input: "3\n", output: "3\n" }] };
const CALL: Tests = { kind: "call", entryPoint: "f", cases: [{ args: "[3]", expected: "3" }] };
/** Names the process, so that it is found from outside. */
const NAMED = 'import ctypes; ctypes.CDLL(None).prctl(15, b"rlvr-victim", 0, 0, 0)\n';
const ASSERT = (setup: string): Tests => ({
  kind: "assert",
  entryPoint: "f",
  setup,
  cases: ["assert f(3) == 3"],
  programPrefix: "",
});
const PRINTS = "import time\nx = input()\ntime.sleep(1)\nprint(x)\n";
const RETURNS = "import time\ndef f(x):\n    time.sleep(1)\n    return x\n";
const CPP = `#include <cstdio>
#include <ctime>
int main() { int n; scanf("%d", &n); timespec t = {1, 0}; nanosleep(&t, 0); printf("%d\\n", n); }
`;

function named(name: string): number[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      return /^\d+$/.test(pid) && status.startsWith(`Name:\t${name}\n`) ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

async function killOnce(name: string): Promise<void> {
  for (let round = 0; round < 2000; round++) {
    const [victim] = named(name);
    if (victim !== undefined) {
      process.kill(victim, "SIGKILL");
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`no process is called ${name}`);
}

describe("a right program", () => {
  let patient: Verifier;
  let strict: Verifier;
  beforeAll(async () => {
    patient = await createVerifier({ workers: 1, reuse: false, retries: 1 });
    strict = await createVerifier({ workers: 1, reuse: false, retries: 0 });
  });
  afterAll(() => Promise.all([patient.close(), strict.close()]));

  test.each([
    ["that is killed from outside", NAMED + PRINTS, problemOf(STDIO), "rlvr-victim"],
    ["that is killed in a call", NAMED + RETURNS, problemOf(CALL), "rlvr-victim"],
    ["that is killed beside its tests", NAMED + RETURNS, problemOf(ASSERT("")), "rlvr-victim"],
    ["whose tests are killed", RETURNS, problemOf(ASSERT(NAMED)), "rlvr-victim"],
    ["in C++ that is killed", CPP, problemOf(STDIO, "cpp"), "program"],
  ])("%s is judged again", async (_, program, problem, name) => {
    const request = { completion: blockOf(program, problem.language), problem };
    const [result] = await Promise.all([patient.verify(request), killOnce(name)]);
    expect(result).toMatchObject({ verdict: "accepted", reward: 1 });
    await expect.poll(() => named(name)).toEqual([]);
    const refused = expect(strict.verify(request)).rejects.toThrow(SandboxError);
    await killOnce(name);
    await refused;
  });

  test("whose binary, or the whole folder, is gone is compiled again", async (context) => {
    const problem = problemOf(STDIO, "cpp");
    const judge = (program: string) =>
      patient.verify({ completion: blockOf(program, "cpp"), problem });
    try {
      expect((await judge(CPP)).verdict).toBe("accepted");
    } catch (error) {
      if (error instanceof ConfigError) context.skip(error.message);
      throw error;
    }
    const roots = () =>
      readdirSync(tmpdir())
        .filter((name) => name.startsWith(`code-rlvr-programs-${process.pid}-`))
        .map((name) => join(tmpdir(), name));
    const remove = (isWanted: (path: string) => boolean) => {
      for (const root of roots()) {
        for (const path of readdirSync(root, { recursive: true, encoding: "utf8" })) {
          if (isWanted(path)) rmSync(join(root, path));
        }
      }
    };
    remove((path) => path.endsWith("/program"));
    expect((await judge(CPP)).verdict).toBe("accepted");
    for (const root of roots()) rmSync(root, { recursive: true });
    expect((await judge(CPP)).verdict).toBe("accepted");
    for (const root of roots()) rmSync(root, { recursive: true });
    expect((await judge(`${CPP}\n`)).verdict).toBe("accepted");
  });
});

test("a program that kills itself has failed", async () => {
  const verifier = await createVerifier({ workers: 1, reuse: false, retries: 0 });
  const kill = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n";
  for (const [program, tests] of [
    [`x = input()\n${kill}print(x)\n`, STDIO],
    [`${kill}def f(x): return x\n`, CALL],
    [`def f(x):\n    ${kill.replace("\n", "; ")}\n    return x\n`, ASSERT("")],
  ] as [string, Tests][]) {
    const result = await verifier.verify({
      completion: blockOf(program),
      problem: problemOf(tests),
    });
    expect(result).toMatchObject({ verdict: "runtime_error", reward: 0 });
  }
  await verifier.close();
});
