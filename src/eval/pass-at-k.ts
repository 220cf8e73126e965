/**
 * pass@k: the chance that at least one of k samples is right, estimated from n ≥ k samples.
 *
 * Source: Chen et al. 2021, section 2.1, https://arxiv.org/abs/2107.03374
 */
import { ShapeError } from "../core/errors.js";

/** What was drawn for one problem: n samples, c of them correct. */
export interface SampleCount {
  n: number;
  c: number;
}

/**
 * The unbiased estimate 1 − C(n−c, k)/C(n, k) for one problem, as the product over
 * i = n−c+1 … n of (1 − k/i) so that no factorial overflows.
 *
 * @throws {ShapeError} if k > n: that few samples say nothing of pass@k.
 */
export function passAtK({ n, c }: SampleCount, k: number): number {
  if (k > n || k < 1) throw new ShapeError(`pass@${k} needs 1 ≤ k ≤ n, got n = ${n}`);
  if (n - c < k) return 1;
  let allWrong = 1;
  for (let i = n - c + 1; i <= n; i++) allWrong *= 1 - k / i;
  return 1 - allWrong;
}

/** Mean pass@k over problems; null unless every problem has at least k samples. */
export function meanPassAtK(counts: readonly SampleCount[], k: number): number | null {
  if (counts.length === 0 || counts.some(({ n }) => n < k)) return null;
  return counts.reduce((sum, count) => sum + passAtK(count, k), 0) / counts.length;
}
