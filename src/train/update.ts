/**
 * One step's updates of a model: passes over the rollouts in mini-batches, each one optimizer step
 * whose gradient is added up exactly from micro-batches.
 */
import type { Config } from "../config/schema.js";
import { randomStream } from "../core/random.js";
import { microBatches, packBatch } from "../model/batch.js";
import type { Feed } from "../model/trainable.js";
import { adamWStep, clipByGlobalNorm } from "./adam.js";
import { type RolloutBatch, gather, spread } from "./batch.js";
import { klPerToken } from "./kl.js";
import {
  type LossAggregation,
  type PolicyLoss,
  aggregate,
  lossWeights,
  policyAggregation,
  policyLoss,
  valueLoss,
} from "./loss.js";
import { countTokens, maskedMean } from "./masked.js";
import { type Learner, policyTerms } from "./roles.js";

/** How the rollouts are cut into optimizer steps. */
export interface UpdatePlan {
  epochs: number;
  /** Completions per optimizer step. */
  miniBatch: number;
  /** Completions, or padded tokens, in memory at once. */
  microBatch: { completions: number } | { tokens: number };
  aggregation: LossAggregation;
  /** Divisor of `seq-mean-token-sum-norm`. */
  lossScale: number;
  shuffle: boolean;
  /** Names the stream of the shuffle. */
  shuffleName: (string | number)[];
  optimizer: { betas: readonly [number, number]; weightDecay: number; maxNorm: number };
  lr: number;
}

/** AdamW's ε, PyTorch's default. */
const ADAM_EPSILON = 1e-8;

/** The token arrays of a loss: its feeds by name, all [B, T]. */
type TokenFeeds = Record<string, Float32Array>;

/** Further feeds of one micro-batch: the completions `piece` of a mini-batch. */
type PieceFeeds = (part: RolloutBatch, piece: number[]) => Record<string, Feed>;

/** What came of one mini-batch, before its optimizer step. */
interface MiniBatchResult {
  indices: number[];
  /** [R] outputs of the graph, in the order of `indices`. */
  outputs: Record<string, Float32Array>;
  loss: number;
  weights: Float32Array;
  gradNorm: number;
  microBatches: number;
}

/** Reads the plan of the policy's or the critic's updates from the config. */
export function updatePlan(
  config: Config,
  role: "actor" | "critic",
  { step, lr }: { step: number; lr: number },
): UpdatePlan {
  const { actor, rollout } = config.actor_rollout_ref;
  const { critic } = config;
  const own = role === "actor" ? actor : critic;
  const micro = own.ppo_micro_batch_size_per_gpu ?? actor.ppo_micro_batch_size_per_gpu;
  const miniBatch = (own.ppo_mini_batch_size ?? actor.ppo_mini_batch_size) * rollout.n;
  return {
    epochs: own.ppo_epochs ?? actor.ppo_epochs,
    miniBatch,
    microBatch: actor.use_dynamic_bsz
      ? { tokens: own.ppo_max_token_len_per_gpu ?? actor.ppo_max_token_len_per_gpu }
      : { completions: micro ?? miniBatch },
    aggregation: own.loss_agg_mode ?? actor.loss_agg_mode,
    lossScale: actor.loss_scale_factor ?? config.data.max_response_length,
    shuffle: actor.shuffle,
    shuffleName: [config.seed, actor.data_loader_seed, "shuffle", step],
    optimizer: {
      betas: own.optim.betas,
      weightDecay: own.optim.weight_decay,
      maxNorm: own.grad_clip,
    },
    lr,
  };
}

/** The token arrays that the policy's update reads, all [B, T]. */
export interface PolicyTokens {
  advantages: Float32Array;
  oldLogprobs: Float32Array;
  refLogprobs: Float32Array;
}

