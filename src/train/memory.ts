/**
 * How much memory a run will need, worked out before any weights are read: the arrays that training
 * holds, and the intermediate values of each graph at the largest batch that can come.
 *
 * It is the peak of this process; the sandbox's processes are not in it. Batches are taken as long as
 * the prompts at hand and the limit on responses allow, so a run whose completions stay short needs
 * less.
 */
import { freemem, totalmem } from "node:os";
import { constrainedMemory, memoryUsage } from "node:process";
import { peakBytes } from "../autodiff/memory.js";
import type { Config } from "../config/schema.js";
import { engineThreads, usesCritic } from "../config/settings.js";
import { ConfigError } from "../core/errors.js";
import { type ModelConfig, parameterShapes } from "../model/config.js";
import { adapterShapes } from "../model/lora.js";
import { type ParameterShapes, shapesOnly } from "../model/parameters.js";
import { scoreGraph } from "../model/score.js";
import { type TrainGraphOptions, trainGraph } from "../model/trainable.js";
import { criticShapes } from "../model/value-head.js";
import { policyLossGraph, valueLossGraph } from "./loss-graph.js";
import { loraSettings, policyTerms } from "./roles.js";
import { SAMPLER_BATCH } from "./rollout.js";
import { scoringTokens } from "./step.js";
import { updatePlan } from "./update.js";

/** What a run needs, in bytes, in all and by what it is for. */
export interface MemoryEstimate {
  bytes: number;
  parts: { what: string; bytes: number }[];
}

/** What the estimate is made from. */
export interface MemoryRequest {
  config: Config;
  policy: ModelConfig;
  /** Null where there is none. */
  critic: ModelConfig | null;
  /** Tokens of the longest prompt. */
  longestPrompt: number;
  /** Completions of a validation; 0 without one. */
  validations: number;
}

/** Bytes of a float32. */
const FLOAT = 4;
/** A batch's length is rounded up to a multiple of this, see model/batch.ts. */
const LENGTH_MULTIPLE = 8;
/** What the allocator needs beyond the values alive, as a share of them: padding, fragments. */
const FRAGMENTS = 0.1;
/** What JavaScript's heap grows by: rollouts, records, compiled code. */
const HEAP_GROWTH = 110e6;
/** A compiled graph: its nodes, and what its threads hold. */
const NODE_BYTES = 12e3;
const THREAD_BYTES = 4e6;

/** Estimates the peak of this process's resident memory. */
export function estimateMemory(request: MemoryRequest): MemoryEstimate {
  const { config, policy, critic } = request;
  const lora = loraSettings(config);
  const weights = shapesOnly(parameterShapes(policy));
  const adapter =
    lora === null ? null : { scale: 1, parameters: shapesOnly(adapterShapes(policy, lora)) };
  const actor = learnerBytes(request, "actor", policy, {
    weights,
    graph: {
      kind: "policy",
      adapter,
      loss: policyLossGraph(policyTerms(config)),
      checkpointing: config.actor_rollout_ref.model.enable_gradient_checkpointing,
    },
  });
  const value =
    critic === null
      ? { state: 0, values: 0 }
      : learnerBytes(request, "critic", critic, {
          weights: shapesOnly(criticShapes(critic)),
          graph: {
            kind: "critic",
            loss: valueLossGraph(config.critic.cliprange_value),
            checkpointing: config.critic.model.enable_gradient_checkpointing,
          },
        });
  const model = FLOAT * count(weights);
  const score = scoreGraph(policy, weights, { kind: "policy", adapter });
  const scoring = peakBytes(score, batchSizes(request, scoringBatch(request)));
  const parts = [
    { what: "this process", bytes: memoryUsage.rss() + HEAP_GROWTH },
    // With LoRA the reference is the policy without its adapter, and a merged copy is made to save.
    { what: "weights of policy and reference", bytes: 2 * model },
    { what: "training state of the policy", bytes: actor.state },
    { what: "critic with its training state", bytes: value.state },
    { what: "activations of the policy's update", bytes: actor.values },
    { what: "activations of the critic's update", bytes: value.values },
    { what: "sampling and scoring", bytes: scoring + samplingBytes(request) },
    { what: "threads", bytes: THREAD_BYTES * engineThreads(config) },
  ];
  return { bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0), parts };
}

/** The arrays of a model that learns (with its weights, but for the policy's), and its update. */
function learnerBytes(
  request: MemoryRequest,
  role: "actor" | "critic",
  model: ModelConfig,
  { weights, graph: options }: { weights: ParameterShapes; graph: TrainGraphOptions },
): { state: number; values: number } {
  const plan = updatePlan(request.config, role, { step: 1, lr: 0 });
  const { microBatch, miniBatch } = plan;
  const size =
    "tokens" in microBatch
      ? Math.max(1, Math.floor(microBatch.tokens / batchLength(request)))
      : microBatch.completions;
  const batch = Math.min(size, miniBatch);
  const trained = options.adapter?.parameters ?? weights;
  // AdamW's two moments, the gradients, and, when they are added up, those of one micro-batch.
  const arrays = 3 + Number(batch < miniBatch) + Number(role === "critic");
  const { graph } = trainGraph(model, weights, options);
  const values = peakBytes(graph, batchSizes(request, batch));
  return {
    state: arrays * FLOAT * count(trained) + graph.nodes.length * NODE_BYTES,
    values: values * (1 + FRAGMENTS),
  };
}

