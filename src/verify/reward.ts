/** Verdicts → number: what the policy is paid. */
import { rewardFault } from "../config/settings.js";
import { ConfigError } from "../core/errors.js";
import type { VerdictKind } from "../core/verdict.js";
import type { RewardOptions } from "./verifier.js";

/** What a reward is computed from. */
export interface RewardFacts {
  verdict: VerdictKind;
  passRate: number;
  /** A proper code block was given. */
  format: boolean;
}

/** Pays of each kind, in [0, 1] but for `tiered`, which pays up to the sum of its weights. */
const REWARDS: Record<
  RewardOptions["kind"],
  (facts: RewardFacts, options: RewardOptions) => number
> = {
  pass_rate: ({ passRate }) => passRate,
  all_or_nothing: ({ verdict }) => (verdict === "accepted" ? 1 : 0),
  tiered: ({ verdict, passRate, format }, { weights }) => {
    const compiles = verdict !== "no_program" && verdict !== "compile_error";
    return (
      weights.format * Number(format) +
      weights.compile * Number(compiles) +
      weights.tests * passRate
    );
  },
};

/** Computes the reward; null for a `bad_problem`, which pays nobody. */
export function computeReward(facts: RewardFacts, options: RewardOptions): number | null {
  return facts.verdict === "bad_problem" ? null : REWARDS[options.kind](facts, options);
}

/**
 * Refuses weights that are no amounts, or by which `tiered` would pay more for form than for tests.
 *
 * @throws {ConfigError} naming the weight.
 */
export function checkReward(reward: RewardOptions): void {
  for (const [name, weight] of Object.entries(reward.weights)) {
    if (!Number.isFinite(weight) || weight < 0) {
      throw new ConfigError(`reward.weights.${name} must be a number of at least 0, got ${weight}`);
    }
  }
  const fault = rewardFault(reward);
  if (fault !== null) throw new ConfigError(fault);
}
