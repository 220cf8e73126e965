/**
 * The shape of a decoder: Hugging Face's config.json, read, checked and written.
 *
 * Two architectures are the same code here: `qwen2` (QKV bias) and `llama`. What a file asks for and
 * the engine does not compute is refused by name, never passed over.
 */
import { z } from "zod";
import { CheckpointError } from "../core/errors.js";

/** How rotary frequencies are stretched beyond the context a model was first trained on. */
export type RopeScaling =
  | { type: "linear"; factor: number }
  /** Source: Llama 3.1's reference code and transformers' modeling_rope_utils.py. */
  | {
      type: "llama3";
      factor: number;
      lowFrequencyFactor: number;
      highFrequencyFactor: number;
      originalMaxPositions: number;
    };

/** Everything that decides the shapes and the arithmetic of a decoder. */
export interface ModelConfig {
  architecture: "qwen2" | "llama";
  vocabSize: number;
  hiddenSize: number;
  intermediateSize: number;
  layers: number;
  heads: number;
  /** Heads of keys and values; `heads` is a multiple. */
  kvHeads: number;
  headSize: number;
  maxPositions: number;
  ropeTheta: number;
  ropeScaling: RopeScaling | null;
  normEpsilon: number;
  /** True when the output head is the embedding. */
  tiedEmbeddings: boolean;
  /** True when the projections to queries, keys and values have a bias. */
  attentionBias: boolean;
  bosTokenId: number | null;
  /** Tokens that end a response; from generation_config.json where there is one. */
  eosTokenIds: number[];
  padTokenId: number | null;
}

const tokenIds = z.union([z.number().int(), z.array(z.number().int()), z.null()]).optional();

const ropeSchema = z.looseObject({
  rope_type: z.string().optional(),
  type: z.string().optional(),
  rope_theta: z.number().optional(),
  factor: z.number().optional(),
  low_freq_factor: z.number().optional(),
  high_freq_factor: z.number().optional(),
  original_max_position_embeddings: z.number().optional(),
});

/** The deepest public models have 126; a broken number must not make names without end. */
export const MAX_LAYERS = 1000;

const fileSchema = z.looseObject({
  model_type: z.string(),
  vocab_size: z.number().int().positive(),
  hidden_size: z.number().int().positive(),
  intermediate_size: z.number().int().positive(),
  num_hidden_layers: z.number().int().positive().max(MAX_LAYERS),
  num_attention_heads: z.number().int().positive(),
  num_key_value_heads: z.number().int().positive().nullish(),
  head_dim: z.number().int().positive().nullish(),
  max_position_embeddings: z.number().int().positive(),
  rope_theta: z.number().positive().nullish(),
  rope_scaling: ropeSchema.nullish(),
  /** What transformers 5 writes instead of the two above. */
  rope_parameters: ropeSchema.nullish(),
  rms_norm_eps: z.number().positive(),
  hidden_act: z.string().default("silu"),
  tie_word_embeddings: z.boolean().default(false),
  attention_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
  use_sliding_window: z.boolean().default(false),
  quantization_config: z.unknown().optional(),
  bos_token_id: tokenIds,
  eos_token_id: tokenIds,
  pad_token_id: tokenIds,
});

type ConfigFile = z.infer<typeof fileSchema>;

/** Token ids that generation_config.json may set. */
const generationSchema = z.looseObject({ eos_token_id: tokenIds, pad_token_id: tokenIds });

/**
 * Reads the contents of config.json and, where there is one, generation_config.json.
 *
 * @throws {CheckpointError} if a field is missing or asks for what the engine does not compute.
 */
export function parseModelConfig(
  json: unknown,
  { path, generation }: { path: string; generation?: unknown },
): ModelConfig {
  const parsed = fileSchema.safeParse(json);
  if (!parsed.success) {
    const [{ path: at, message }] = parsed.error.issues;
    throw new CheckpointError(`${path}: ${at.join(".")}: ${message}`);
  }
  const file = parsed.data;
  refuseUnsupported(file, path);
  const generated = generationSchema.safeParse(generation ?? {}).data ?? {};
  const heads = file.num_attention_heads;
  const kvHeads = file.num_key_value_heads ?? heads;
  const headSize = file.head_dim ?? file.hidden_size / heads;
  if (heads % kvHeads !== 0 || !Number.isInteger(headSize) || headSize % 2 !== 0) {
    const found = `${heads} heads, ${kvHeads} of keys and values, head size ${headSize}`;
    throw new CheckpointError(`${path}: expected heads that divide evenly, found ${found}`);
  }
  const architecture = file.model_type as "qwen2" | "llama";
  return {
    architecture,
    vocabSize: file.vocab_size,
    hiddenSize: file.hidden_size,
    intermediateSize: file.intermediate_size,
    layers: file.num_hidden_layers,
    heads,
    kvHeads,
    headSize,
    maxPositions: file.max_position_embeddings,
    ropeTheta: file.rope_parameters?.rope_theta ?? file.rope_theta ?? 10_000,
    ropeScaling: parseRopeScaling(file, path),
    normEpsilon: file.rms_norm_eps,
    tiedEmbeddings: file.tie_word_embeddings,
    attentionBias: architecture === "qwen2",
    bosTokenId: listOf(file.bos_token_id)[0] ?? null,
    eosTokenIds: [...new Set([...listOf(generated.eos_token_id), ...listOf(file.eos_token_id)])],
    padTokenId: listOf(generated.pad_token_id)[0] ?? listOf(file.pad_token_id)[0] ?? null,
  };
}

function listOf(ids: z.infer<typeof tokenIds>): number[] {
  if (ids === null || ids === undefined) return [];
  return typeof ids === "number" ? [ids] : ids;
}

