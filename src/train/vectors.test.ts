/** Our functions against what veRL's and TRL's own functions answer; test/golden/verl_trl.py made the numbers. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type EstimatorName, estimateAdvantages } from "./advantages.js";
import { klGradientOf, klKind, klOf, nextKlCoefficient } from "./kl.js";
import {
  type LossAggregation,
  type PolicyLossMode,
  aggregate,
  lossWeights,
  policyLoss,
  valueLoss,
} from "./loss.js";
import { whiten } from "./masked.js";
import { learningRate } from "./schedule.js";

type Rows = number[][];

interface Case {
  kind: string;
  mask: Rows;
  groups: number[];
  rewards: Rows;
  values: Rows;
  baselines: number[];
  logprobs: Rows;
  old: Rows;
  reference: Rows;
  advantages: Rows;
  vpreds: Rows;
  returns: Rows;
  estimators: Record<string, [Rows, Rows]>;
  policy: {
    mode: PolicyLossMode;
    aggregation: LossAggregation;
    low: number;
    high: number;
    c: number;
    loss: number;
    gradient: Rows;
    clipfrac: number;
    clipfrac_lower: number;
    ppo_kl: number;
  }[];
  kl: Record<string, { value: Rows; gradient: Rows }>;
  value_loss: { aggregation: LossAggregation; loss: number; gradient: Rows; clipfrac: number }[];
  whitened: Rows;
}

const read = <T>(name: string) =>
  JSON.parse(readFileSync(new URL(`../../test/golden/${name}`, import.meta.url), "utf8")) as T;
const verl = read<{
  version: string;
  length: number;
  cases: Case[];
  kl_control: {
    first: number;
    target: number;
    horizon: number;
    steps: { kl: number; sequences: number; after: number }[];
  };
  schedules: Record<string, number[]>;
}>("verl.json");
const trl = read<{
  version: string;
  length: number;
  cases: (Pick<Case, "kind" | "mask" | "logprobs" | "old" | "reference" | "advantages"> & {
    losses: {
      loss_type: string;
      level: string;
      low: number;
      high: number;
      beta: number;
      loss: number;
      gradient: Rows;
    }[];
  })[];
  groups: { rewards: Rows; std: number[]; advantages: Rows };
}>("trl.json");

const floats = (rows: Rows) => Float32Array.from(rows.flat());
const bits = (rows: Rows) => Uint8Array.from(rows.flat());

/** Float32 agreement: 1e-5, relative for numbers above 1. */
function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, mask?: Uint8Array) {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < actual.length; i++) {
    if (mask !== undefined && mask[i] === 0) continue;
    const tolerance = 1e-5 * Math.max(1, Math.abs(expected[i]));
    if (!(Math.abs(actual[i] - expected[i]) <= tolerance)) {
      expect.fail(`at ${i}: ${actual[i]}, reference ${expected[i]}`);
    }
  }
}

/** Per-token gradient of the aggregated loss. */
const weighted = (gradients: Float32Array, weights: Float32Array) =>
  gradients.map((gradient, i) => (weights[i] === 0 ? 0 : gradient * weights[i]));

const length = verl.length;
const named = verl.cases.map((one, i) => [`${i}: ${one.kind}`, one] as const);

