/**
 * The run's one schema: veRL 0.9's nesting and names, plus our groups `engine`, `embedded`,
 * `verifier`, `health` and `launch`. Types, defaults, help, docs and checks all come from here.
 */
import { z } from "zod";
import { dataKeys, rewardKeys, verifierKeys } from "./data-keys.js";
import { EMBEDDED, ENGINES, type KeyInfo, VERL, group, key, listKeys } from "./key.js";
import { actorRolloutRefKeys, criticKeys } from "./policy-keys.js";

const count = z.number().int().positive();
/** veRL's `-1` for "never". */
const frequency = z.union([count, z.literal(-1)]).default(-1);

/** Advantage estimators the embedded engine has. */
export const EMBEDDED_ESTIMATORS = [
  "gae",
  "grpo",
  "rloo",
  "reinforce_plus_plus",
  "reinforce_plus_plus_baseline",
  "remax",
] as const;

const algorithmKeys = group({
  adv_estimator: key(
    z.enum([...EMBEDDED_ESTIMATORS, "opo", "gpg", "grpo_passk", "gdpo"]).default("gae"),
    {
      doc: "How rewards become advantages; `gae` is PPO with a critic.",
      embeddedOnly: EMBEDDED_ESTIMATORS,
    },
  ),
  gamma: key(z.number().min(0).max(1).default(1), { doc: "Discount per token." }),
  lam: key(z.number().min(0).max(1).default(1), {
    doc: "λ of GAE: 0 trusts the critic, 1 the rewards.",
  }),
  norm_adv_by_std_in_grpo: key(z.boolean().default(true), {
    doc: "Divide a group's advantages by its standard deviation; off is Dr.GRPO.",
  }),
  use_kl_in_reward: key(z.boolean().default(false), {
    doc: "Subtract the KL to the reference policy from each token's reward.",
  }),
  kl_penalty: key(z.enum(["kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3"]).default("kl"), {
    doc: "Estimator of that KL.",
  }),
  kl_ctrl: group({
    type: key(z.enum(["fixed", "adaptive"]).default("fixed"), {
      doc: "Keep the coefficient, or steer it towards `target_kl`.",
    }),
    kl_coef: key(z.number().nonnegative().default(0.001), {
      doc: "Weight of the KL in the reward; the first value when adaptive.",
    }),
    horizon: key(z.number().positive().default(10_000), {
      doc: "Completions over which an adaptive coefficient moves by a fifth at most; small is quick.",
      unit: "completions",
    }),
    target_kl: key(z.number().positive().default(0.1), {
      doc: "KL per token an adaptive coefficient aims at.",
    }),
  }),
  filter_groups: group({
    enable: key(z.boolean().default(false), {
      doc: "Dynamic sampling: leave out groups whose completions all earn the same, and sample more.",
    }),
    metric: key(z.enum(["score", "pass_rate", "acc"]).nullable().default(null), {
      doc: "What must differ within a group: reward, share of tests passed, or all passed; null means `score`.",
    }),
    max_num_gen_batches: key(z.number().int().nonnegative().default(0), {
      doc: "Most batches sampled for one step; then it trains on what there is, with a warning. 0 means 10.",
    }),
  }),
  mask_truncated: key(z.boolean().default(false), {
    doc: "Leave truncated completions out of the policy and value losses and their denominators.",
    engines: EMBEDDED,
  }),
});

