/**
 * The models of a run: the policy being trained, its sampler and scorer, the frozen reference policy
 * and the critic. (The verifier is the fourth role; it lives in its own room.)
 *
 * Sampler, scorer and trainer of a model read the same arrays, so no weights are ever sent from one
 * to the other and none can be stale.
 */
import { type Config } from "../config/schema.js";
import { clipRange, engineThreads, usesCritic } from "../config/settings.js";
import { CheckpointError, ConfigError } from "../core/errors.js";
import { randomStream } from "../core/random.js";
import type { ModelConfig } from "../model/config.js";
import { ALL_LINEAR, type Adapter, type LoraConfig, createAdapter } from "../model/lora.js";
import type { Parameters as ModelParameters } from "../model/parameters.js";
import { Sampler } from "../model/sample.js";
import { Scorer } from "../model/score.js";
import { type Tokenizer, loadTokenizer } from "../model/tokenizer.js";
import { TrainableModel } from "../model/trainable.js";
import { criticParameters } from "../model/value-head.js";
import { loadModel, loadModelConfig } from "../model/weights.js";
import { klKind } from "./kl.js";
import { policyLossGraph, valueLossGraph } from "./loss-graph.js";
import type { PolicyLossMode } from "./loss.js";

/** AdamW's state over one arena. */
export interface OptimizerState {
  m: Float32Array;
  v: Float32Array;
  /** Updates made. */
  updates: number;
}

/** A model that learns: its parameters, its training graph and its optimizer. */
export interface Learner {
  model: TrainableModel;
  /** What is trained: every parameter, or those of the adapter. */
  parameters: ModelParameters;
  scorer: Scorer;
  optimizer: OptimizerState;
}

/** Every model of a run. */
export interface Roles {
  config: ModelConfig;
  tokenizer: Tokenizer;
  policy: Learner;
  /** The policy's starting weights, never changed with LoRA; else those being trained. */
  base: ModelParameters;
  /** LoRA on the policy; null trains every parameter. */
  lora: { adapter: Adapter; settings: LoraConfig } | null;
  sampler: Sampler;
  /** Forward pass of the frozen reference policy. */
  reference: Scorer;
  /** Null for the estimators without one. */
  critic: Learner | null;
  dispose(): Promise<void>;
}

/**
 * Reads what there is to know of a run's models without their weights; `critic` is null without one.
 *
 * @throws {ConfigError} if no model is named.
 * @throws {CheckpointError} if a model directory is incomplete.
 */
export async function inspectModels(
  config: Config,
): Promise<{ policy: ModelConfig; critic: ModelConfig | null; tokenizer: Tokenizer }> {
  const path = policyPath(config);
  const policy = await loadModelConfig(path);
  const tokenizer = await loadTokenizer(path, policy.eosTokenIds);
  const own = config.critic.model.path;
  const critic = own === null ? policy : await loadModelConfig(own);
  return { policy, critic: usesCritic(config) ? critic : null, tokenizer };
}

function policyPath({ actor_rollout_ref: { model } }: Config): string {
  if (model.path !== null) return model.path;
  throw new ConfigError(
    "actor_rollout_ref.model.path: expected a model directory, found nothing; set MODEL_PATH or use a preset",
  );
}

/**
 * Loads the models of a run.
 *
 * @throws {ConfigError} if no model is named.
 * @throws {CheckpointError} if a model directory is incomplete or the critic's does not fit.
 */
export async function loadRoles(config: Config): Promise<Roles> {
  const { config: model, parameters, tokenizer } = await loadModel(policyPath(config));
  const threads = engineThreads(config);
  const lora = makeLora(config, model);
  const adapter = lora?.adapter ?? null;
  // With LoRA the weights themselves stay as they are: the reference is the policy without adapter.
  const frozen = lora === null ? parameters.clone() : parameters;
  const policy = await makeLearner(model, parameters, {
    threads,
    kind: "policy",
    loss: policyLossGraph(policyTerms(config)),
    adapter,
    checkpointing: config.actor_rollout_ref.model.enable_gradient_checkpointing,
  });
  const critic = usesCritic(config) ? await loadCritic(config, model, frozen, threads) : null;
  const sampler = await Sampler.create(model, parameters, { threads, adapter });
  const reference = await Scorer.create(model, frozen, { threads, kind: "policy" });
  return {
    config: model,
    tokenizer,
    policy,
    base: parameters,
    lora,
    sampler,
    reference,
    critic,
    dispose: async () => {
      for (const learner of [policy, critic]) {
        await learner?.model.dispose();
        await learner?.scorer.dispose();
      }
      await sampler.dispose();
      await reference.dispose();
    },
  };
}

/** The adapter that `lora_rank` asks for; A is drawn from the seed and B is 0, so it changes nothing. */
function makeLora(config: Config, model: ModelConfig): Roles["lora"] {
  const settings = loraSettings(config);
  if (settings === null) return null;
  return {
    adapter: createAdapter(model, settings, randomStream(config.seed, "lora")),
    settings,
  };
}

/** The adapter's settings; null without LoRA. */
export function loraSettings({ actor_rollout_ref: { model } }: Config): LoraConfig | null {
  const { lora_rank: rank, lora_alpha: alpha, target_modules } = model;
  if (rank === 0) return null;
  return {
    rank,
    alpha,
    targets: target_modules === "all-linear" ? ALL_LINEAR : [target_modules].flat(),
  };
}

async function makeLearner(
  model: ModelConfig,
  parameters: ModelParameters,
  options: Parameters<typeof TrainableModel.create>[2],
): Promise<Learner> {
  const trainable = await TrainableModel.create(model, parameters, options);
  const size = trainable.parameters.data.length;
  return {
    model: trainable,
    parameters: trainable.parameters,
    scorer: await Scorer.create(model, parameters, options),
    optimizer: { m: new Float32Array(size), v: new Float32Array(size), updates: 0 },
  };
}

async function loadCritic(
  config: Config,
  policy: ModelConfig,
  policyStart: ModelParameters,
  threads: number,
): Promise<Learner> {
  const path = config.critic.model.path;
  const base = path === null ? { config: policy, parameters: policyStart } : await loadModel(path);
  if (base.config.vocabSize !== policy.vocabSize) {
    throw new CheckpointError(
      `critic.model.path: expected a model with the policy's vocabulary of ${policy.vocabSize}, found ${base.config.vocabSize} in ${path}`,
    );
  }
  return makeLearner(base.config, criticParameters(base.config, base.parameters), {
    threads,
    kind: "critic",
    loss: valueLossGraph(config.critic.cliprange_value),
    checkpointing: config.critic.model.enable_gradient_checkpointing,
  });
}

/** The terms of the policy's loss that a config asks for. */
export function policyTerms(config: Config) {
  const { actor, rollout } = config.actor_rollout_ref;
  const [clipLow, clipHigh] = clipRange(config);
  return {
    mode: actor.policy_loss.loss_mode as PolicyLossMode,
    clipLow,
    clipHigh,
    clipC: actor.clip_ratio_c,
    temperature: rollout.temperature,
    entropyCoefficient: actor.entropy_coeff,
    kl: actor.use_kl_loss
      ? { ...klKind(actor.kl_loss_type), coefficient: actor.kl_loss_coef }
      : null,
  };
}
