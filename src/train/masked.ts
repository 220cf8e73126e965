/**
 * Statistics over the tokens that a mask selects, in the form veRL has them, so that padding and
 * text the policy did not write never enter a mean.
 *
 * Shapes: arrays and mask of equal length, e.g. row-major [B, T]; a mask holds 0 or 1.
 */
import { ShapeError } from "../core/errors.js";

/** Sums `values` where the mask is 1. */
export function maskedSum(values: ArrayLike<number>, mask: ArrayLike<number>): number {
  assertSameLength(values, mask);
  let sum = 0;
  for (let i = 0; i < values.length; i++) if (mask[i] !== 0) sum += values[i];
  return sum;
}

/** Counts the tokens of a mask. */
export function countTokens(mask: ArrayLike<number>): number {
  let count = 0;
  for (let i = 0; i < mask.length; i++) if (mask[i] !== 0) count++;
  return count;
}

/** Averages `values` where the mask is 1; 0 where it is 1 nowhere. */
export function maskedMean(values: ArrayLike<number>, mask: ArrayLike<number>): number {
  const count = countTokens(mask);
  return count === 0 ? 0 : maskedSum(values, mask) / count;
}

/** Unbiased variance of `values` where the mask is 1; 0 for fewer than two tokens. */
export function maskedVariance(values: ArrayLike<number>, mask: ArrayLike<number>): number {
  const count = countTokens(mask);
  if (count < 2) return 0;
  const mean = maskedMean(values, mask);
  let sum = 0;
  for (let i = 0; i < values.length; i++) if (mask[i] !== 0) sum += (values[i] - mean) ** 2;
  return sum / (count - 1);
}

/**
 * Whitens: mean 0 and variance 1 over the mask, 0 outside of it. One single token becomes 0.
 *
 * Source: veRL 0.9 `masked_whiten`, 1/√(variance + 1e-8).
 */
export function whiten(values: Float32Array, mask: Uint8Array): Float32Array {
  const mean = maskedMean(values, mask);
  const scale = 1 / Math.sqrt(maskedVariance(values, mask) + 1e-8);
  return values.map((value, i) => (mask[i] === 0 ? 0 : (value - mean) * scale));
}

/** Lowest, mean and highest of some numbers; all 0 for none. */
export function summarize(values: ArrayLike<number>): { min: number; mean: number; max: number } {
  if (values.length === 0) return { min: 0, mean: 0, max: 0 };
  let [min, max, sum] = [Infinity, -Infinity, 0];
  for (let i = 0; i < values.length; i++) {
    min = Math.min(min, values[i]);
    max = Math.max(max, values[i]);
    sum += values[i];
  }
  return { min, mean: sum / values.length, max };
}

function assertSameLength(values: ArrayLike<number>, mask: ArrayLike<number>): void {
  if (values.length !== mask.length) {
    throw new ShapeError(`values (${values.length}) and mask (${mask.length}) differ in length`);
  }
}