/** Updates the policy and says how it went, under veRL's metric names. */
export async function updatePolicy(
  learner: Learner,
  batch: RolloutBatch,
  tokens: PolicyTokens,
  config: Config,
  plan: UpdatePlan,
): Promise<Record<string, number>> {
  const terms = policyTerms(config);
  const feeds: TokenFeeds = { advantages: tokens.advantages, old_logprobs: tokens.oldLogprobs };
  if (terms.kl !== null) feeds.ref_logprobs = tokens.refLogprobs;
  const meter = new Meter();
  const policyWeights = (part: RolloutBatch) => {
    const aggregation = policyAggregation(terms.mode, plan.aggregation);
    return lossWeights(part.lossMask, part.length, aggregation, plan.lossScale);
  };
  const byPiece: PieceFeeds = (part, piece) =>
    terms.mode === "gspo"
      ? { ...sequenceFeeds(part, piece), policy_weights: gather(policyWeights(part), part, piece) }
      : {};
  await runUpdates(learner, { batch, feeds, byPiece, plan }, (mini, first) => {
    const part = selectRows(batch, mini.indices);
    const select = (padded: Float32Array) => spread(gather(padded, batch, mini.indices), part);
    const logprobs = spread(mini.outputs.logprobs, part);
    const loss: PolicyLoss = policyLoss(
      {
        logprobs,
        oldLogprobs: select(tokens.oldLogprobs),
        advantages: select(tokens.advantages),
        mask: part.lossMask,
        length: part.length,
      },
      terms,
    );
    const weights = spread(mini.weights, part);
    const count = countTokens(part.lossMask);
    meter.add("actor/pg_loss", aggregate(loss.tokenLosses, policyWeights(part)), 1);
    meter.add("actor/loss", mini.loss, 1);
    meter.add("actor/grad_norm", mini.gradNorm, 1);
    meter.add("actor/pg_clipfrac", loss.clipFraction, count);
    meter.add("actor/pg_clipfrac_lower", loss.clipFractionLower, count);
    meter.add("actor/ppo_kl", loss.ppoKl, count);
    if (first) {
      meter.add(
        "actor/first_ratio_error",
        ratioError(logprobs, select(tokens.oldLogprobs), part),
        1,
      );
    }
    if (terms.kl !== null) {
      const kl = klPerToken(terms.kl.estimator, logprobs, select(tokens.refLogprobs));
      meter.add("actor/kl_loss", aggregate(kl, weights), 1);
    }
    if (mini.outputs.entropies !== undefined) {
      meter.add("actor/entropy_loss", aggregate(spread(mini.outputs.entropies, part), weights), 1);
    }
    meter.add("actor/micro_batches", mini.microBatches, 1);
  });
  const metrics = { ...meter.means(), "actor/lr": plan.lr };
  return terms.kl === null ? metrics : { ...metrics, "actor/kl_coef": terms.kl.coefficient };
}

/** Largest distance of the probability ratio from 1; before the first update it ought to be 0. */
function ratioError(logprobs: Float32Array, old: Float32Array, { mask }: RolloutBatch): number {
  let error = 0;
  logprobs.forEach((logprob, i) => {
    if (mask[i] !== 0) error = Math.max(error, Math.abs(Math.exp(logprob - old[i]) - 1));
  });
  return error;
}

/** The token arrays that the critic's update reads, both [B, T]. */
export interface CriticTokens {
  returns: Float32Array;
  /** The critic's values when the rollouts were made. */
  values: Float32Array;
}

/** Updates the critic and says how it went, under veRL's metric names. */
export async function updateCritic(
  learner: Learner,
  batch: RolloutBatch,
  tokens: CriticTokens,
  clipRange: number,
  plan: UpdatePlan,
): Promise<Record<string, number>> {
  const feeds: TokenFeeds = { returns: tokens.returns, old_values: tokens.values };
  const meter = new Meter();
  await runUpdates(learner, { batch, feeds, byPiece: () => ({}), plan }, (mini) => {
    const part = selectRows(batch, mini.indices);
    const select = (padded: Float32Array) => spread(gather(padded, batch, mini.indices), part);
    const values = spread(mini.outputs.values, part);
    const { clipFraction } = valueLoss(
      {
        values,
        oldValues: select(tokens.values),
        returns: select(tokens.returns),
        mask: part.lossMask,
      },
      clipRange,
    );
    const count = countTokens(part.lossMask);
    meter.add("critic/vf_loss", mini.loss, 1);
    meter.add("critic/vf_clipfrac", clipFraction, count);
    meter.add("critic/vpred_mean", maskedMean(values, part.lossMask), count);
    meter.add("critic/grad_norm", mini.gradNorm, 1);
    meter.add("critic/micro_batches", mini.microBatches, 1);
  });
  return { ...meter.means(), "critic/lr": plan.lr };
}

/** What a model learns from in one step. */
interface Lesson {
  batch: RolloutBatch;
  feeds: TokenFeeds;
  byPiece: PieceFeeds;
  plan: UpdatePlan;
}

/**
 * Runs every optimizer step of the plan; `observe` sees each mini-batch before the next. A gradient
 * that is not finite is left out, as veRL does: one such mini-batch would make every weight NaN.
 */
async function runUpdates(
  learner: Learner,
  lesson: Lesson,
  observe: (mini: MiniBatchResult, first: boolean) => void,
): Promise<void> {
  const { batch, plan } = lesson;
  let first = true;
  for (let epoch = 0; epoch < plan.epochs; epoch++) {
    const order = batch.sequences.map((_, b) => b);
    if (plan.shuffle) randomStream(...plan.shuffleName, epoch).shuffle(order);
    for (let at = 0; at < order.length; at += plan.miniBatch) {
      const indices = order.slice(at, at + plan.miniBatch);
      const part = selectRows(batch, indices);
      // A mini-batch whose completions are all masked has nothing to learn from.
      if (countTokens(part.lossMask) === 0) continue;
      const mini = await accumulateMiniBatch(learner, lesson, indices);
      if (Number.isFinite(mini.gradNorm)) stepOptimizer(learner, plan);
      observe(mini, first);
      first = false;
    }
  }
}

