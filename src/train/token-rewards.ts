/**
 * From one number per completion to a reward per token: the score on the last token the policy
 * chose, less penalties for length and for leaving the reference policy.
 *
 * Shapes: B completions of T response tokens, row-major [B, T].
 */
import type { RandomStream } from "../core/random.js";
import { klPerToken, type KlEstimator } from "./kl.js";
import { maskedMean } from "./masked.js";

/**
 * Puts each completion's score on its last token, [B, T]: the end token when sampling stopped there,
 * else the last token sampled. A completion without tokens gets nothing anywhere.
 */
export function placeRewards(scores: ArrayLike<number>, mask: Uint8Array, length: number) {
  const rewards = new Float32Array(mask.length);
  for (let b = 0; b < scores.length; b++) {
    const last = mask.subarray(b * length, (b + 1) * length).lastIndexOf(1);
    if (last !== -1) rewards[b * length + last] = scores[b];
  }
  return rewards;
}

/** The same scores in another order, so that what is paid says nothing of what was written. */
export function shuffleScores(scores: Float32Array, stream: RandomStream): Float32Array {
  return Float32Array.from(stream.shuffle([...scores]));
}

/**
 * The mask of a response: 1 up to the first end token, that one included, and never past the
 * tokens that are there. It goes by position: an end token that is also the padding token counts
 * once.
 */
export function responseMask(
  ids: readonly number[],
  { endIds, present }: { endIds: readonly number[]; present?: ArrayLike<number> },
): { mask: Uint8Array; truncated: boolean } {
  const mask = new Uint8Array(ids.length);
  let ended = false;
  for (let t = 0; t < ids.length && !ended; t++) {
    if (present !== undefined && present[t] === 0) break;
    mask[t] = 1;
    ended = endIds.includes(ids[t]);
  }
  return { mask, truncated: !ended && (ids.length === 0 || mask[ids.length - 1] === 1) };
}

/** The zone before the length limit in which a completion is worth less. */
export interface OverlongBuffer {
  /** The limit, in tokens. */
  maxLength: number;
  /** Width of the zone, in tokens. */
  buffer: number;
  /** Penalty at the limit. */
  factor: number;
}

/**
 * The penalty of a completion's length, at most 0: linear from 0 where the zone starts to −factor
 * at the limit.
 *
 * Source: Yu et al. 2025 (DAPO), equation 13, https://arxiv.org/abs/2503.14476
 */
export function overlongPenalty(tokens: number, { maxLength, buffer, factor }: OverlongBuffer) {
  const over = tokens - (maxLength - buffer);
  return Math.min(0, (-over / buffer) * factor);
}

/** What the KL takes from the rewards. */
export interface KlPenalty {
  /** [B, T] */
  logprobs: Float32Array;
  /** [B, T] */
  refLogprobs: Float32Array;
  mask: Uint8Array;
  length: number;
  estimator: KlEstimator;
  coefficient: number;
}

/**
 * Rewards less the weighted KL of each token, and the mean KL: over tokens within a completion, then
 * over completions, which is what an adaptive coefficient is steered by.
 */
export function penalizeKl(
  rewards: Float32Array,
  { logprobs, refLogprobs, mask, length, estimator, coefficient }: KlPenalty,
): { rewards: Float32Array; kl: number } {
  const perToken = klPerToken(estimator, logprobs, refLogprobs);
  const rows = rewards.length / length;
  let kl = 0;
  for (let row = 0; row < rewards.length; row += length) {
    const end = row + length;
    kl += maskedMean(perToken.subarray(row, end), mask.subarray(row, end)) / rows;
  }
  const penalized = rewards.map((reward, i) =>
    mask[i] === 0 ? reward : reward - coefficient * perToken[i],
  );
  return { rewards: penalized, kl };
}
