/**
 * The groups `actor_rollout_ref` and `critic`: models, sampling and updates. Names and defaults are
 * veRL's; a default that differs says why in its sentence.
 */
import { z } from "zod";
import { VERL, group, key } from "./key.js";

const count = z.number().int().positive();
const share = z.number().min(0).max(1);
const LOSS_AGG_MODES = [
  "token-mean",
  "token-sum",
  "seq-mean-token-sum",
  "seq-mean-token-mean",
  "seq-mean-token-sum-norm",
] as const;

const optimKeys = (lr: number) =>
  group({
    lr: key(z.number().nonnegative().default(lr), { doc: "Learning rate after warm-up." }),
    lr_warmup_steps: key(z.number().int().min(-1).default(-1), {
      doc: "Steps with an update over which the learning rate rises from 0; -1 takes `lr_warmup_steps_ratio`.",
      unit: "steps",
    }),
    lr_warmup_steps_ratio: key(share.default(0), {
      doc: "Warm-up as a share of all steps; used when `lr_warmup_steps` is -1.",
    }),
    lr_scheduler_type: key(z.enum(["constant", "cosine", "linear"]).default("constant"), {
      doc: "Course of the learning rate after warm-up. `linear` is ours.",
    }),
    min_lr_ratio: key(share.default(0), {
      doc: "Learning rate at the end as a share of `lr`; used by `cosine` and `linear`.",
    }),
    num_cycles: key(z.number().positive().default(0.5), {
      doc: "Waves of the cosine; 0.5 falls once from top to bottom.",
    }),
    weight_decay: key(z.number().nonnegative().default(0.01), {
      doc: "Decoupled weight decay of AdamW, on every parameter as in veRL.",
    }),
    betas: key(z.tuple([share, share]).default([0.9, 0.999]), {
      doc: "Decay of AdamW's two moments.",
    }),
  });

const fsdpKeys = group({
  param_offload: key(z.boolean().default(false), {
    doc: "Keep parameters in main memory between uses.",
    engines: VERL,
  }),
  optimizer_offload: key(z.boolean().default(false), {
    doc: "Keep optimizer state in main memory between uses.",
    engines: VERL,
  }),
  model_dtype: key(z.enum(["fp32", "bfloat16", "float16"]).default("fp32"), {
    doc: "Type that parameters are held in.",
    engines: VERL,
  }),
});

const modelPath = z.string().nullable();
const loraTargets = z.union([z.string(), z.array(z.string())]);

const modelKeys = group({
  path: key(modelPath.default(null), {
    doc: "Hugging Face model directory (embedded) or name (veRL) the policy starts from.",
  }),
  lora_rank: key(z.number().int().nonnegative().default(0), {
    doc: "Rank of LoRA adapters; 0 trains every parameter.",
  }),
  lora_alpha: key(z.number().positive().default(16), {
    doc: "LoRA scale: adapters are weighted by alpha / rank.",
  }),
  target_modules: key(loraTargets.default("all-linear"), {
    doc: "Layers that get LoRA adapters: `all-linear`, or names such as `q_proj`.",
  }),
  exclude_modules: key(loraTargets.nullable().default(null), {
    doc: "Layers left out of `target_modules`.",
    engines: VERL,
  }),
  enable_gradient_checkpointing: key(z.boolean().default(true), {
    doc: "Keep each layer's input only and compute the layer again for its gradient: less memory, a longer update.",
  }),
  use_remove_padding: key(z.boolean().default(true), {
    doc: "Pack sequences without padding.",
    engines: VERL,
  }),
  trust_remote_code: key(z.boolean().default(false), {
    doc: "Let a model bring its own code.",
    engines: VERL,
  }),
});

