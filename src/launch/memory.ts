/**
 * How much memory a run needs, estimated from the number of parameters. Rough on purpose: it is for
 * telling "fits" from "cannot fit" before an hour of start-up, not for tuning.
 *
 * At rest, per trained parameter: the weight in its type and two moments in float32. On top of that,
 * at different moments, the inference engine's share, or the gradient and one micro-batch's logits
 * and checkpointed activations. Sharding divides weights, moments and gradients by the GPUs.
 */
import type { Config } from "../config/schema.js";

/** Sizes that decide the estimate. */
export interface ModelSize {
  parameters: number;
  vocabulary: number;
}

/** Bytes by what needs them, per GPU. */
export interface MemoryEstimate {
  actor: number;
  critic: number;
  reference: number;
  rollout: number;
  activations: number;
  gradient: number;
  /** The largest sum that is needed at one moment. */
  peak: number;
}

const KNOWN_SIZES: readonly [RegExp, ModelSize][] = [
  [/qwen2\.5.*0\.5b/i, { parameters: 494e6, vocabulary: 151_936 }],
  [/qwen2\.5.*1\.5b/i, { parameters: 1544e6, vocabulary: 151_936 }],
  [/qwen2\.5.*3b/i, { parameters: 3086e6, vocabulary: 151_936 }],
  [/qwen2\.5.*7b/i, { parameters: 7616e6, vocabulary: 152_064 }],
  [/qwen2\.5.*14b/i, { parameters: 14_770e6, vocabulary: 152_064 }],
  [/qwen2\.5.*32b/i, { parameters: 32_764e6, vocabulary: 152_064 }],
];

/** The size of a model by its name; null for names that do not say it. */
export function sizeByName(path: string): ModelSize | null {
  const known = KNOWN_SIZES.find(([pattern]) => pattern.test(path));
  if (known !== undefined) return known[1];
  const billions = /(\d+(?:\.\d+)?)b\b/i.exec(path)?.[1];
  return billions === undefined
    ? null
    : { parameters: Number(billions) * 1e9, vocabulary: 150_000 };
}

/** Estimates memory per GPU; `gpuBytes` is what one GPU has, of which the engine takes its share. */
export function estimateMemory(
  config: Config,
  { parameters, vocabulary }: ModelSize,
  gpuBytes: number,
): MemoryEstimate {
  const { actor, model, rollout, ref } = config.actor_rollout_ref;
  const gpus = config.trainer.nnodes * config.trainer.n_gpus_per_node;
  const weightBytes = actor.fsdp_config.model_dtype === "fp32" ? 4 : 2;
  // LoRA on all linear layers trains about 2 · rank / width of the weights.
  const trained =
    model.lora_rank > 0 ? Math.min(parameters, model.lora_rank * parameters * 7e-4) : parameters;
  const rest = (offload: { param: boolean; optimizer: boolean }, count: number) =>
    ((offload.param ? 0 : parameters * weightBytes) + (offload.optimizer ? 0 : count * 8)) / gpus;
  const hasCritic = config.critic.enable ?? config.algorithm.adv_estimator === "gae";
  const hasReference = config.algorithm.use_kl_in_reward || actor.use_kl_loss;
  const tokens = actor.use_dynamic_bsz
    ? actor.ppo_max_token_len_per_gpu
    : (actor.ppo_micro_batch_size_per_gpu ?? 1) *
      (config.data.max_prompt_length + config.data.max_response_length);
  const bytes = {
    actor: rest(
      { param: actor.fsdp_config.param_offload, optimizer: actor.fsdp_config.optimizer_offload },
      trained,
    ),
    critic: hasCritic
      ? rest(
          {
            param: config.critic.fsdp.param_offload,
            optimizer: config.critic.fsdp.optimizer_offload,
          },
          parameters,
        )
      : 0,
    reference:
      hasReference && model.lora_rank === 0 && !ref.fsdp_config.param_offload
        ? (parameters * weightBytes) / gpus
        : 0,
    rollout: gpuBytes * rollout.gpu_memory_utilization,
    // Logits in float32 and their gradient rule over what is checkpointed of the layers.
    activations: tokens * (vocabulary * 4 + Math.sqrt(parameters) * 2),
  };
  const held = bytes.actor + bytes.critic + bytes.reference;
  // One model is updated at a time, and the inference engine sleeps meanwhile.
  const gradient = ((hasCritic ? parameters : trained) * weightBytes) / gpus;
  return { ...bytes, gradient, peak: held + Math.max(bytes.rollout, bytes.activations + gradient) };
}
