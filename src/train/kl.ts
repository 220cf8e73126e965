/**
 * KL divergence to the reference policy: estimators per token, and the coefficient's controller.
 *
 * With d = log π_ref − log π on tokens sampled from π: k1 = −d is unbiased and noisy, k2 = d²/2 has
 * the right gradient, k3 = e^d − 1 − d is unbiased and never negative.
 *
 * Source: Schulman 2020, http://joschu.net/blog/kl-approx.html; clamps as in veRL 0.9.
 */

/** Estimators by Schulman's names. */
export type KlEstimator = "k1" | "k2" | "k3" | "abs";

/** An estimator with where its gradient comes from. */
export interface KlKind {
  estimator: KlEstimator;
  /** Take the value of the estimator and the gradient of k2, which is the one of the KL. */
  straightThrough: boolean;
}

/** The log-ratio is kept within ± this before exp, and k3 within ± a half of it after. */
export const LOG_RATIO_LIMIT = 20;
const K3_LIMIT = 10;

const ALIASES: Record<string, KlEstimator> = {
  kl: "k1",
  k1: "k1",
  mse: "k2",
  k2: "k2",
  low_var_kl: "k3",
  k3: "k3",
  abs: "abs",
};

/** Reads veRL's name of an estimator: `kl`, `mse`, `low_var_kl`, `k1`…, with `+` for straight-through. */
export function klKind(name: string): KlKind {
  const base = name.endsWith("+") ? name.slice(0, -1) : name;
  const estimator = ALIASES[base];
  return { estimator, straightThrough: name.endsWith("+") && estimator !== "k2" };
}

/** Estimates the KL of one token. */
export function klOf(estimator: KlEstimator, logprob: number, refLogprob: number): number {
  const difference = logprob - refLogprob;
  switch (estimator) {
    case "k1":
      return difference;
    case "k2":
      return 0.5 * difference * difference;
    case "abs":
      return Math.abs(difference);
    case "k3": {
      const d = clamp(-difference, LOG_RATIO_LIMIT);
      // expm1 keeps the small differences of near policies, where e^d − 1 loses them.
      return clamp(Math.expm1(d) - d, K3_LIMIT);
    }
  }
}

/** Derivative of the estimate by `logprob`; 0 where a clamp holds. */
export function klGradientOf(kind: KlKind, logprob: number, refLogprob: number): number {
  const difference = logprob - refLogprob;
  if (kind.straightThrough) return difference;
  switch (kind.estimator) {
    case "k1":
      return 1;
    case "k2":
      return difference;
    case "abs":
      return Math.sign(difference);
    case "k3": {
      if (Math.abs(difference) > LOG_RATIO_LIMIT) return 0;
      if (Math.expm1(-difference) + difference > K3_LIMIT) return 0;
      return -Math.expm1(-difference);
    }
  }
}

/** Estimates the KL of every token; same shape as the inputs. */
export function klPerToken(
  estimator: KlEstimator,
  logprobs: Float32Array,
  refLogprobs: Float32Array,
): Float32Array {
  return logprobs.map((logprob, i) => klOf(estimator, logprob, refLogprobs[i]));
}

/** How the coefficient of the KL in the reward moves. */
export type KlControl =
  | { type: "fixed" }
  /** Multiplies by 1 + error · n / horizon, the error within ±0.2. */
  | { type: "adaptive"; targetKl: number; horizon: number };

/**
 * The coefficient after a step of `sequences` completions whose mean KL was `kl`.
 *
 * Source: Ziegler et al. 2019, section 2.2, https://arxiv.org/abs/1909.08593
 */
export function nextKlCoefficient(
  coefficient: number,
  { kl, sequences }: { kl: number; sequences: number },
  control: KlControl,
): number {
  if (control.type === "fixed") return coefficient;
  const error = clamp(kl / control.targetKl - 1, 0.2);
  return coefficient * (1 + (error * sequences) / control.horizon);
}

function clamp(value: number, limit: number): number {
  return Math.min(limit, Math.max(-limit, value));
}
