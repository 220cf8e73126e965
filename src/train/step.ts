/**
 * One step of training, readable as the algorithm: roll out, judge, score, turn rewards into
 * advantages, update the critic and the policy, and say how it went.
 *
 * Shapes: B completions of T response tokens, row-major [B, T].
 */
import type { Config } from "../config/schema.js";
import { SandboxError } from "../core/errors.js";
import { randomStream } from "../core/random.js";
import type { ModelConfig } from "../model/config.js";
import type { Scorer } from "../model/score.js";
import { type EstimatorName, estimateAdvantages, sequenceScores } from "./advantages.js";
import { type RolloutBatch, gather, makeBatch, spread } from "./batch.js";
import { type DataOrder } from "./data-order.js";
import { klKind, klPerToken, nextKlCoefficient } from "./kl.js";
import { maskedMean } from "./masked.js";
import {
  type Metrics,
  explainedVariance,
  groupMetrics,
  isLost,
  judgingTimes,
  lengthMetrics,
  masked,
  rewardMetrics,
  samplerMetrics,
  spreadMetrics,
} from "./metrics.js";
import type { Roles } from "./roles.js";
import type { JudgedRollout, Prompt, RolloutMakers } from "./rollout.js";
import { greedyBaselines, sampleStep } from "./sampling.js";
import { learningRate } from "./schedule.js";
import { penalizeKl, placeRewards, shuffleScores } from "./token-rewards.js";
import { updateCritic, updatePlan, updatePolicy } from "./update.js";

/** What changes from step to step beside the models; kept in checkpoints. */
export interface TrainState {
  /** Steps made. */
  step: number;
  /** Batches drawn from the data. */
  batchesDrawn: number;
  /** Weight of the KL in the reward. */
  klCoefficient: number;
  /** Tokens trained on so far, prompts included. */
  tokensSeen: number;
  /** Best validation so far; null before the first. */
  best: { step: number; value: number } | null;
}

/** What a step needs. */
export interface StepContext {
  config: Config;
  roles: Roles;
  makers: RolloutMakers;
  data: { prompts: readonly Prompt[]; order: DataOrder };
  totalSteps: number;
  stepsPerEpoch: number;
}

/** What a step leaves. */
export interface StepResult {
  metrics: Metrics;
  /** Seconds by phase, under veRL's names. */
  timing: Metrics;
  rollouts: JudgedRollout[];
  /** Advantages of each kept rollout's tokens; null for one that was not trained on. */
  advantages: Map<JudgedRollout, Float32Array>;
  /** What the user ought to know. */
  notices: string[];
  state: TrainState;
}

/** Log-probabilities and values of a batch under every model, all [B, T]. */
interface Scores {
  old: Float32Array;
  entropies: Float32Array;
  reference: Float32Array;
  values: Float32Array | null;
}

/** Floats of a scoring pass's logits; bounds its memory for large vocabularies. */
const SCORE_FLOATS = 2 ** 26;