const trainerKeys = group({
  total_epochs: key(count.default(30), { doc: "Passes over the problems." }),
  total_training_steps: key(count.nullable().default(null), {
    doc: "Steps; null takes `total_epochs` passes.",
    unit: "steps",
  }),
  project_name: key(z.string().default("code_rlvr"), {
    doc: "Project that loggers file the run under.",
    engines: VERL,
  }),
  experiment_name: key(z.string().min(1).nullable().default(null), {
    doc: "Name of the run; null takes the preset's name.",
  }),
  logger: key(z.array(z.enum(["console", "tensorboard", "file", "wandb"])).default(["console"]), {
    doc: "Who gets the metrics beside metrics.jsonl. The embedded engine knows console and tensorboard.",
  }),
  nnodes: key(count.default(1), { doc: "Machines.", embeddedOnly: [1] }),
  n_gpus_per_node: key(count.default(1), {
    doc: "Devices per machine (veRL's default is 8).",
    embeddedOnly: [1],
  }),
  save_freq: key(frequency, {
    doc: "Save a checkpoint every so many steps, and after the best validation so far; -1 saves only at the end.",
    unit: "steps",
  }),
  test_freq: key(frequency, {
    doc: "Validate every so many steps; -1 validates only before and after.",
    unit: "steps",
  }),
  val_before_train: key(z.boolean().default(true), { doc: "Validate before the first step." }),
  log_val_generations: key(z.number().int().nonnegative().default(0), {
    doc: "Validation completions written to the run directory each time.",
    unit: "completions",
  }),
  critic_warmup: key(z.number().int().nonnegative().default(0), {
    doc: "Steps at the start in which only the critic learns.",
    unit: "steps",
  }),
  resume_mode: key(z.enum(["auto", "disable", "resume_path"]).default("auto"), {
    doc: "Go on from the newest checkpoint of the run directory, start anew, or go on from a path.",
  }),
  resume_from_path: key(z.string().nullable().default(null), {
    doc: "Checkpoint directory to go on from; used by `resume_path`.",
  }),
  default_local_dir: key(z.string().nullable().default(null), {
    doc: "The run directory; null takes runs/<experiment_name>.",
  }),
  max_actor_ckpt_to_keep: key(count.nullable().default(null), {
    doc: "Checkpoints kept; the best by validation stays beside them. Null keeps all.",
  }),
  max_critic_ckpt_to_keep: key(count.nullable().default(null), {
    doc: "Critic checkpoints kept; the embedded engine keeps both models together.",
    engines: VERL,
  }),
  balance_batch: key(z.boolean().default(true), {
    doc: "Even out sequence lengths over devices.",
    engines: VERL,
  }),
});

/** What may be stopped on. */
export const FATAL_CONDITIONS = ["nan", "infra_errors", "dead_reward"] as const;

const healthKeys = group({
  enable: key(z.boolean().default(true), { doc: "Watch the metrics and warn." }),
  repeat_every: key(count.default(10), {
    doc: "Say a warning that still holds again after so many steps.",
    unit: "steps",
  }),
  stop_on: key(z.array(z.enum(FATAL_CONDITIONS)).default(["nan", "infra_errors"]), {
    doc: "Conditions that end the run.",
  }),
  preflight_samples: key(z.number().int().nonnegative().default(64), {
    doc: "Completions judged before the first step; training is refused when all earn the same. 0 skips it.",
    unit: "completions",
    engines: EMBEDDED,
  }),
});

/** The whole config. */
export const configSchema = z.strictObject({
  engine: key(z.enum(ENGINES).default("embedded"), {
    doc: "`embedded` trains in this process; `verl` launches veRL on Ray.",
  }),
  seed: key(z.number().int().nonnegative().default(42), {
    doc: "Seed of everything random: sampling, data order, subsets.",
  }),
  data: dataKeys,
  actor_rollout_ref: actorRolloutRefKeys,
  critic: criticKeys,
  algorithm: algorithmKeys,
  reward: rewardKeys,
  verifier: verifierKeys,
  trainer: trainerKeys,
  health: healthKeys,
  embedded: group({
    threads: key(count.nullable().default(null), {
      doc: "Threads of the tensor runtime; null takes one per processor core, at most 8.",
      engines: EMBEDDED,
    }),
    memory_mb: key(count.nullable().default(null), {
      doc: "Most memory a run may need by the estimate made before it; null takes what the machine has free.",
      unit: "MB",
      engines: EMBEDDED,
    }),
  }),
  launch: group({
    python: key(z.string().default("python3"), {
      doc: "Python in which veRL is installed.",
      engines: VERL,
    }),
    ray_address: key(z.url().nullable().default(null), {
      doc: "Address of Ray's job server, e.g. http://head:8265; null starts veRL on this machine.",
      engines: VERL,
    }),
    extra_overrides: key(z.array(z.string()).default([]), {
      doc: "Overrides passed to veRL as they are, for keys this schema does not name.",
      engines: VERL,
    }),
  }),
});

/** A complete config: every key has its value. */
export type Config = z.output<typeof configSchema>;

/** Every key of the config, in order. */
export const CONFIG_KEYS: readonly KeyInfo[] = listKeys(configSchema);
