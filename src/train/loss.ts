/**
 * PPO's losses over plain arrays: the definition that the training graph (loss-graph.ts) is tested
 * against, and the weights that both aggregate by.
 *
 * Every loss is Σ weight · token loss, with weights made from the whole mini-batch. So the gradient
 * of a mini-batch is the same whether it is computed at once or in micro-batches.
 *
 * Shapes: B completions of T response tokens, row-major [B, T].
 * Source: veRL 0.9 `core_algos.py`; PPO Schulman 2017 https://arxiv.org/abs/1707.06347; dual clip Ye
 * 2019 https://arxiv.org/abs/1912.09729; GSPO https://arxiv.org/abs/2507.18071; CISPO
 * https://arxiv.org/abs/2506.13585.
 */
import { ShapeError } from "../core/errors.js";
import { LOG_RATIO_LIMIT } from "./kl.js";
import { countTokens, maskedMean } from "./masked.js";

/** How token losses become one number, by veRL's names. */
export type LossAggregation =
  | "token-mean"
  | "token-sum"
  | "seq-mean-token-sum"
  | "seq-mean-token-mean"
  | "seq-mean-token-sum-norm";

/** The policy losses, by veRL's names. */
export type PolicyLossMode = "vanilla" | "gspo" | "cispo";

/**
 * How a policy loss becomes one number. GSPO is defined over completions: whatever is configured, each
 * of them counts the same, as in its paper and in veRL; terms beside it follow the config.
 */
export function policyAggregation(
  mode: PolicyLossMode,
  configured: LossAggregation,
): LossAggregation {
  return mode === "gspo" ? "seq-mean-token-mean" : configured;
}

/**
 * The weight of each token in a loss, [B, T]. Completions without a token in the mask count
 * nowhere, neither in sums nor in denominators.
 *
 * `scale` divides `seq-mean-token-sum-norm` (Dr.GRPO's constant); elsewhere it has no part.
 */
export function lossWeights(
  mask: Uint8Array,
  length: number,
  mode: LossAggregation,
  scale = length,
): Float32Array {
  if (mask.length % length !== 0) {
    throw new ShapeError(`a mask of ${mask.length} is no [B, ${length}] array`);
  }
  const tokensOf: number[] = [];
  for (let row = 0; row < mask.length; row += length) {
    tokensOf.push(countTokens(mask.subarray(row, row + length)));
  }
  const tokens = tokensOf.reduce((sum, count) => sum + count, 0);
  const sequences = tokensOf.filter((count) => count > 0).length;
  const rowWeight = (count: number): number => {
    switch (mode) {
      case "token-mean":
        return 1 / tokens;
      case "token-sum":
        return 1;
      case "seq-mean-token-sum":
        return 1 / sequences;
      case "seq-mean-token-mean":
        return 1 / (sequences * count);
      case "seq-mean-token-sum-norm":
        return 1 / (sequences * scale);
    }
  };
  const weights = new Float32Array(mask.length);
  tokensOf.forEach((count, row) => {
    if (count === 0) return;
    const weight = rowWeight(count);
    for (let i = row * length; i < (row + 1) * length; i++) if (mask[i] !== 0) weights[i] = weight;
  });
  return weights;
}

/** Adds up token losses by their weights. */
export function aggregate(tokenLosses: Float32Array, weights: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) {
    if (weights[i] !== 0) sum += weights[i] * tokenLosses[i];
  }
  return sum;
}

/** What a policy loss reads. */
export interface PolicyLossInput {
  /** [B, T] Log-probabilities under the policy being trained. */
  logprobs: Float32Array;
  /** [B, T] Under the policy that sampled, scored by the trainer before the first update. */
  oldLogprobs: Float32Array;
  /** [B, T] */
  advantages: Float32Array;
  /** [B, T] Tokens that count. */
  mask: Uint8Array;
  /** T */
  length: number;
}

/** How a policy loss clips. */
export interface PolicyLossOptions {
  mode: PolicyLossMode;
  clipLow: number;
  clipHigh: number;
  /** Dual clip: bound of the loss where the advantage is negative; `vanilla` alone has it. */
  clipC: number;
}

/** A policy loss per token with its gradient and what it says about the update. */
export interface PolicyLoss {
  /** [B, T] */
  tokenLosses: Float32Array;
  /** [B, T] Derivative of each token's loss by its log-probability. */
  gradients: Float32Array;
  /** Share of tokens whose ratio was clipped. */
  clipFraction: number;
  /** Share of tokens bounded by the dual clip. */
  clipFractionLower: number;
  /** Mean of old − new log-probability. */
  ppoKl: number;
}

