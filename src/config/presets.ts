/**
 * Presets: whole runs under a name. The `starter` ones train the small model of this package on its
 * own problems, in minutes and on any machine; three of them are made to go wrong, so that one can
 * see what that looks like. The others are the tutorial's runs for veRL.
 */
import { fileURLToPath } from "node:url";
import { ConfigError } from "../core/errors.js";
import { type FlatValues, flatten } from "./values.js";

/** A named run. */
export interface Preset {
  /** One sentence. */
  summary: string;
  /** Preset whose values come first. */
  extends?: string;
  /** Nested values; dotted names are understood. */
  values: Record<string, unknown>;
}

const packaged = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const starter: Preset = {
  summary: "PPO on the starter model and problems: the chapter's curve in minutes on a processor.",
  values: {
    engine: "embedded",
    data: {
      train_files: packaged("starter/data/train.jsonl"),
      val_files: packaged("starter/data/heldout.jsonl"),
      train_batch_size: 96,
      max_prompt_length: 256,
      max_response_length: 72,
    },
    actor_rollout_ref: {
      // Small enough to keep every activation, which makes an update shorter by an eighth.
      model: { path: packaged("starter/model"), enable_gradient_checkpointing: false },
      actor: {
        ppo_mini_batch_size: 48,
        // Half a mini-batch at a time needs 0.6 GB, a whole one 0.8 GB, at the same speed.
        ppo_micro_batch_size_per_gpu: 24,
        ppo_epochs: 2,
        shuffle: true,
        optim: { lr: 1e-4, betas: [0.9, 0.99], weight_decay: 0 },
      },
      rollout: { val_kwargs: { temperature: 1 } },
    },
    critic: {
      model: { enable_gradient_checkpointing: false },
      cliprange_value: 0.2,
      optim: { lr: 1e-3, betas: [0.9, 0.99], weight_decay: 0 },
    },
    algorithm: { use_kl_in_reward: true, kl_ctrl: { kl_coef: 0.01 } },
    // Right programs take milliseconds; one endless loop may not hold up a step for ten tests.
    verifier: { time_limit_ms: 500, wall_limit_ms: 4000, memory_limit_mb: 256 },
    trainer: { total_training_steps: 75, test_freq: 25, save_freq: 25, max_actor_ckpt_to_keep: 2 },
  },
};

const chapter: Preset = {
  summary: "The chapter's PPO run of Qwen2.5-Coder-0.5B on one GPU.",
  values: {
    engine: "verl",
    data: {
      train_batch_size: 128,
      max_prompt_length: 512,
      max_response_length: 512,
      filter_overlong_prompts: true,
    },
    actor_rollout_ref: {
      model: { path: "Qwen/Qwen2.5-Coder-0.5B-Instruct" },
      actor: {
        ppo_mini_batch_size: 64,
        use_dynamic_bsz: true,
        ppo_max_token_len_per_gpu: 16384,
        optim: { lr: 1e-6 },
      },
      rollout: { gpu_memory_utilization: 0.4 },
      ref: { fsdp_config: { param_offload: true } },
    },
    critic: { optim: { lr: 1e-5 } },
    trainer: { total_epochs: 20, save_freq: 20, test_freq: 5, logger: ["console", "file"] },
  },
};

/** The presets by name. */
export const PRESETS: Readonly<Record<string, Preset>> = {
  starter,
  "starter-grpo": {
    summary: "GRPO instead of PPO: 12 prompts × 8 completions, KL in the loss, no critic.",
    extends: "starter",
    values: {
      data: { train_batch_size: 12 },
      actor_rollout_ref: {
        actor: {
          ppo_mini_batch_size: 6,
          use_kl_loss: true,
          kl_loss_coef: 0.01,
          kl_loss_type: "low_var_kl",
        },
        rollout: { n: 8 },
      },
      algorithm: { adv_estimator: "grpo", use_kl_in_reward: false },
      // A step costs 60 % of PPO's, and teaches less.
      trainer: { total_training_steps: 100 },
    },
  },
  "starter-lr-too-high": {
    summary: "Made to go wrong: learning rates of policy and critic ten times too high, no KL.",
    extends: "starter",
    values: {
      actor_rollout_ref: { actor: { optim: { lr: 1e-3 } } },
      critic: { optim: { lr: 1e-2 } },
      algorithm: { use_kl_in_reward: false },
      trainer: { total_training_steps: 40 },
    },
  },
  "starter-format-hack": {
    summary: "Made to go wrong: problems too hard to pass, and half the reward for a code block.",
    extends: "starter",
    values: {
      data: { train_files: packaged("starter/data/transfer.jsonl") },
      reward: { kind: "tiered", weights: { format: 0.5, compile: 0, tests: 0.5 } },
      trainer: { total_training_steps: 20 },
    },
  },
  "starter-no-kl": {
    summary: "Made to go wrong: no KL, and a learning rate at which nothing else holds the policy.",
    extends: "starter",
    values: {
      actor_rollout_ref: { actor: { optim: { lr: 7e-4 } } },
      algorithm: { use_kl_in_reward: false },
      trainer: { total_training_steps: 40 },
    },
  },
  "qwen2.5-coder-0.5b-1gpu": chapter,
  "qwen2.5-coder-1.5b-lora-1gpu": {
    summary: "The chapter's 1.5B run with LoRA on one 24 GB GPU.",
    extends: "qwen2.5-coder-0.5b-1gpu",
    values: {
      data: { train_batch_size: 64 },
      actor_rollout_ref: {
        model: {
          path: "Qwen/Qwen2.5-Coder-1.5B-Instruct",
          lora_rank: 32,
          lora_alpha: 32,
        },
        actor: { ppo_mini_batch_size: 16, optim: { lr: 1e-5 } },
        rollout: { load_format: "safetensors", layered_summon: true },
      },
      critic: { fsdp: { param_offload: true, optimizer_offload: true } },
    },
  },
  "qwen2.5-coder-7b-8gpu": {
    summary: "The chapter's settings for eight 80 GB GPUs, with the 7B model.",
    extends: "qwen2.5-coder-0.5b-1gpu",
    values: {
      data: { train_batch_size: 1024 },
      actor_rollout_ref: {
        model: { path: "Qwen/Qwen2.5-Coder-7B-Instruct" },
        actor: { ppo_mini_batch_size: 256 },
        rollout: { tensor_model_parallel_size: 2, gpu_memory_utilization: 0.6 },
      },
      trainer: { n_gpus_per_node: 8 },
    },
  },
};

/**
 * The flat values of a preset, those of the preset it extends first.
 *
 * @throws {ConfigError} if there is no preset of that name.
 */
export function presetValues(name: string): FlatValues {
  const preset = Object.hasOwn(PRESETS, name) ? PRESETS[name] : null;
  if (preset === null) {
    throw new ConfigError(
      `preset must be one of ${Object.keys(PRESETS).join(", ")}, found ${JSON.stringify(name)}`,
    );
  }
  const below = preset.extends === undefined ? [] : presetValues(preset.extends);
  return new Map([...below, ...flatten(preset.values, `preset ${name}`)]);
}