/** Carries out the step after `before`. */
export async function trainStep(context: StepContext, before: TrainState): Promise<StepResult> {
  const { config, roles, makers, data } = context;
  const step = before.step + 1;
  const clock = new Clock();

  const sampled = await sampleStep(makers, data, { step, drawn: before.batchesDrawn });
  clock.lap({ gen: sampled.all.timing.generate, reward: sampled.all.timing.verify });
  if (isLost(config, sampled.all)) {
    // What is left is no fair sample: completions without a program need no sandbox.
    const metrics = { ...rewardMetrics(sampled.all), "training/global_step": step };
    const state = { ...before, step };
    return { ...EMPTY_RESULT, metrics, rollouts: sampled.all.rollouts, state };
  }
  if (sampled.kept.length === 0) {
    throw new SandboxError(`step ${step}: none of its completions could be judged`);
  }
  const judged = makeBatch(sampled.kept.map(toMember), config.algorithm.mask_truncated);
  const batch = config.reward.shuffle ? withShuffledScores(judged, config.seed, step) : judged;

  const scores = await scoreBatch(roles, batch, config, clock);

  const reward = await rewardTokens(context, sampled.kept, batch, scores, before.klCoefficient);
  const { advantages, returns } = estimateAdvantages(
    config.algorithm.adv_estimator as EstimatorName,
    {
      rewards: reward.rewards,
      mask: batch.mask,
      lossMask: batch.lossMask,
      length: batch.length,
      groups: batch.groups,
      ...(scores.values === null ? {} : { values: scores.values }),
      ...(reward.baselines === null ? {} : { baselines: reward.baselines }),
    },
    {
      gamma: config.algorithm.gamma,
      lambda: config.algorithm.lam,
      normalizeByStd: config.algorithm.norm_adv_by_std_in_grpo,
    },
  );
  clock.lap("adv");

  const updates = await update(context, step, batch, { scores, advantages, returns }, clock);

  const tokens = sampled.kept.reduce((sum, r) => sum + r.prompt.ids.length + r.tokens.length, 0);
  const metrics: Metrics = {
    ...rewardMetrics(sampled.all),
    kl: maskedMean(klPerToken("k3", scores.old, scores.reference), batch.mask),
    ...groupMetrics(sampled.all.rollouts),
    ...spreadMetrics("critic/score", batch.scores),
    ...spreadMetrics("critic/rewards", sequenceScores(reward.rewards, batch)),
    ...spreadMetrics("critic/advantages", masked(advantages, batch.mask)),
    ...spreadMetrics("critic/returns", masked(returns, batch.mask)),
    ...valueMetrics(scores.values, returns, batch),
    ...updates,
    "actor/entropy": maskedMean(scores.entropies, batch.mask),
    ...reward.metrics,
    ...lengthMetrics(sampled.all.rollouts, { prompt: config.data.max_prompt_length }),
    ...samplerMetrics(sampledLogprobs(sampled.kept, batch), scores.old, batch),
    ...filterMetrics(config, sampled),
    "training/global_step": step,
    "training/epoch": Math.floor(before.batchesDrawn / context.stepsPerEpoch),
    "perf/total_num_tokens": tokens,
  };
  return {
    metrics,
    timing: { ...clock.metrics(tokens), ...judgingTimes(sampled.all.rollouts) },
    rollouts: sampled.all.rollouts,
    advantages: new Map(
      sampled.kept.map((rollout, b) => [rollout, gather(advantages, batch, [b])]),
    ),
    notices: sampled.shortage === null ? [] : [sampled.shortage],
    state: {
      ...before,
      step,
      batchesDrawn: before.batchesDrawn + sampled.batches,
      klCoefficient: reward.nextKlCoefficient,
      tokensSeen: before.tokensSeen + tokens,
    },
  };
}

/** What a step leaves that was given up before its update. */
const EMPTY_RESULT = {
  timing: {},
  advantages: new Map<JudgedRollout, Float32Array>(),
  notices: [],
};

function toMember(rollout: JudgedRollout) {
  return {
    sequence: { prompt: rollout.prompt.ids, response: rollout.tokens },
    group: rollout.group,
    score: rollout.score,
    truncated: rollout.finish === "length",
  };
}

/** Most padded tokens of one scoring pass. */
export function scoringTokens(
  { actor_rollout_ref: { actor } }: Config,
  model: ModelConfig,
): number {
  const byVocabulary = Math.floor(SCORE_FLOATS / model.vocabSize);
  return Math.min(actor.ppo_max_token_len_per_gpu, byVocabulary);
}

/** Scores the batch under the policy that sampled it, the reference policy and the critic. */
async function scoreBatch(
  roles: Roles,
  batch: RolloutBatch,
  config: Config,
  clock: Clock,
): Promise<Scores> {
  const microBatchTokens = scoringTokens(config, roles.config);
  const options = { temperature: config.actor_rollout_ref.rollout.temperature, microBatchTokens };
  const policy = (scorer: Scorer) => scorer.scorePolicy(batch.sequences, options);
  const old = await policy(roles.policy.scorer);
  clock.lap("old_log_prob");
  const reference = await policy(roles.reference);
  clock.lap("ref");
  const critic = await roles.critic?.scorer.scoreCritic(batch.sequences, options);
  if (critic !== undefined) clock.lap("values");
  return {
    old: spread(old.logprobs, batch),
    entropies: spread(old.entropies, batch),
    reference: spread(reference.logprobs, batch),
    values: critic === undefined ? null : spread(critic.values, batch),
  };
}

/** The control experiment: nothing can be learnt from rewards dealt out at random. */
function withShuffledScores(batch: RolloutBatch, seed: number, step: number): RolloutBatch {
  const stream = randomStream(seed, "shuffled rewards", step);
  return { ...batch, scores: shuffleScores(batch.scores, stream) };
}

