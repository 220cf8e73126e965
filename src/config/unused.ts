/** Keys that were set and do nothing, because another key switches off what they are for. */
import type { ResolvedConfig } from "./resolve.js";
import type { Config } from "./schema.js";
import { usesCritic } from "./settings.js";

/** Keys by name, when they have no part in a run, and the key that says so. */
type Rule = [keys: RegExp, isUnused: (config: Config) => boolean, switchedBy: string];

const ACTOR = "actor_rollout_ref.actor";

const RULES: readonly Rule[] = [
  [/^critic\.(?!enable$)/, (c) => !usesCritic(c), "algorithm.adv_estimator"],
  [
    /^algorithm\.(kl_penalty$|kl_ctrl\.)/,
    (c) => !c.algorithm.use_kl_in_reward,
    "algorithm.use_kl_in_reward",
  ],
  [
    /^algorithm\.kl_ctrl\.(target_kl|horizon)$/,
    (c) => c.algorithm.kl_ctrl.type === "fixed",
    "algorithm.kl_ctrl.type",
  ],
  [/^algorithm\.lam$/, (c) => c.algorithm.adv_estimator !== "gae", "algorithm.adv_estimator"],
  [
    /^algorithm\.norm_adv_by_std_in_grpo$/,
    (c) => !/^(grpo|gdpo)/.test(c.algorithm.adv_estimator),
    "algorithm.adv_estimator",
  ],
  [
    /^algorithm\.filter_groups\.(?!enable$)/,
    (c) => !c.algorithm.filter_groups.enable,
    "algorithm.filter_groups.enable",
  ],
  [
    /\.actor\.kl_loss_(coef|type)$/,
    (c) => !c.actor_rollout_ref.actor.use_kl_loss,
    `${ACTOR}.use_kl_loss`,
  ],
  [
    /\.actor\.clip_ratio_c$/,
    (c) => ["gspo", "cispo"].includes(c.actor_rollout_ref.actor.policy_loss.loss_mode),
    `${ACTOR}.policy_loss.loss_mode`,
  ],
  [
    /\.actor\.clip_ratio$/,
    ({ actor_rollout_ref: { actor } }) =>
      actor.clip_ratio_low !== null && actor.clip_ratio_high !== null,
    `${ACTOR}.clip_ratio_low and clip_ratio_high`,
  ],
  [
    /\.actor\.loss_scale_factor$/,
    (c) => c.actor_rollout_ref.actor.loss_agg_mode !== "seq-mean-token-sum-norm",
    `${ACTOR}.loss_agg_mode`,
  ],
  [
    /\.ppo_micro_batch_size_per_gpu$/,
    (c) => c.actor_rollout_ref.actor.use_dynamic_bsz,
    `${ACTOR}.use_dynamic_bsz`,
  ],
  [
    /^actor_rollout_ref\.model\.(lora_alpha|target_modules)$/,
    (c) => c.actor_rollout_ref.model.lora_rank === 0,
    "actor_rollout_ref.model.lora_rank",
  ],
  [/^reward\.weights\./, (c) => c.reward.kind !== "tiered", "reward.kind"],
  [
    /^reward\.reward_kwargs\.overlong_buffer_cfg\.(?!enable$)/,
    (c) => !c.reward.reward_kwargs.overlong_buffer_cfg.enable,
    "reward.reward_kwargs.overlong_buffer_cfg.enable",
  ],
  [
    /^trainer\.total_epochs$/,
    (c) => c.trainer.total_training_steps !== null,
    "trainer.total_training_steps",
  ],
];

/**
 * Says, in one sentence each, which keys that the user set have no part in the run. A preset's are
 * left out: it may serve several algorithms.
 */
export function unusedKeys({ config, provenance }: ResolvedConfig): string[] {
  return [...provenance].flatMap(([path, { kind }]) => {
    if (kind === "default" || kind === "preset") return [];
    const rule = RULES.find(([keys, isUnused]) => keys.test(path) && isUnused(config));
    return rule === undefined ? [] : [`${path} has no effect here, because of ${rule[2]}`];
  });
}