describe(`veRL ${verl.version}`, () => {
  test("is the version the numbers are of", () => {
    expect(verl.version).toBe("0.9.0");
    expect(verl.cases.map(({ kind }) => kind)).toContain("empty");
  });

  test.each(named)("estimators on batch %s", (_, one) => {
    const options = { gamma: 1, lambda: 1, normalizeByStd: true };
    const variants: Record<string, [EstimatorName, typeof options]> = {
      gae_1_1: ["gae", options],
      gae_09_08: ["gae", { ...options, gamma: 0.9, lambda: 0.8 }],
      grpo: ["grpo", options],
      grpo_no_std: ["grpo", { ...options, normalizeByStd: false }],
      rloo: ["rloo", options],
      reinforce_plus_plus: ["reinforce_plus_plus", { ...options, gamma: 0.9 }],
      reinforce_plus_plus_baseline: ["reinforce_plus_plus_baseline", options],
      remax: ["remax", options],
    };
    const mask = bits(one.mask);
    expect(Object.keys(variants)).toEqual(Object.keys(one.estimators));
    for (const [name, [estimator, settings]] of Object.entries(variants)) {
      const { advantages, returns } = estimateAdvantages(
        estimator,
        {
          rewards: floats(one.rewards),
          mask,
          length,
          groups: one.groups,
          values: floats(one.values),
          baselines: Float32Array.from(one.baselines),
        },
        settings,
      );
      const [expectedAdvantages, expectedReturns] = one.estimators[name];
      expectClose(advantages, expectedAdvantages.flat(), mask);
      expectClose(returns, expectedReturns.flat(), mask);
    }
  });

  test.each(named)("policy losses, gradients and fractions on batch %s", (_, one) => {
    const mask = bits(one.mask);
    for (const expected of one.policy) {
      const result = policyLoss(
        {
          logprobs: floats(one.logprobs),
          oldLogprobs: floats(one.old),
          advantages: floats(one.advantages),
          mask,
          length,
        },
        { mode: expected.mode, clipLow: expected.low, clipHigh: expected.high, clipC: expected.c },
      );
      const weights = lossWeights(mask, length, expected.aggregation);
      expectClose([aggregate(result.tokenLosses, weights)], [expected.loss]);
      expectClose(weighted(result.gradients, weights), expected.gradient.flat());
      expectClose(
        [result.clipFraction, result.clipFractionLower, result.ppoKl],
        [expected.clipfrac, expected.clipfrac_lower, expected.ppo_kl],
      );
    }
  });

  test.each(named)("KL estimators and their gradients on batch %s", (_, one) => {
    const [logprobs, reference] = [floats(one.logprobs), floats(one.reference)];
    for (const [name, expected] of Object.entries(one.kl)) {
      const kind = klKind(name);
      const values = logprobs.map((logprob, i) => klOf(kind.estimator, logprob, reference[i]));
      const slopes = logprobs.map((logprob, i) => klGradientOf(kind, logprob, reference[i]));
      expectClose(values, expected.value.flat());
      expectClose(slopes, expected.gradient.flat());
    }
  });

  test.each(named)("value losses on batch %s", (_, one) => {
    const mask = bits(one.mask);
    for (const expected of one.value_loss) {
      const { tokenLosses, gradients, clipFraction } = valueLoss(
        {
          values: floats(one.vpreds),
          oldValues: floats(one.values),
          returns: floats(one.returns),
          mask,
        },
        0.5,
      );
      const weights = lossWeights(mask, length, expected.aggregation);
      expectClose(
        [aggregate(tokenLosses, weights), clipFraction],
        [expected.loss, expected.clipfrac],
      );
      expectClose(weighted(gradients, weights), expected.gradient.flat());
    }
  });

  test.each(named)("whitening on batch %s", (_, one) => {
    const mask = bits(one.mask);
    expectClose(whiten(floats(one.advantages), mask), one.whitened.flat(), mask);
  });

  test("the adaptive KL coefficient, replayed", () => {
    const { first, target, horizon, steps } = verl.kl_control;
    let coefficient = first;
    for (const { kl, sequences, after } of steps) {
      coefficient = nextKlCoefficient(
        coefficient,
        { kl, sequences },
        { type: "adaptive", targetKl: target, horizon },
      );
      expectClose([coefficient], [after]);
    }
  });

  test("learning-rate schedules, step by step", () => {
    const base = { lr: 2, warmupSteps: 3, totalSteps: 10, numCycles: 0.5 };
    const ours = {
      constant_3: { ...base, type: "constant" as const, minLrRatio: 0 },
      cosine_3_of_10_min_01: { ...base, type: "cosine" as const, minLrRatio: 0.1 },
    };
    for (const [name, schedule] of Object.entries(ours)) {
      const rates = verl.schedules[name].map((_, i) => learningRate(schedule, i + 1));
      expectClose(rates, verl.schedules[name]);
    }
  });
});

describe(`TRL ${trl.version}`, () => {
  /** TRL's loss types as our mode and aggregation. */
  const TYPES: Record<string, [PolicyLossMode, LossAggregation]> = {
    dapo: ["vanilla", "token-mean"],
    bnpo: ["vanilla", "token-mean"],
    grpo: ["vanilla", "seq-mean-token-mean"],
    dr_grpo: ["vanilla", "seq-mean-token-sum-norm"],
    cispo: ["cispo", "token-mean"],
  };
  const cases = trl.cases.map((one, i) => [`${i}: ${one.kind}`, one] as const);

  test.each(cases)("policy losses and gradients on batch %s", (_, one) => {
    const mask = bits(one.mask);
    // TRL's advantages are one number a completion.
    const advantages = Float32Array.from(one.advantages.flatMap((row) => row.map(() => row[0])));
    const rows = one.mask.filter((row) => row.includes(1)).length;
    for (const expected of one.losses) {
      const [mode, aggregation] =
        expected.level === "sequence"
          ? (["gspo", "seq-mean-token-mean"] as const)
          : TYPES[expected.loss_type];
      const isCispo = mode === "cispo";
      const [logprobs, reference] = [floats(one.logprobs), floats(one.reference)];
      const result = policyLoss(
        { logprobs, oldLogprobs: floats(one.old), advantages, mask, length: trl.length },
        {
          mode,
          // TRL's CISPO has no lower bound, and its upper one is the cap itself.
          clipLow: isCispo ? 1 : expected.low,
          clipHigh: isCispo ? expected.high - 1 : expected.high,
          // TRL has no dual clip.
          clipC: Infinity,
        },
      );
      const weights = lossWeights(mask, trl.length, aggregation);
      // TRL also counts completions without a token; ours and veRL's denominators do not.
      const counted = aggregation.startsWith("seq") ? rows / one.mask.length : 1;
      const kind = klKind("k3");
      const losses = result.tokenLosses.map(
        (loss, i) => loss + expected.beta * klOf("k3", logprobs[i], reference[i]),
      );
      const gradients = result.gradients.map(
        (slope, i) => slope + expected.beta * klGradientOf(kind, logprobs[i], reference[i]),
      );
      expectClose([aggregate(losses, weights) * counted], [expected.loss]);
      expectClose(
        weighted(gradients, weights).map((slope) => slope * counted),
        expected.gradient.flat(),
      );
    }
  });

  test("group advantages, the constant beside the deviation apart", () => {
    trl.groups.rewards.forEach((rewards, group) => {
      const { advantages } = estimateAdvantages(
        "grpo",
        {
          rewards: Float32Array.from(rewards),
          mask: new Uint8Array(rewards.length).fill(1),
          length: 1,
          groups: rewards.map(() => 0),
        },
        { gamma: 1, lambda: 1, normalizeByStd: false },
      );
      const floor = trl.groups.std[group] + 1e-4;
      expectClose(
        advantages.map((advantage) => advantage / floor),
        trl.groups.advantages[group],
      );
    });
  });
});