/** Computes the policy loss of each token; `aggregate` with `lossWeights` makes it one number. */
export function policyLoss(input: PolicyLossInput, options: PolicyLossOptions): PolicyLoss {
  const { logprobs, oldLogprobs, advantages, mask, length } = input;
  const logRatios = logprobs.map((logprob, i) => logprob - oldLogprobs[i]);
  const shared = options.mode === "gspo" ? sequenceMeans(logRatios, mask, length) : null;
  const size = mask.length;
  const tokenLosses = new Float32Array(size);
  const gradients = new Float32Array(size);
  const clipped = new Uint8Array(size);
  const bounded = new Uint8Array(size);
  for (let i = 0; i < size; i++) {
    if (mask[i] === 0) continue;
    const token = tokenLoss(
      logprobs[i],
      shared === null ? logRatios[i] : shared[i],
      advantages[i],
      options,
    );
    tokenLosses[i] = token.loss;
    gradients[i] = token.gradient;
    clipped[i] = Number(token.clipped);
    bounded[i] = Number(token.bounded);
  }
  // GSPO's ratio is not limited before exp, so neither is its report.
  const kl = logRatios.map((value) => (shared === null ? -limit(value) : -value));
  return {
    tokenLosses,
    gradients,
    clipFraction: maskedMean(clipped, mask),
    clipFractionLower: maskedMean(bounded, mask),
    ppoKl: maskedMean(kl, mask),
  };
}

function tokenLoss(
  logprob: number,
  logRatio: number,
  advantage: number,
  { mode, clipLow, clipHigh, clipC }: PolicyLossOptions,
): { loss: number; gradient: number; clipped: boolean; bounded: boolean } {
  const limited = mode === "gspo" ? Math.min(10, logRatio) : limit(logRatio);
  const ratio = Math.exp(limited);
  const clippedRatio = Math.min(1 + clipHigh, Math.max(1 - clipLow, ratio));
  if (mode === "cispo") {
    // The clipped ratio is a constant: every token keeps its gradient.
    const gradient = -clippedRatio * advantage;
    const clipped = ratio !== clippedRatio;
    return { loss: gradient * logprob, gradient, clipped, bounded: false };
  }
  const plain = -advantage * ratio;
  const clipped = -advantage * clippedRatio;
  const upper = Math.max(plain, clipped);
  const bound = -advantage * clipC;
  const bounded = mode === "vanilla" && advantage < 0 && upper > bound;
  const flat = bounded || clipped > plain || limited !== logRatio;
  return {
    loss: bounded ? bound : upper,
    gradient: flat ? 0 : plain,
    clipped: clipped > plain,
    bounded,
  };
}

/** [B, T] The mean over each completion's own tokens, on all of them. */
function sequenceMeans(values: Float32Array, mask: Uint8Array, length: number): Float32Array {
  const means = new Float32Array(values.length);
  for (let row = 0; row < values.length; row += length) {
    const end = row + length;
    means.fill(maskedMean(values.subarray(row, end), mask.subarray(row, end)), row, end);
  }
  return means;
}

function limit(logRatio: number): number {
  return Math.min(LOG_RATIO_LIMIT, Math.max(-LOG_RATIO_LIMIT, logRatio));
}

/** What the value loss reads; all [B, T]. */
export interface ValueLossInput {
  /** The critic's values now. */
  values: Float32Array;
  /** Its values when the rollouts were made. */
  oldValues: Float32Array;
  returns: Float32Array;
  mask: Uint8Array;
}

/** The value loss of each token, half a square, and the share of tokens that were clipped. */
export function valueLoss(
  { values, oldValues, returns, mask }: ValueLossInput,
  clipRange: number,
): { tokenLosses: Float32Array; gradients: Float32Array; clipFraction: number } {
  const tokenLosses = new Float32Array(values.length);
  const gradients = new Float32Array(values.length);
  const clippedMask = new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const low = oldValues[i] - clipRange;
    const high = oldValues[i] + clipRange;
    const clippedValue = Math.min(high, Math.max(low, values[i]));
    const plain = (values[i] - returns[i]) ** 2;
    const clipped = (clippedValue - returns[i]) ** 2;
    clippedMask[i] = Number(clipped > plain);
    tokenLosses[i] = 0.5 * Math.max(plain, clipped);
    gradients[i] = clipped > plain ? 0 : values[i] - returns[i];
  }
  return { tokenLosses, gradients, clipFraction: maskedMean(clippedMask, mask) };
}
