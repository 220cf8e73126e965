/** The keys `verifier.*` and `reward.*`, each shown to decide what a real sandbox or judge does. */
import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { resolveConfig } from "../../src/config/resolve.js";
import { verifierSettings } from "../../src/config/settings.js";
import { ConfigError, SandboxError } from "../../src/core/errors.js";
import type { Problem } from "../../src/core/problem.js";
import type { Sandbox } from "../../src/verify/sandbox.js";
import { type VerifyResult, createVerifier } from "../../src/verify/verify.js";

const problem = (count: number): Problem => ({
  id: "keys",
  source: "test",
  prompt: [{ role: "user", content: "print 1" }],
  tests: {
    kind: "stdio",
    cases: Array.from({ length: count }, (_, i) => ({ input: `${i}\n`, output: "1\n" })),
  },
  language: "python",
});

async function verify(
  program: string,
  overrides: string[],
  { tests = 1, sandbox }: { tests?: number; sandbox?: Sandbox } = {},
): Promise<VerifyResult> {
  const { config } = resolveConfig({ overrides: ["verifier.workers=1", ...overrides] });
  const settings = verifierSettings(config);
  const verifier = await createVerifier({ ...settings, ...(sandbox && { sandbox }) });
  try {
    const completion = "```python\n" + program + "\n```";
    return await verifier.verify({ completion, problem: problem(tests) });
  } finally {
    await verifier.close();
  }
}

const PAYS_HALF = "import sys\nprint(1 if int(input()) < 2 else 0)";

describe("verifier keys", () => {
  test("time_limit_ms and wall_limit_ms end programs, and say which clock", async () => {
    const loop = await verify("while True: pass", [
      "verifier.time_limit_ms=300",
      "verifier.wall_limit_ms=30000",
    ]);
    expect(loop.tests[0].verdict).toMatchObject({ kind: "time_limit", limitMs: 300, clock: "cpu" });
    const sleep = await verify("import time\ntime.sleep(20)", ["verifier.wall_limit_ms=400"]);
    expect(sleep.tests[0].verdict).toMatchObject({ kind: "time_limit", limitMs: 400 });
    expect(sleep.tests[0].verdict).toMatchObject({ clock: "wall" });
  });

  test("memory_limit_mb and output_limit_kb end programs", async () => {
    const hungry = "x = bytearray(150 * 2**20)\nprint(1)";
    expect((await verify(hungry, ["verifier.memory_limit_mb=64"])).verdict).toBe("memory_limit");
    expect((await verify(hungry, [])).verdict).toBe("accepted");
    const loud = "print('x' * 30_000)";
    expect((await verify(loud, ["verifier.output_limit_kb=10"])).verdict).toBe("output_limit");
    expect((await verify(loud, [])).verdict).toBe("wrong_answer");
  });

  test("early_stop and max_tests leave tests out", async () => {
    const wrong = "print(0)";
    expect((await verify(wrong, [], { tests: 4 })).tests).toHaveLength(4);
    const stopped = await verify(wrong, ["verifier.early_stop=true"], { tests: 4 });
    expect(stopped.tests).toHaveLength(1);
    const few = await verify("print(1)", ["verifier.max_tests=2"], { tests: 4 });
    expect(few.tests).toHaveLength(2);
  });

  test("reward.kind and reward.weights decide what is paid", async () => {
    const pay = async (...overrides: string[]) =>
      (await verify(PAYS_HALF, overrides, { tests: 4 })).reward;
    expect(await pay()).toBeCloseTo(0.5);
    expect(await pay("reward.kind=all_or_nothing")).toBe(0);
    const tiers = ["reward.kind=tiered", "reward.weights.tests=0.6"];
    const base = await pay(...tiers, "reward.weights.format=0.1", "reward.weights.compile=0.1");
    expect(base).toBeCloseTo(0.5);
    expect(
      await pay(...tiers, "reward.weights.format=0.3", "reward.weights.compile=0.1"),
    ).toBeGreaterThan(base as number);
    expect(
      await pay(...tiers, "reward.weights.format=0.1", "reward.weights.compile=0.3"),
    ).toBeGreaterThan(base as number);
    expect(await pay("reward.kind=tiered", "reward.weights.tests=0.2")).not.toBeCloseTo(
      base as number,
    );
  });

  test("retries is how often a failing sandbox is asked again, require_isolation what it must reach", async () => {
    class BrokenSandbox implements Sandbox {
      readonly level = "none";
      calls = 0;
      run(): Promise<never> {
        this.calls += 1;
        return Promise.reject(new SandboxError("out of order"));
      }
      openSession(): Promise<never> {
        return this.run();
      }
      async close() {}
    }
    for (const retries of [0, 3]) {
      const sandbox = new BrokenSandbox();
      const attempt = verify("print(1)", [`verifier.retries=${retries}`], { sandbox });
      await expect(attempt).rejects.toThrow(SandboxError);
      expect(sandbox.calls).toBe(retries + 1);
    }
    const sandbox = new BrokenSandbox();
    const strict = verify("print(1)", ["verifier.require_isolation=basic"], { sandbox });
    await expect(strict).rejects.toThrow(ConfigError);
  });

  test("workers is the number of servers", async () => {
    const count = async (workers: number) => {
      const { config } = resolveConfig({ overrides: [`verifier.workers=${workers}`] });
      const before = children();
      const verifier = await createVerifier(verifierSettings(config));
      await verifier.verify({ completion: "```python\nprint(1)\n```", problem: problem(1) });
      const started = children() - before;
      await verifier.close();
      return started;
    };
    expect((await count(3)) - (await count(1))).toBe(2);
  });
});

/** Child processes of this one. */
function children(): number {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] === String(process.pid);
    } catch {
      return false;
    }
  }).length;
}