/** The reward of every token, the KL taken from it, and the coefficient of the next step. */
async function rewardTokens(
  { config, makers }: StepContext,
  kept: readonly JudgedRollout[],
  batch: RolloutBatch,
  scores: Scores,
  coefficient: number,
) {
  const { algorithm } = config;
  const placed = placeRewards(batch.scores, batch.mask, batch.length);
  const greedy =
    algorithm.adv_estimator === "remax" ? await greedyBaselines(makers, kept, 0) : null;
  const baselines =
    greedy === null ? null : Float32Array.from(kept, ({ group }) => greedy.get(group) ?? 0);
  if (!algorithm.use_kl_in_reward) {
    return { rewards: placed, baselines, metrics: {}, nextKlCoefficient: coefficient };
  }
  const { rewards, kl } = penalizeKl(placed, {
    logprobs: scores.old,
    refLogprobs: scores.reference,
    mask: batch.mask,
    length: batch.length,
    estimator: klKind(algorithm.kl_penalty).estimator,
    coefficient,
  });
  const { type, target_kl: targetKl, horizon } = algorithm.kl_ctrl;
  const sequences = batch.sequences.length;
  return {
    rewards,
    baselines,
    metrics: { "actor/reward_kl_penalty": kl, "actor/reward_kl_penalty_coeff": coefficient },
    nextKlCoefficient: nextKlCoefficient(
      coefficient,
      { kl, sequences },
      { type, targetKl, horizon },
    ),
  };
}

/** Updates the critic, then, once it is warm, the policy. */
async function update(
  { config, roles, totalSteps }: StepContext,
  step: number,
  batch: RolloutBatch,
  tokens: { scores: Scores; advantages: Float32Array; returns: Float32Array },
  clock: Clock,
): Promise<Metrics> {
  const { scores, advantages, returns } = tokens;
  const rate = (role: "actor" | "critic") => {
    const { optim } = role === "actor" ? config.actor_rollout_ref.actor : config.critic;
    const warmupSteps =
      optim.lr_warmup_steps >= 0
        ? optim.lr_warmup_steps
        : Math.floor(optim.lr_warmup_steps_ratio * totalSteps);
    return learningRate(
      {
        lr: optim.lr,
        type: optim.lr_scheduler_type,
        warmupSteps,
        totalSteps,
        minLrRatio: optim.min_lr_ratio,
        numCycles: optim.num_cycles,
      },
      // The policy's schedule starts with its first update.
      role === "actor" ? step - config.trainer.critic_warmup : step,
    );
  };
  const metrics: Metrics = {};
  if (roles.critic !== null && scores.values !== null) {
    const plan = updatePlan(config, "critic", { step, lr: rate("critic") });
    const clipRange = config.critic.cliprange_value;
    const values = { returns, values: scores.values };
    Object.assign(metrics, await updateCritic(roles.critic, batch, values, clipRange, plan));
    clock.lap("update_critic");
  }
  if (step > config.trainer.critic_warmup) {
    const plan = updatePlan(config, "actor", { step, lr: rate("actor") });
    const policyTokens = { advantages, oldLogprobs: scores.old, refLogprobs: scores.reference };
    Object.assign(metrics, await updatePolicy(roles.policy, batch, policyTokens, config, plan));
    clock.lap("update_actor");
  }
  return metrics;
}

function valueMetrics(
  values: Float32Array | null,
  returns: Float32Array,
  { mask }: RolloutBatch,
): Metrics {
  if (values === null) return {};
  return {
    ...spreadMetrics("critic/values", masked(values, mask)),
    "critic/vf_explained_var": explainedVariance(returns, values, mask),
  };
}

function sampledLogprobs(kept: readonly JudgedRollout[], batch: RolloutBatch): Float32Array {
  const padded = new Float32Array(batch.mask.length);
  kept.forEach(({ logprobs }, b) => padded.set(logprobs, b * batch.length));
  return padded;
}

function filterMetrics(
  { algorithm }: Config,
  { kept, all, batches }: { kept: unknown[]; all: { rollouts: unknown[] }; batches: number },
): Metrics {
  if (!algorithm.filter_groups.enable) return {};
  return {
    "training/filter_groups/gen_batches": batches,
    "training/filter_groups/kept_ratio":
      all.rollouts.length === 0 ? 0 : kept.length / all.rollouts.length,
  };
}

/** Seconds by phase. */
class Clock {
  readonly #started = performance.now();
  readonly #phases: Metrics = {};
  #last = this.#started;

  /** Ends a phase; with numbers, the phases since the last lap as measured elsewhere. */
  lap(phase: string | Record<string, number>): void {
    const now = performance.now();
    if (typeof phase === "string") this.#phases[phase] = (now - this.#last) / 1000;
    else Object.assign(this.#phases, phase);
    this.#last = now;
  }

  metrics(tokens: number): Metrics {
    const total = (performance.now() - this.#started) / 1000;
    const timings = Object.entries(this.#phases).map(([name, s]) => [`timing_s/${name}`, s]);
    return {
      ...(Object.fromEntries(timings) as Metrics),
      "timing_s/step": total,
      "perf/time_per_step": total,
      "perf/throughput": tokens / total,
    };
  }
}