async function accumulateMiniBatch(
  learner: Learner,
  { batch, feeds, byPiece, plan }: Lesson,
  indices: number[],
): Promise<MiniBatchResult> {
  const part = selectRows(batch, indices);
  const partWeights = lossWeights(part.lossMask, part.length, plan.aggregation, plan.lossScale);
  const weights = gather(
    partWeights,
    part,
    part.sequences.map((_, b) => b),
  );
  learner.model.zeroGradients();
  const outputs: Record<string, Float32Array[]> = {};
  let loss = 0;
  const pieces = cutMicroBatches(part, plan.microBatch);
  for (const piece of pieces) {
    const rows = piece.map((b) => indices[b]);
    const sequences = piece.map((b) => part.sequences[b]);
    const extra = Object.fromEntries(
      Object.entries(feeds).map(([name, padded]) => [name, gather(padded, batch, rows)]),
    );
    const result = await learner.model.accumulate(packBatch(sequences), {
      ...extra,
      weights: gather(partWeights, part, piece),
      ...byPiece(part, piece),
    });
    loss += result.loss as number;
    for (const [name, value] of Object.entries(result)) {
      if (typeof value === "number") continue;
      const slots = (outputs[name] ??= Array<Float32Array>(part.sequences.length));
      let start = 0;
      for (const b of piece) {
        const tokens = part.sequences[b].response.length;
        slots[b] = value.slice(start, start + tokens);
        start += tokens;
      }
    }
  }
  const gradNorm = clipByGlobalNorm(learner.model.gradients, plan.optimizer.maxNorm);
  const joined = Object.entries(outputs).map(([name, slots]) => [name, join(slots)] as const);
  return {
    indices,
    outputs: Object.fromEntries(joined),
    loss,
    weights,
    gradNorm,
    microBatches: pieces.length,
  };
}

function cutMicroBatches(part: RolloutBatch, size: UpdatePlan["microBatch"]): number[][] {
  if ("tokens" in size) return microBatches(part.sequences, size.tokens);
  const all = part.sequences.map((_, b) => b);
  const pieces: number[][] = [];
  for (let at = 0; at < all.length; at += size.completions) {
    pieces.push(all.slice(at, at + size.completions));
  }
  return pieces;
}

/** GSPO's feeds: a matrix that averages over each completion's loss tokens, and each token's row. */
function sequenceFeeds(part: RolloutBatch, piece: number[]) {
  const tokens = piece.reduce((sum, b) => sum + part.sequences[b].response.length, 0);
  const averaging = new Float32Array(piece.length * tokens);
  const sequenceOf = new BigInt64Array(tokens);
  let at = 0;
  piece.forEach((b, row) => {
    const start = b * part.length;
    const own = part.lossMask.subarray(start, start + part.sequences[b].response.length);
    const count = Math.max(1, countTokens(own));
    own.forEach((bit) => {
      averaging[row * tokens + at] = bit / count;
      sequenceOf[at] = BigInt(row);
      at++;
    });
  });
  return {
    averaging: { dtype: "f32" as const, shape: [piece.length, tokens], data: averaging },
    sequence_of: { dtype: "i64" as const, shape: [tokens], data: sequenceOf },
  };
}

function stepOptimizer({ model, parameters, optimizer }: Learner, plan: UpdatePlan): void {
  optimizer.updates += 1;
  adamWStep({
    params: parameters.data,
    gradients: model.gradients,
    m: optimizer.m,
    v: optimizer.v,
    step: optimizer.updates,
    lr: plan.lr,
    betas: plan.optimizer.betas,
    eps: ADAM_EPSILON,
    weightDecay: plan.optimizer.weightDecay,
  });
}

/** The chosen completions as a batch of their own, padded as the whole one is. */
function selectRows(batch: RolloutBatch, indices: readonly number[]): RolloutBatch {
  const { length } = batch;
  const rows = (mask: Uint8Array) => {
    const chosen = new Uint8Array(indices.length * length);
    indices.forEach((b, row) => {
      chosen.set(mask.subarray(b * length, (b + 1) * length), row * length);
    });
    return chosen;
  };
  return {
    sequences: indices.map((b) => batch.sequences[b]),
    groups: indices.map((b) => batch.groups[b]),
    scores: Float32Array.from(indices, (b) => batch.scores[b]),
    truncated: Uint8Array.from(indices, (b) => batch.truncated[b]),
    length,
    mask: rows(batch.mask),
    lossMask: rows(batch.lossMask),
  };
}

function join(parts: readonly Float32Array[]): Float32Array {
  const joined = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Weighted means by name, in order of first appearance. */
class Meter {
  readonly #sums = new Map<string, { sum: number; weight: number }>();

  add(name: string, value: number, weight: number): void {
    const entry = this.#sums.get(name) ?? { sum: 0, weight: 0 };
    this.#sums.set(name, { sum: entry.sum + value * weight, weight: entry.weight + weight });
  }

  means(): Record<string, number> {
    return Object.fromEntries(
      [...this.#sums].map(([name, { sum, weight }]) => [name, sum / weight]),
    );
  }
}
