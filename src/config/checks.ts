/** Checks across keys, and the sentence that says what the batch sizes mean together. */
import { ConfigError } from "../core/errors.js";
import type { Config } from "./schema.js";
import { rewardFault } from "./settings.js";

/**
 * Refuses configs whose keys contradict each other.
 *
 * @throws {ConfigError} listing every contradiction.
 */
export function checkConfig(config: Config): void {
  const found = CHECKS.map((check) => check(config)).filter((message) => message !== null);
  if (found.length > 0) throw new ConfigError(found.join("\n"));
}

const CHECKS: ((config: Config) => string | null)[] = [
  ({ data, actor_rollout_ref: { actor } }) =>
    divides(
      "data.train_batch_size",
      data.train_batch_size,
      "actor_rollout_ref.actor.ppo_mini_batch_size",
      actor.ppo_mini_batch_size,
    ),
  ({ data, critic }) =>
    critic.ppo_mini_batch_size === null
      ? null
      : divides(
          "data.train_batch_size",
          data.train_batch_size,
          "critic.ppo_mini_batch_size",
          critic.ppo_mini_batch_size,
        ),
  ({ algorithm, actor_rollout_ref: { rollout } }) =>
    ["grpo", "rloo", "reinforce_plus_plus_baseline"].includes(algorithm.adv_estimator) &&
    rollout.n < 2
      ? `algorithm.adv_estimator=${algorithm.adv_estimator} compares the completions of a prompt: actor_rollout_ref.rollout.n must be at least 2, found ${rollout.n}`
      : null,
  ({ algorithm, critic }) =>
    critic.enable === false && algorithm.adv_estimator === "gae"
      ? "critic.enable=false: the estimator gae needs a critic; choose another algorithm.adv_estimator"
      : null,
  ({ engine, algorithm, critic }) =>
    engine === "embedded" && critic.enable === true && algorithm.adv_estimator !== "gae"
      ? `critic.enable=true: the estimator ${algorithm.adv_estimator} would not use the critic`
      : null,
  ({ reward }) => rewardFault(reward),
  ({ algorithm, actor_rollout_ref: { rollout } }) =>
    algorithm.filter_groups.enable && rollout.n < 2
      ? "algorithm.filter_groups.enable needs groups: actor_rollout_ref.rollout.n must be at least 2"
      : null,
  ({ trainer }) =>
    trainer.resume_mode === "resume_path" && trainer.resume_from_path === null
      ? "trainer.resume_mode=resume_path needs trainer.resume_from_path"
      : null,
  ({ trainer }) =>
    trainer.resume_mode !== "resume_path" && trainer.resume_from_path !== null
      ? "trainer.resume_from_path is used only with trainer.resume_mode=resume_path"
      : null,
  ({ engine, trainer }) => {
    const foreign = trainer.logger.filter((name) => !["console", "tensorboard"].includes(name));
    return engine === "embedded" && foreign.length > 0
      ? `trainer.logger: the embedded engine knows console and tensorboard, found ${foreign.join(", ")}; metrics.jsonl is always written`
      : null;
  },
  ({ reward: { reward_kwargs: kwargs }, data }) => {
    const limit = kwargs.max_resp_len ?? data.max_response_length;
    return kwargs.overlong_buffer_cfg.enable && kwargs.overlong_buffer_cfg.len > limit
      ? `reward.reward_kwargs.overlong_buffer_cfg.len (${kwargs.overlong_buffer_cfg.len}) is over the length limit of ${limit} tokens`
      : null;
  },
];

function divides(whole: string, wholeValue: number, part: string, partValue: number) {
  if (wholeValue % partValue === 0) return null;
  return `${whole} (${wholeValue}) must be a multiple of ${part} (${partValue}); both count prompts`;
}

/** What the batch keys come to, in completions. */
export interface BatchPlan {
  prompts: number;
  samples: number;
  completions: number;
  /** Completions per gradient step. */
  miniBatch: number;
  updatesPerEpoch: number;
  epochs: number;
  /** Gradient steps of the policy per step. */
  updates: number;
  /** Completions held in memory at once; null when filled by tokens. */
  microBatch: number | null;
}

/** Computes the batch plan of the policy. */
export function planBatches(config: Config): BatchPlan {
  const { actor, rollout } = config.actor_rollout_ref;
  const prompts = config.data.train_batch_size;
  const completions = prompts * rollout.n;
  const miniBatch = actor.ppo_mini_batch_size * rollout.n;
  const updatesPerEpoch = prompts / actor.ppo_mini_batch_size;
  return {
    prompts,
    samples: rollout.n,
    completions,
    miniBatch,
    updatesPerEpoch,
    epochs: actor.ppo_epochs,
    updates: updatesPerEpoch * actor.ppo_epochs,
    microBatch: actor.use_dynamic_bsz
      ? null
      : Math.min(miniBatch, actor.ppo_micro_batch_size_per_gpu ?? miniBatch),
  };
}

/** Says the batch arithmetic in one sentence. */
export function describeBatches(config: Config): string {
  const plan = planBatches(config);
  const { ppo_max_token_len_per_gpu: tokens } = config.actor_rollout_ref.actor;
  const micro =
    plan.microBatch === null
      ? `micro-batches of at most ${tokens} tokens`
      : `micro-batch ${plan.microBatch} → ${times(Math.ceil(plan.miniBatch / plan.microBatch), "accumulation")}`;
  return (
    `${times(plan.prompts, "prompt")} × ${times(plan.samples, "sample")} = ` +
    `${times(plan.completions, "completion")} per step; ` +
    `${times(plan.updatesPerEpoch, "mini-batch", "mini-batches")} of ${plan.miniBatch}; ${micro}; ` +
    `${times(plan.epochs, "PPO epoch")} → ${times(plan.updates, "optimizer step")}`
  );
}

function times(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}