function refuseUnsupported(file: ConfigFile, path: string): void {
  const refuse = (what: string) => {
    throw new CheckpointError(`${path}: ${what} is not supported by the embedded engine`);
  };
  if (file.model_type !== "qwen2" && file.model_type !== "llama") {
    refuse(`model_type ${file.model_type} (expected qwen2 or llama)`);
  }
  if (file.hidden_act !== "silu") refuse(`hidden_act ${file.hidden_act} (expected silu)`);
  if (file.use_sliding_window) refuse("use_sliding_window");
  if (file.attention_bias && file.model_type === "llama") refuse("attention_bias of llama");
  if (file.mlp_bias) refuse("mlp_bias");
  if (file.quantization_config !== undefined && file.quantization_config !== null) {
    refuse("quantization_config (weights must be F32, F16 or BF16)");
  }
}

function parseRopeScaling(file: ConfigFile, path: string): RopeScaling | null {
  const rope = file.rope_parameters ?? file.rope_scaling;
  const type = rope?.rope_type ?? rope?.type ?? "default";
  const need = (value: number | undefined, name: string) => {
    if (value === undefined) throw new CheckpointError(`${path}: rope scaling lacks ${name}`);
    return value;
  };
  if (rope === null || rope === undefined || type === "default") return null;
  if (type === "linear") return { type, factor: need(rope.factor, "factor") };
  if (type !== "llama3") {
    throw new CheckpointError(
      `${path}: rope scaling ${type} is not supported (expected default, linear or llama3)`,
    );
  }
  return {
    type,
    factor: need(rope.factor, "factor"),
    lowFrequencyFactor: need(rope.low_freq_factor, "low_freq_factor"),
    highFrequencyFactor: need(rope.high_freq_factor, "high_freq_factor"),
    originalMaxPositions: need(
      rope.original_max_position_embeddings,
      "original_max_position_embeddings",
    ),
  };
}

/** The contents of config.json, in the field names that every version of transformers reads. */
export function modelConfigJson(
  config: ModelConfig,
  dtype: "float32" | "bfloat16" | "float16",
): Record<string, unknown> {
  const qwen = config.architecture === "qwen2";
  return {
    architectures: [qwen ? "Qwen2ForCausalLM" : "LlamaForCausalLM"],
    model_type: config.architecture,
    vocab_size: config.vocabSize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headSize,
    max_position_embeddings: config.maxPositions,
    rope_theta: config.ropeTheta,
    rope_scaling: ropeScalingJson(config.ropeScaling),
    rms_norm_eps: config.normEpsilon,
    hidden_act: "silu",
    tie_word_embeddings: config.tiedEmbeddings,
    ...(qwen ? { use_sliding_window: false } : { attention_bias: false, mlp_bias: false }),
    bos_token_id: config.bosTokenId,
    eos_token_id: config.eosTokenIds.length === 1 ? config.eosTokenIds[0] : config.eosTokenIds,
    pad_token_id: config.padTokenId,
    torch_dtype: dtype,
  };
}

function ropeScalingJson(scaling: RopeScaling | null): Record<string, unknown> | null {
  if (scaling === null) return null;
  if (scaling.type === "linear") return { rope_type: "linear", factor: scaling.factor };
  return {
    rope_type: "llama3",
    factor: scaling.factor,
    low_freq_factor: scaling.lowFrequencyFactor,
    high_freq_factor: scaling.highFrequencyFactor,
    original_max_position_embeddings: scaling.originalMaxPositions,
  };
}

/** The names of one layer's tensors, without `.weight` or `.bias`. */
export function layerNames(layer: number) {
  const at = `model.layers.${layer}`;
  return {
    inputNorm: `${at}.input_layernorm`,
    query: `${at}.self_attn.q_proj`,
    key: `${at}.self_attn.k_proj`,
    value: `${at}.self_attn.v_proj`,
    output: `${at}.self_attn.o_proj`,
    outputNorm: `${at}.post_attention_layernorm`,
    gate: `${at}.mlp.gate_proj`,
    up: `${at}.mlp.up_proj`,
    down: `${at}.mlp.down_proj`,
  };
}

/** Names of the tensors outside the layers. */
export const EMBEDDING = "model.embed_tokens.weight";
export const FINAL_NORM = "model.norm.weight";
export const HEAD = "lm_head.weight";

/** Every tensor of the model with its shape, in file order; weights are [out, in]. */
export function parameterShapes(config: ModelConfig): Map<string, number[]> {
  const { hiddenSize: d, intermediateSize: f, headSize } = config;
  const [q, kv] = [config.heads * headSize, config.kvHeads * headSize];
  const shapes = new Map<string, number[]>([[EMBEDDING, [config.vocabSize, d]]]);
  for (let layer = 0; layer < config.layers; layer++) {
    const names = layerNames(layer);
    shapes.set(`${names.inputNorm}.weight`, [d]);
    shapes.set(`${names.query}.weight`, [q, d]);
    shapes.set(`${names.key}.weight`, [kv, d]);
    shapes.set(`${names.value}.weight`, [kv, d]);
    if (config.attentionBias) {
      shapes.set(`${names.query}.bias`, [q]);
      shapes.set(`${names.key}.bias`, [kv]);
      shapes.set(`${names.value}.bias`, [kv]);
    }
    shapes.set(`${names.output}.weight`, [d, q]);
    shapes.set(`${names.outputNorm}.weight`, [d]);
    shapes.set(`${names.gate}.weight`, [f, d]);
    shapes.set(`${names.up}.weight`, [f, d]);
    shapes.set(`${names.down}.weight`, [d, f]);
  }
  shapes.set(FINAL_NORM, [d]);
  if (!config.tiedEmbeddings) shapes.set(HEAD, [config.vocabSize, d]);
  return shapes;
}
