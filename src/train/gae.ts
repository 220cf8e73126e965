/**
 * Generalized advantage estimation (GAE).
 *
 * Turns per-token rewards and the critic's values into the two targets of a PPO update: the
 * advantage, which weights the policy loss, and the return, which the critic is fitted to.
 *
 * Shapes: B sequences of T response tokens; every array is row-major [B, T].
 * Source: Schulman et al. 2015, section 3, https://arxiv.org/abs/1506.02438
 */
import { ShapeError } from "../core/errors.js";

/** What GAE reads of a batch of rollouts. */
export interface GaeInput {
  /** [B, T] Reward received after token t; in RLVR all zero but at the last response token. */
  rewards: Float32Array;
  /** [B, T] The critic's value of the state in which token t was chosen. */
  values: Float32Array;
  /** [B, T] 1 where the policy chose the token, 0 for padding and text the policy did not write. */
  mask: Uint8Array;
  /** T, the padded length of one row, in tokens. */
  length: number;
}

/** How GAE weighs the future. */
export interface GaeOptions {
  /** Discount per token, in [0, 1]. 1 pays a late pass as much as an early one. */
  gamma: number;
  /** λ, in [0, 1]: 0 trusts the critic (one-step TD), 1 trusts the rewards (Monte Carlo). */
  lambda: number;
}

/**
 * Computes advantages and returns, both [B, T], zero where `mask` is 0.
 *
 * A masked token is skipped: it adds no reward, no discount and no break between its neighbours.
 * Advantages are not whitened; `whiten` in masked.ts does that over the whole batch.
 *
 * @throws {ShapeError} if the arrays differ in length or `length` does not divide them.
 */
export function computeGae(
  { rewards, values, mask, length }: GaeInput,
  { gamma, lambda }: GaeOptions,
): { advantages: Float32Array; returns: Float32Array } {
  const size = rewards.length;
  if (values.length !== size || mask.length !== size || size % length !== 0) {
    throw new ShapeError(
      `GAE needs equal [B, ${length}] arrays, got rewards ${size}, values ${values.length}, mask ${mask.length}`,
    );
  }
  const advantages = new Float32Array(size);
  const returns = new Float32Array(size);
  for (let row = 0; row < size; row += length) {
    // Backwards, so that A_t = δ_t + γλ·A_{t+1} needs one pass. The response ends the episode:
    // there is no state after the last token, hence no value to bootstrap from.
    let nextValue = 0;
    let nextAdvantage = 0;
    for (let i = row + length - 1; i >= row; i--) {
      if (mask[i] === 0) continue;
      const tdError = rewards[i] + gamma * nextValue - values[i];
      advantages[i] = tdError + gamma * lambda * nextAdvantage;
      returns[i] = advantages[i] + values[i];
      nextValue = values[i];
      nextAdvantage = advantages[i];
    }
  }
  return { advantages, returns };
}
