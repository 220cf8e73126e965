/**
 * The statistics of an evaluation: intervals for a rate and paired tests for a difference.
 *
 * A benchmark is a sample of problems, so every score carries noise: about ±4 points at 164
 * problems. Two evaluations of the same problems are paired, and the pairing removes the noise that
 * both share. The problem is the unit everywhere; several samples of one problem are not
 * independent and are averaged first.
 */
import { randomStream } from "./random.js";
import { ShapeError } from "./errors.js";

/** An interval with both ends. */
export interface Interval {
  low: number;
  high: number;
}

/** Quantile of the standard normal at 0.975: two-sided 95 %. */
const Z_95 = 1.959963984540054;
/** Quantile of the standard normal at 0.8: power of 80 %. */
const Z_POWER_80 = 0.8416212335729143;

/**
 * Wilson's score interval for `successes` of `trials`, 95 %. Unlike the textbook ±1.96·SE it stays
 * inside [0, 1] and has a width at 0 and at 1. No trials: the whole of [0, 1].
 *
 * Source: Wilson 1927, J. Am. Stat. Assoc. 22(158):209–212.
 */
export function wilsonInterval(successes: number, trials: number): Interval {
  if (trials === 0) return { low: 0, high: 1 };
  const rate = successes / trials;
  const z2 = Z_95 * Z_95;
  const centre = (rate + z2 / (2 * trials)) / (1 + z2 / trials);
  const half =
    (Z_95 / (1 + z2 / trials)) *
    Math.sqrt((rate * (1 - rate)) / trials + z2 / (4 * trials * trials));
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

/**
 * McNemar's exact test: the two-sided p-value of `gained` against `lost` problems if each flip were
 * a fair coin. Problems that both or neither solve say nothing about the difference.
 *
 * Source: McNemar 1947, Psychometrika 12:153–157, with the exact binomial tail.
 */
export function mcnemarExact(gained: number, lost: number): number {
  const flips = gained + lost;
  const fewer = Math.min(gained, lost);
  let tail = 0;
  let logChoose = 0;
  for (let i = 0; i <= fewer; i++) {
    tail += Math.exp(logChoose - flips * Math.LN2);
    logChoose += Math.log(flips - i) - Math.log(i + 1);
  }
  return Math.min(1, 2 * tail);
}

/** How a bootstrap draws. */
export interface BootstrapOptions {
  resamples: number;
  seed: number;
}

/**
 * The 95 % percentile interval of the mean of `values`, resampled by problem.
 *
 * Source: Efron 1979, Ann. Statist. 7(1):1–26; quantiles interpolate linearly, as NumPy's do.
 */
export function bootstrapMean(values: readonly number[], options: BootstrapOptions): Interval {
  const means = resampledMeans(values, options);
  return { low: quantile(means, 0.025), high: quantile(means, 0.975) };
}

/** What a paired bootstrap says of a difference. */
export interface PairedBootstrap extends Interval {
  /** Mean of after − before. */
  difference: number;
  /** Share of the resamples in which the difference is not above 0. */
  shareNotPositive: number;
}

/**
 * The paired bootstrap of the mean difference `after` − `before`, both one value per problem.
 *
 * @throws {ShapeError} if the two differ in length or are empty.
 */
export function pairedBootstrap(
  before: readonly number[],
  after: readonly number[],
  options: BootstrapOptions,
): PairedBootstrap {
  if (before.length !== after.length || before.length === 0) {
    throw new ShapeError(
      `paired bootstrap needs one value per problem on both sides, got ${before.length} and ${after.length}`,
    );
  }
  const differences = after.map((value, i) => value - before[i]);
  const means = resampledMeans(differences, options);
  return {
    difference: mean(differences),
    low: quantile(means, 0.025),
    high: quantile(means, 0.975),
    shareNotPositive: means.filter((value) => value <= 0).length / means.length,
  };
}

/**
 * The number of problems at which a paired test finds a difference like this one (two-sided 5 %,
 * power 80 %); null when there is no difference to find.
 *
 * With d the difference of one problem, δ its mean and m its mean square:
 * N = (z_α·√m + z_β·√(m − δ²))² / δ².
 * Source: Connor 1987, Biometrics 43(1):207–211, where d is −1, 0 or 1 and m the share of flips.
 */
export function problemsNeeded(differences: readonly number[]): number | null {
  const delta = mean(differences);
  if (differences.length === 0 || Math.abs(delta) < 1e-12) return null;
  const square = mean(differences.map((d) => d * d));
  const root = Z_95 * Math.sqrt(square) + Z_POWER_80 * Math.sqrt(Math.max(0, square - delta ** 2));
  return Math.ceil((root * root) / (delta * delta));
}

/** The arithmetic mean; 0 of nothing. */
export function mean(values: readonly number[]): number {
  if (values.length === 0) return 0;
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

/** The sorted means of resamples with replacement. */
function resampledMeans(values: readonly number[], options: BootstrapOptions): Float64Array {
  const stream = randomStream(options.seed, "bootstrap");
  const means = new Float64Array(options.resamples);
  for (let i = 0; i < means.length; i++) {
    let sum = 0;
    for (let j = 0; j < values.length; j++) sum += values[stream.integer(values.length)];
    means[i] = sum / values.length;
  }
  return means.sort();
}

/** The q-quantile of sorted values, interpolated linearly between neighbours. */
function quantile(sorted: Float64Array, q: number): number {
  const position = q * (sorted.length - 1);
  const below = Math.floor(position);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}