/** Padded input tokens of the longest sequence there can be. */
function batchLength({ config, longestPrompt }: MemoryRequest): number {
  return roundUp(longestPrompt + config.data.max_response_length - 1);
}

/** The named dimensions of a training or scoring graph for a batch of completions. */
function batchSizes(request: MemoryRequest, completions: number): Record<string, number> {
  const length = batchLength(request);
  const responses = completions * request.config.data.max_response_length;
  return { B: completions, S: completions, T: length, R: responses, M: length };
}

function completionsPerStep({ config: { data, actor_rollout_ref: ref } }: MemoryRequest): number {
  return data.train_batch_size * ref.rollout.n;
}

/** Completions that are scored at once. */
function scoringBatch(request: MemoryRequest): number {
  const { config, policy } = request;
  const fitting = Math.floor(scoringTokens(config, policy) / batchLength(request));
  return Math.max(1, Math.min(fitting, completionsPerStep(request)));
}

/** Keys and values of a batch, old and new at once, beside the prompts' own; and the choice. */
function samplingBytes(request: MemoryRequest): number {
  const { config, policy, longestPrompt, validations } = request;
  const { layers, kvHeads, headSize, vocabSize } = policy;
  const batch = Math.min(SAMPLER_BATCH, Math.max(completionsPerStep(request), validations));
  const perToken = 2 * layers * kvHeads * headSize * FLOAT;
  const prompts = roundUp(longestPrompt);
  const all = prompts + config.data.max_response_length;
  const distributions = 4 * vocabSize * FLOAT;
  return batch * (perToken * (prompts + 2 * all) + distributions);
}

function roundUp(tokens: number): number {
  return Math.ceil(tokens / LENGTH_MULTIPLE) * LENGTH_MULTIPLE;
}

function count(parameters: ParameterShapes): number {
  return parameters.names.reduce(
    (sum, name) => sum + parameters.shape(name).reduce((product, size) => product * size, 1),
    0,
  );
}

/** Bytes that this process can come to hold: what is free, what it has, a container's limit. */
export function offeredMemory(): number {
  const limit = constrainedMemory();
  const free = freemem() + memoryUsage.rss();
  // Without a limit some systems answer 0 and some a number beyond any memory.
  return limit > 0 && limit < totalmem() ? Math.min(limit, free) : free;
}

/**
 * Refuses a run that cannot fit.
 *
 * @throws {ConfigError} with what is needed, what there is, and the keys that lower it.
 */
export function checkMemory(
  { bytes, parts }: MemoryEstimate,
  config: Config,
  offered: number,
): void {
  const limit = config.embedded.memory_mb === null ? offered : config.embedded.memory_mb * 1e6;
  if (bytes <= limit) return;
  const largest = parts.toSorted((a, b) => b.bytes - a.bytes).slice(0, 3);
  const what = largest.map((part) => `${part.what} ${gigabytes(part.bytes)}`).join(", ");
  const source =
    config.embedded.memory_mb === null ? "this machine has free" : "embedded.memory_mb allows";
  throw new ConfigError(
    `memory: the run needs about ${gigabytes(bytes)}, ${source} ${gigabytes(limit)} (most of it: ${what}). ${cures(config)}`,
  );
}

/** Keys that lower the need of this config. */
function cures(config: Config): string {
  const { model, actor } = config.actor_rollout_ref;
  const keys = [
    ...(actor.use_dynamic_bsz
      ? ["actor_rollout_ref.actor.ppo_max_token_len_per_gpu"]
      : ["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"]),
    "data.train_batch_size",
    "data.max_response_length",
  ];
  const switches = [
    ...(model.enable_gradient_checkpointing
      ? []
      : ["actor_rollout_ref.model.enable_gradient_checkpointing=true"]),
    ...(usesCritic(config) && !config.critic.model.enable_gradient_checkpointing
      ? ["critic.model.enable_gradient_checkpointing=true"]
      : []),
    ...(model.lora_rank === 0 ? ["actor_rollout_ref.model.lora_rank=16"] : []),
  ];
  const set = switches.length === 0 ? "" : `; set ${switches.join(", ")}`;
  return `Lower ${keys.join(", ")}${set}; embedded.memory_mb says how much a run may take`;
}

/** Bytes in words, e.g. `1.24 GB`. */
export function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}
