/** Metrics of rewards: missing figures, one sample per prompt, groups, and judging that hangs. */
import type { Problem } from "../../../src/core/problem.js";
import { type Metrics, rewardMetrics } from "../../../src/train/metrics.js";
import type { JudgedRollout } from "../../../src/train/rollout.js";
import { sampleStatistics } from "../../../src/train/validate.js";
import { type Verifier, createVerifier } from "../../../src/verify/verify.js";
import { type Case, SkipCase } from "../case.js";
import { differ } from "./numbers.js";

const PROBLEM: Problem = {
  id: "case",
  source: "case",
  prompt: [{ role: "user", content: "print 1" }],
  tests: { kind: "stdio", cases: [{ input: "", output: "1" }] },
  language: "python",
};

let verifier: Verifier | null = null;

/** Ends the sandbox. */
export async function close(): Promise<void> {
  await verifier?.close();
}

/** Runs one case. */
export async function run({ input, expected: rawExpected }: Case): Promise<string | null> {
  const expected = rawExpected as never;
  if (Array.isArray(input.scores)) return statistics(input.scores as number[][], expected);
  if (Array.isArray(input.batch)) return hanging(input as never, expected);
  if (Array.isArray(input.uids)) return groups(input as never, expected);
  if (Array.isArray(input.rewards)) return extras(input.rewards, expected);
  throw new SkipCase("input of an unknown shape");
}

function statistics(
  scores: number[][],
  expected: { must_have: Metrics; must_not_have: string[] },
): string | null {
  const found = sampleStatistics(scores, scores[0].length);
  for (const [name, value] of Object.entries(expected.must_have)) {
    if (found[name] !== value) return `expected ${name}=${value}, got ${found[name]}`;
  }
  const extra = expected.must_not_have.filter((name) => name in found);
  return extra.length === 0 ? null : `${extra.join(", ")} say nothing of one sample`;
}

function rollout(score: number, extra: Record<string, number> = {}, group = 0): JudgedRollout {
  return {
    prompt: { problem: PROBLEM, ids: [1] },
    group,
    sample: 0,
    tokens: [1],
    logprobs: Float32Array.of(0),
    finish: "stop",
    completion: "",
    score,
    result: {
      problemId: PROBLEM.id,
      extraction: { program: null, format: false, reason: "no_block" },
      tests: [],
      totalTests: 1,
      passRate: score,
      verdict: score > 0 ? "accepted" : "wrong_answer",
      reward: score,
      trust: "strong",
      extras: extra,
    } as unknown as JudgedRollout["result"],
  };
}

function setOf(rollouts: JudgedRollout[]) {
  return { rollouts, infraErrors: 0, badProblems: 0, timing: { generate: 0, verify: 0 } };
}

function extras(
  rewards: (number | ({ score: number } & Record<string, number>))[],
  expected: { scores: number[]; mean_acc: number },
): string | null {
  const rollouts = rewards.map((reward) => {
    if (typeof reward === "number") return rollout(reward);
    const { score, ...rest } = reward;
    return rollout(score, rest);
  });
  const metrics = rewardMetrics(setOf(rollouts));
  return (
    differ(
      rollouts.map(({ score }) => score),
      expected.scores,
    ) ?? differ([metrics["reward/acc"]], [expected.mean_acc])
  );
}

function groups(
  { rewards, uids }: { rewards: number[][]; uids: string[] },
  expected: { pass_at_n: number; mean_reward: number },
): string | null {
  const names = [...new Set(uids)];
  const passes = names.map((name) =>
    rewards.filter((_, i) => uids[i] === name).map((tokens) => Number((tokens.at(-1) ?? 0) > 0)),
  );
  const totals = rewards.map((tokens) => tokens.reduce((a, b) => a + b, 0));
  const mean = rewardMetrics(setOf(totals.map((total) => rollout(total))))["reward/score"];
  const most = Math.max(...passes.map((group) => group.length));
  return (
    differ([sampleStatistics(passes, most)[`best@${most}`]], [expected.pass_at_n]) ??
    differ([mean], [expected.mean_reward])
  );
}

async function hanging(
  { batch, per_item_timeout_s: seconds }: { batch: string[]; per_item_timeout_s: number },
  expected: { scores: number[]; max_wall_s: number },
): Promise<string | null> {
  const limits = { cpuMs: seconds * 1000, wallMs: seconds * 1000 };
  verifier = await createVerifier({
    workers: 2,
    limits: { ...limits, memoryBytes: 256 * 2 ** 20, outputBytes: 2 ** 20 },
  });
  const open = verifier;
  const program = { ok: "print(1)", hang: "import time\nwhile True: time.sleep(1)" };
  const started = performance.now();
  const results = await Promise.all(
    batch.map((kind) =>
      open.verify({
        completion: "```python\n" + program[kind as "ok" | "hang"] + "\n```",
        problem: PROBLEM,
      }),
    ),
  );
  const wall = (performance.now() - started) / 1000;
  if (wall > expected.max_wall_s) return `took ${wall.toFixed(1)} s`;
  return differ(
    results.map(({ reward }) => reward ?? NaN),
    expected.scores,
  );
}
