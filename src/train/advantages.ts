/**
 * Advantage estimators, one row each: how rewards become the weight of every response token.
 *
 * Shapes: B completions of T response tokens, row-major [B, T]. A group is the completions of one
 * prompt instance; its id is never the prompt's text, which may stand twice in a batch.
 * Source: veRL 0.9 `core_algos.py`, checked by golden vectors; each estimator names its paper.
 */
import { ShapeError } from "../core/errors.js";
import { computeGae } from "./gae.js";
import { whiten } from "./masked.js";

/** What the estimators read of a batch of rollouts. */
export interface AdvantageInput {
  /** [B, T] Reward after each token; what stands where `mask` is 0 is not counted. */
  rewards: Float32Array;
  /** [B, T] 1 where the policy chose the token. */
  mask: Uint8Array;
  /** T */
  length: number;
  /** [B] Group of each completion. */
  groups: readonly (number | string)[];
  /** [B, T] The critic's values; needed by `gae`. */
  values?: Float32Array;
  /** [B] Reward of a greedy completion of the same prompt; needed by `remax`. */
  baselines?: Float32Array;
  /** [B, T] Tokens the losses will use, a part of `mask`; whitening sees only these. */
  lossMask?: Uint8Array;
}

/** How the estimators weigh what they read. */
export interface AdvantageOptions {
  gamma: number;
  lambda: number;
  /** Divide by the group's standard deviation; used by `grpo`. */
  normalizeByStd: boolean;
  /** Added to the deviation so that the division stays finite; veRL's 1e-6 when not given. */
  stdFloor?: number;
}

/** Advantages and returns, both [B, T]. */
export interface Advantages {
  advantages: Float32Array;
  returns: Float32Array;
}

type Estimator = (input: AdvantageInput, options: AdvantageOptions) => Advantages;

const STD_FLOOR = 1e-6;

/** The estimators by veRL's names. */
export const ESTIMATORS = {
  /** PPO. Schulman et al. 2015, https://arxiv.org/abs/1506.02438 */
  gae: (input, options) => {
    const values = needed(input.values, "gae", "values");
    const { advantages, returns } = computeGae({ ...input, values }, options);
    return { advantages: whiten(advantages, input.lossMask ?? input.mask), returns };
  },
  /** Shao et al. 2024, https://arxiv.org/abs/2402.03300; without the deviation it is Dr.GRPO. */
  grpo: (input, { normalizeByStd, stdFloor = STD_FLOOR }) =>
    spread(input, (scores, group) => {
      const { mean, std } = groupStatistics(scores, group);
      return (score) => (score - mean) / (normalizeByStd ? std + stdFloor : 1);
    }),
  /** Leave one out. Ahmadian et al. 2024, https://arxiv.org/abs/2402.14740 */
  rloo: (input) =>
    spread(input, (scores, group) => {
      const { mean } = groupStatistics(scores, group);
      const factor = group.length > 1 ? group.length / (group.length - 1) : 1;
      return (score) => (score - mean) * factor;
    }),
  /** Hu 2025, https://arxiv.org/abs/2501.03262 */
  reinforce_plus_plus: (input, { gamma }) => {
    const returns = discountedReturns(input, gamma);
    return { advantages: whiten(returns, input.lossMask ?? input.mask), returns };
  },
  /** The same with the group's mean as baseline. */
  reinforce_plus_plus_baseline: (input) => {
    const { advantages } = spread(input, (scores, group) => {
      const { mean } = groupStatistics(scores, group);
      return (score) => score - mean;
    });
    const whitened = whiten(advantages, input.lossMask ?? input.mask);
    return { advantages: whitened, returns: whitened };
  },
  /** A greedy completion as baseline. Li et al. 2023, https://arxiv.org/abs/2310.10505 */
  remax: (input) => {
    const baselines = needed(input.baselines, "remax", "baselines");
    const returns = discountedReturns(input, 1);
    const advantages = returns.map((value, i) =>
      input.mask[i] === 0 ? 0 : value - baselines[Math.floor(i / input.length)],
    );
    return { advantages, returns };
  },
} satisfies Record<string, Estimator>;

/** Name of an estimator. */
export type EstimatorName = keyof typeof ESTIMATORS;

/**
 * Computes advantages and returns.
 *
 * @throws {ShapeError} if the arrays do not fit together or one that the estimator needs is missing.
 */
export function estimateAdvantages(
  name: EstimatorName,
  input: AdvantageInput,
  options: AdvantageOptions,
): Advantages {
  const { rewards, mask, length, groups } = input;
  if (rewards.length !== mask.length || rewards.length !== groups.length * length) {
    throw new ShapeError(
      `advantages need [${groups.length}, ${length}] arrays, got rewards ${rewards.length}, mask ${mask.length}`,
    );
  }
  return ESTIMATORS[name](input, options);
}

/** [B] Sums each completion's rewards over its own tokens. */
export function sequenceScores(
  rewards: Float32Array,
  { mask, length }: Pick<AdvantageInput, "mask" | "length">,
): Float32Array {
  const scores = new Float32Array(rewards.length / length);
  for (let i = 0; i < rewards.length; i++) {
    if (mask[i] !== 0) scores[Math.floor(i / length)] += rewards[i];
  }
  return scores;
}

/** Completion indices by group, in order of first appearance. */
export function membersOf(groups: readonly (number | string)[]): number[][] {
  const members = new Map<number | string, number[]>();
  groups.forEach((group, i) => {
    const list = members.get(group);
    if (list === undefined) members.set(group, [i]);
    else list.push(i);
  });
  return [...members.values()];
}

/** Mean and unbiased standard deviation; a group of one counts as mean 0, deviation 1. */
function groupStatistics(scores: Float32Array, group: number[]): { mean: number; std: number } {
  if (group.length === 1) return { mean: 0, std: 1 };
  const mean = group.reduce((sum, i) => sum + scores[i], 0) / group.length;
  const squares = group.reduce((sum, i) => sum + (scores[i] - mean) ** 2, 0);
  return { mean, std: Math.sqrt(squares / (group.length - 1)) };
}

/** Turns each completion's score into one number, the same on all of its tokens. */
function spread(
  input: AdvantageInput,
  rule: (scores: Float32Array, group: number[]) => (score: number) => number,
): Advantages {
  const { mask, length } = input;
  const scores = sequenceScores(input.rewards, input);
  const advantages = new Float32Array(mask.length);
  for (const group of membersOf(input.groups)) {
    const advantageOf = rule(scores, group);
    for (const row of group) {
      const advantage = advantageOf(scores[row]);
      for (let i = row * length; i < (row + 1) * length; i++) {
        if (mask[i] !== 0) advantages[i] = advantage;
      }
    }
  }
  return { advantages, returns: advantages };
}

/** [B, T] Reward still to come; a masked token adds no reward and no discount. */
function discountedReturns({ rewards, mask, length }: AdvantageInput, gamma: number): Float32Array {
  const returns = new Float32Array(rewards.length);
  for (let row = 0; row < rewards.length; row += length) {
    let next = 0;
    for (let i = row + length - 1; i >= row; i--) {
      if (mask[i] === 0) continue;
      next = rewards[i] + gamma * next;
      returns[i] = next;
    }
  }
  return returns;
}

function needed(array: Float32Array | undefined, estimator: string, name: string): Float32Array {
  if (array === undefined) throw new ShapeError(`estimator ${estimator} needs ${name}`);
  return array;
}
