/**
 * The metrics of a step: plain numbers under veRL's names where it has the thing, and ours for
 * verdicts, formats and groups. docs/METRICS.md says what each means and what is healthy.
 *
 * Means over tokens are masked sums over the whole batch, never means of means.
 */
import type { Config } from "../config/schema.js";
import { VERDICT_KINDS } from "../core/verdict.js";
import { membersOf } from "./advantages.js";
import type { RolloutBatch } from "./batch.js";
import { FATAL_INFRA_SHARE } from "./health-rules.js";
import { maskedMean, summarize } from "./masked.js";
import type { JudgedRollout, RolloutSet } from "./rollout.js";

/** Numbers by name. */
export type Metrics = Record<string, number>;

/** Names `prefix/mean`, `prefix/max` and `prefix/min`. */
export function spreadMetrics(prefix: string, values: ArrayLike<number>): Metrics {
  const { mean, max, min } = summarize(values);
  return { [`${prefix}/mean`]: mean, [`${prefix}/max`]: max, [`${prefix}/min`]: min };
}

/** What the verifier said of all completions sampled for a step or a validation. */
export function rewardMetrics(set: RolloutSet): Metrics {
  const { rollouts, badProblems } = set;
  const mean = (value: (rollout: JudgedRollout) => number) =>
    rollouts.length === 0 ? 0 : rollouts.reduce((sum, r) => sum + value(r), 0) / rollouts.length;
  const metrics: Metrics = {
    "reward/score": mean(({ score }) => score),
    "reward/pass_rate": mean(({ result }) => result.passRate),
    "reward/accepted": mean(({ result }) => Number(result.verdict === "accepted")),
    "reward/format": mean(({ result }) => Number(result.extraction.format)),
    "reward/infra_error": infraShare(set),
    "reward/bad_problem": badProblems / Math.max(1, sampledIn(set)),
  };
  for (const kind of VERDICT_KINDS) {
    if (kind === "bad_problem") continue;
    metrics[`verdict/${kind}`] = mean(({ result }) => Number(result.verdict === kind));
  }
  return { ...metrics, ...extraMetrics(rollouts) };
}

const sampledIn = ({ rollouts, infraErrors, badProblems }: RolloutSet) =>
  rollouts.length + infraErrors + badProblems;

/** Share of the completions that the sandbox lost. */
export function infraShare(set: RolloutSet): number {
  return set.infraErrors / Math.max(1, sampledIn(set));
}

/**
 * True when the sandbox lost so much that what is left says nothing: completions without a program
 * need no sandbox, so the bad ones are left. Then nothing is learnt or measured, and the run stops.
 */
export function isLost({ health }: Config, set: RolloutSet): boolean {
  const mayStop = health.enable && health.stop_on.includes("infra_errors");
  return mayStop && infraShare(set) > FATAL_INFRA_SHARE;
}

/** Means of what a custom reward logs; a completion without a figure has no part in its mean. */
function extraMetrics(rollouts: readonly JudgedRollout[]): Metrics {
  const values = new Map<string, number[]>();
  for (const { result } of rollouts) {
    for (const [name, value] of Object.entries(result.extras ?? {})) {
      values.set(name, [...(values.get(name) ?? []), value]);
    }
  }
  return Object.fromEntries(
    [...values].map(([name, list]) => [`reward/${name}`, summarize(list).mean]),
  );
}

/**
 * Median and 95th percentile of the seconds that one completion's tests ran in the sandbox. A copy
 * of a program judged just before, and a completion without one, ran nothing and has no part.
 */
export function judgingTimes(rollouts: readonly JudgedRollout[]): Metrics {
  const seconds = rollouts
    .filter(({ result }) => result.tests.length > 0 && !result.isReused)
    .map(({ result }) => result.tests.reduce((sum, { wallMs }) => sum + wallMs, 0) / 1000)
    .sort((a, b) => a - b);
  if (seconds.length === 0) return {};
  // The smallest value that at least this share of them does not exceed.
  const at = (share: number) => seconds[Math.ceil(share * seconds.length) - 1];
  return { "timing_s/judge_p50": at(0.5), "timing_s/judge_p95": at(0.95) };
}