const actorKeys = group({
  strategy: key(z.enum(["fsdp", "fsdp2", "megatron"]).default("fsdp"), {
    doc: "How veRL spreads the policy over devices.",
    engines: VERL,
  }),
  ppo_mini_batch_size: key(count.default(256), {
    doc: "Prompts per gradient step; times `rollout.n` completions, as in veRL.",
    unit: "prompts",
  }),
  ppo_micro_batch_size_per_gpu: key(count.nullable().default(null), {
    doc: "Completions held in memory at once; gradients add up exactly. Null takes a whole mini-batch (embedded).",
    unit: "completions",
  }),
  use_dynamic_bsz: key(z.boolean().default(false), {
    doc: "Fill micro-batches by tokens, up to `ppo_max_token_len_per_gpu`.",
  }),
  ppo_max_token_len_per_gpu: key(count.default(16384), {
    doc: "Most tokens, padding included, in a micro-batch; used with `use_dynamic_bsz`.",
    unit: "tokens",
  }),
  ppo_epochs: key(count.default(1), { doc: "Passes over the rollouts of a step." }),
  shuffle: key(z.boolean().default(false), {
    doc: "Shuffle completions into mini-batches anew for each pass.",
  }),
  data_loader_seed: key(z.number().int().default(42), { doc: "Seed of that shuffle." }),
  clip_ratio: key(z.number().positive().default(0.2), {
    doc: "Clip range of the probability ratio on both sides.",
  }),
  clip_ratio_low: key(z.number().positive().nullable().default(null), {
    doc: "Clip range below 1; null takes `clip_ratio` (veRL's 0.2 would make `clip_ratio` a dead key).",
  }),
  clip_ratio_high: key(z.number().positive().nullable().default(null), {
    doc: "Clip range above 1; null takes `clip_ratio`.",
  }),
  clip_ratio_c: key(z.number().gt(1).default(3), {
    doc: "Dual clip: the loss of a negative advantage is at most this many times the advantage.",
  }),
  loss_agg_mode: key(z.enum(LOSS_AGG_MODES).default("token-mean"), {
    doc: "How token losses become one number; denominators are those of the whole mini-batch.",
  }),
  loss_scale_factor: key(z.number().positive().nullable().default(null), {
    doc: "Divisor of `seq-mean-token-sum-norm`; null takes `data.max_response_length`.",
  }),
  policy_loss: group({
    loss_mode: key(
      z
        .enum(["vanilla", "gspo", "cispo", "sapo", "gpg", "clip_cov", "kl_cov", "geo_mean"])
        .default("vanilla"),
      { doc: "Policy loss.", embeddedOnly: ["vanilla", "gspo", "cispo"] },
    ),
  }),
  entropy_coeff: key(z.number().default(0), { doc: "Weight of the entropy bonus." }),
  use_kl_loss: key(z.boolean().default(false), {
    doc: "Add the KL to the reference policy to the loss, as GRPO does.",
  }),
  kl_loss_coef: key(z.number().nonnegative().default(0.001), { doc: "Weight of that KL." }),
  kl_loss_type: key(
    z
      .enum(["kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3", "kl+", "k1+", "abs+", "k3+"])
      .default("low_var_kl"),
    { doc: "Estimator of that KL; `+` keeps the value and takes k2's gradient." },
  ),
  grad_clip: key(z.number().positive().default(1), {
    doc: "Largest norm of the gradient over all parameters.",
  }),
  use_torch_compile: key(z.boolean().default(true), {
    doc: "Compile with torch.",
    engines: VERL,
  }),
  optim: optimKeys(1e-6),
  fsdp_config: fsdpKeys,
  checkpoint: group({
    save_contents: key(
      z
        .array(z.enum(["model", "optimizer", "extra", "hf_model"]))
        .default(["model", "optimizer", "extra"]),
      { doc: "Parts of a veRL checkpoint.", engines: VERL },
    ),
  }),
});

const samplingKeys = {
  top_p: key(z.number().gt(0).max(1).default(1), {
    doc: "Sample from the most likely tokens that make up this share of probability.",
  }),
  top_k: key(z.union([count, z.literal(-1)]).default(-1), {
    doc: "Sample from so many most likely tokens; -1 means all.",
  }),
};