/** Shares of groups all of whose completions pass, none of whose do, and the rest. */
export function groupMetrics(rollouts: readonly JudgedRollout[]): Metrics {
  const groups = membersOf(rollouts.map(({ group }) => group)).map((rows) =>
    rows.map((row) => rollouts[row]),
  );
  const share = (test: (group: JudgedRollout[]) => boolean) =>
    groups.length === 0 ? 0 : groups.filter(test).length / groups.length;
  const all = share((group) => group.every(({ result }) => result.verdict === "accepted"));
  const none = share((group) => group.every(({ result }) => result.verdict !== "accepted"));
  return {
    "group/size": summarize(groups.map((group) => group.length)).mean,
    "group/solve_all": all,
    "group/solve_none": none,
    "group/mixed": 1 - all - none,
    "group/zero_std": share((group) => group.every(({ score }) => score === group[0].score)),
    "group/duplicates": duplicateShare(groups),
  };
}

/** Share of completions whose text another one of their group has too, over groups of two or more. */
function duplicateShare(groups: readonly JudgedRollout[][]): number {
  const several = groups.filter((group) => group.length > 1);
  const total = several.reduce((sum, group) => sum + group.length, 0);
  if (total === 0) return 0;
  const repeated = several.reduce((sum, group) => {
    const texts = group.map(({ completion }) => completion);
    return sum + texts.filter((text, i) => texts.indexOf(text) !== i).length;
  }, 0);
  return repeated / total;
}

/** Lengths of prompts and responses, and how many reached their limit. */
export function lengthMetrics(
  rollouts: readonly JudgedRollout[],
  limits: { prompt: number },
): Metrics {
  const responses = rollouts.map(({ tokens }) => tokens.length);
  const prompts = rollouts.map(({ prompt }) => prompt.ids.length);
  const share = (hits: boolean[]) => summarize(hits.map(Number)).mean;
  return {
    ...spreadMetrics("response_length", responses),
    "response_length/clip_ratio": share(rollouts.map(({ finish }) => finish === "length")),
    ...spreadMetrics("prompt_length", prompts),
    "prompt_length/clip_ratio": share(prompts.map((length) => length >= limits.prompt)),
  };
}

/** How far the sampler's probabilities are from the trainer's, over the tokens of a batch. */
export function samplerMetrics(
  sampled: Float32Array,
  scored: Float32Array,
  { mask }: RolloutBatch,
): Metrics {
  const [a, b]: [number[], number[]] = [[], []];
  for (let i = 0; i < mask.length; i++) {
    if (mask[i] === 0) continue;
    a.push(Math.exp(sampled[i]));
    b.push(Math.exp(scored[i]));
  }
  const differences = a.map((value, i) => Math.abs(value - b[i]));
  const { mean, max } = summarize(differences);
  return {
    "training/rollout_probs_diff_mean": mean,
    "training/rollout_probs_diff_max": max,
    "training/rollout_probs_diff_std": deviation(differences),
    "training/rollout_actor_probs_pearson_corr": correlation(a, b),
  };
}

function deviation(values: readonly number[]): number {
  const { mean } = summarize(values);
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return values.length < 2 ? 0 : Math.sqrt(squares / (values.length - 1));
}

function correlation(a: readonly number[], b: readonly number[]): number {
  const [meanA, meanB] = [summarize(a).mean, summarize(b).mean];
  let [product, squareA, squareB] = [0, 0, 0];
  a.forEach((value, i) => {
    product += (value - meanA) * (b[i] - meanB);
    squareA += (value - meanA) ** 2;
    squareB += (b[i] - meanB) ** 2;
  });
  const scale = Math.sqrt(squareA * squareB);
  return scale === 0 ? 1 : product / scale;
}

/** Share of the returns' variance that the values explain; at most 1, far below 0 when they mislead. */
export function explainedVariance(
  returns: Float32Array,
  values: Float32Array,
  mask: Uint8Array,
): number {
  const errors = returns.map((value, i) => value - values[i]);
  const variance = (list: Float32Array) => {
    const mean = maskedMean(list, mask);
    return maskedMean(
      list.map((value) => (value - mean) ** 2),
      mask,
    );
  };
  return 1 - variance(errors) / (variance(returns) + 1e-5);
}

/** Token values where the mask is 1, for a spread. */
export function masked(values: Float32Array, mask: Uint8Array): Float32Array {
  return values.filter((_, i) => mask[i] !== 0);
}