const rolloutKeys = group({
  name: key(z.enum(["vllm", "sglang", "trtllm"]).default("vllm"), {
    doc: "Inference engine of veRL.",
    engines: VERL,
  }),
  n: key(count.default(1), {
    doc: "Completions per prompt: the size of a group.",
    unit: "completions",
  }),
  temperature: key(z.number().positive().default(1), {
    doc: "Sampling temperature; log-probabilities are those at this temperature everywhere.",
  }),
  ...samplingKeys,
  tensor_model_parallel_size: key(count.default(1), {
    doc: "Devices per inference engine (veRL's default of 2 fails on one device).",
    embeddedOnly: [1],
  }),
  gpu_memory_utilization: key(share.default(0.5), {
    doc: "Share of device memory for the inference engine.",
    engines: VERL,
  }),
  enforce_eager: key(z.boolean().default(false), { doc: "No CUDA graphs.", engines: VERL }),
  free_cache_engine: key(z.boolean().default(true), {
    doc: "Free the cache while training.",
    engines: VERL,
  }),
  load_format: key(z.enum(["dummy", "safetensors", "auto"]).default("dummy"), {
    doc: "How the inference engine gets its first weights; LoRA needs `safetensors`.",
    engines: VERL,
  }),
  layered_summon: key(z.boolean().default(false), {
    doc: "Send weights layer by layer.",
    engines: VERL,
  }),
  max_num_batched_tokens: key(count.default(8192), {
    doc: "Tokens the inference engine handles at a time.",
    engines: VERL,
  }),
  max_num_seqs: key(count.default(256), {
    doc: "Sequences the inference engine handles at a time.",
    engines: VERL,
  }),
  max_model_len: key(count.nullable().default(null), {
    doc: "Longest sequence of the inference engine.",
    engines: VERL,
  }),
  log_prob_micro_batch_size_per_gpu: key(count.nullable().default(null), {
    doc: "Completions scored at once.",
    engines: VERL,
  }),
  calculate_log_probs: key(z.boolean().default(true), {
    doc: "Record the sampler's log-probabilities; the embedded engine always does.",
    embeddedOnly: [true],
  }),
  agent: group({
    num_workers: key(count.default(8), { doc: "Agent-loop processes.", engines: VERL }),
  }),
  val_kwargs: group({
    temperature: key(z.number().nonnegative().default(0), {
      doc: "Temperature of validation; 0 is greedy.",
    }),
    ...samplingKeys,
    n: key(count.default(1), { doc: "Completions per validation prompt." }),
    do_sample: key(z.boolean().default(false), {
      doc: "veRL's check on validation sampling.",
      engines: VERL,
    }),
  }),
});

/** The group `actor_rollout_ref`. */
export const actorRolloutRefKeys = group({
  model: modelKeys,
  actor: actorKeys,
  rollout: rolloutKeys,
  ref: group({
    log_prob_micro_batch_size_per_gpu: key(count.nullable().default(null), {
      doc: "Completions scored at once.",
      engines: VERL,
    }),
    fsdp_config: group({
      param_offload: key(z.boolean().default(false), {
        doc: "Keep the reference policy in main memory between uses.",
        engines: VERL,
      }),
    }),
  }),
});

/** The group `critic`. */
export const criticKeys = group({
  enable: key(z.boolean().nullable().default(null), {
    doc: "Train a critic; null does for the estimator `gae`, which needs one.",
  }),
  model: group({
    path: key(modelPath.default(null), {
      doc: "Model whose body the critic starts from; null takes the policy's.",
    }),
    enable_gradient_checkpointing: key(z.boolean().default(true), {
      doc: "The same for the critic.",
    }),
    use_remove_padding: key(z.boolean().default(true), {
      doc: "Pack sequences without padding.",
      engines: VERL,
    }),
  }),
  ppo_mini_batch_size: key(count.nullable().default(null), {
    doc: "Prompts per gradient step of the critic; null takes the actor's.",
    unit: "prompts",
  }),
  ppo_micro_batch_size_per_gpu: key(count.nullable().default(null), {
    doc: "Completions held in memory at once; null takes the actor's.",
    unit: "completions",
  }),
  ppo_max_token_len_per_gpu: key(count.nullable().default(null), {
    doc: "Most tokens, padding included, in a micro-batch, with the actor's `use_dynamic_bsz`; null takes the actor's.",
    unit: "tokens",
  }),
  ppo_epochs: key(count.nullable().default(null), {
    doc: "Passes of the critic over the rollouts of a step; null takes the actor's.",
  }),
  cliprange_value: key(z.number().positive().default(0.5), {
    doc: "Largest move of a value away from the one at rollout time that the loss rewards.",
  }),
  loss_agg_mode: key(z.enum(LOSS_AGG_MODES).nullable().default(null), {
    doc: "How token losses become one number; null takes the actor's.",
  }),
  grad_clip: key(z.number().positive().default(1), {
    doc: "Largest norm of the critic's gradient over all parameters.",
  }),
  optim: optimKeys(1e-5),
  fsdp: fsdpKeys,
});
