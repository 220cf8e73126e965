/**
 * What config.json promises: the tensors a model of this kind has, with their shapes.
 *
 * A merge that lacks one, holds one too many or holds one of another shape is refused, because
 * loaders fill such gaps with random numbers and only print a warning.
 *
 * Covered: decoders with RMSNorm, rotary positions and gated MLPs as Llama, Mistral, Qwen2 and
 * Qwen3 have them, with a language-model, classification or value head.
 */
import { CheckpointError } from "../core/errors.js";

/** The parts of config.json that decide shapes. */
export type HuggingFaceConfig = Record<string, unknown>;

/** Result of the check. */
export interface ShapeCheck {
  /** False when the model type is not in the table, so that nothing could be compared. */
  isKnown: boolean;
  /** True when the model ends in a value head instead of a vocabulary. */
  hasValueHead: boolean;
}

interface Family {
  qkvBias: (config: HuggingFaceConfig) => boolean;
  outputBias: (config: HuggingFaceConfig) => boolean;
  mlpBias: (config: HuggingFaceConfig) => boolean;
  headNorm: boolean;
}

const never = () => false;
const attentionBias = (config: HuggingFaceConfig) => config.attention_bias === true;
const FAMILIES: Record<string, Family> = {
  llama: {
    qkvBias: attentionBias,
    outputBias: attentionBias,
    mlpBias: (config) => config.mlp_bias === true,
    headNorm: false,
  },
  mistral: { qkvBias: never, outputBias: never, mlpBias: never, headNorm: false },
  qwen2: { qkvBias: () => true, outputBias: never, mlpBias: never, headNorm: false },
  qwen3: { qkvBias: attentionBias, outputBias: attentionBias, mlpBias: never, headNorm: true },
};

// Heads that score a token: a classifier's, or the one that TRL puts on a language model.
const VALUE_HEADS = /^(score\.(weight|bias)|v_head\.summary\.(weight|bias))$/;
// Buffers that older versions saved and that every loader computes anew.
const COMPUTED = /\.rotary_emb\.inv_freq$/;

/**
 * Compares tensor names and shapes with config.json.
 *
 * @throws {CheckpointError} if they differ.
 */
export function checkShapes(shapes: Map<string, number[]>, config: HuggingFaceConfig): ShapeCheck {
  const hasValueHead = [...shapes.keys()].some((name) => VALUE_HEADS.test(name));
  const family = FAMILIES[String(config.model_type)];
  if (family === undefined) return { isKnown: false, hasValueHead };
  const expected = expectedShapes(config, family);
  const tied = config.tie_word_embeddings === true;
  const optional = new Set(hasValueHead || tied ? ["lm_head.weight"] : []);
  const problems: string[] = [];
  for (const [name, shape] of expected) {
    const found = shapes.get(name);
    if (found === undefined && !optional.has(name)) problems.push(`${name} is missing`);
    if (found !== undefined && found.join() !== shape.join()) {
      problems.push(`${name} must be [${shape}], found [${found}]`);
    }
  }
  for (const name of shapes.keys()) {
    if (expected.has(name) || VALUE_HEADS.test(name) || COMPUTED.test(name)) continue;
    problems.push(`${name} is not a tensor of a ${String(config.model_type)} model`);
  }
  if (problems.length > 0) {
    const more = problems.length > 3 ? ` and ${problems.length - 3} more` : "";
    throw new CheckpointError(
      `the tensors do not fit config.json: ${problems.slice(0, 3).join("; ")}${more}`,
    );
  }
  return { isKnown: true, hasValueHead };
}

function expectedShapes(config: HuggingFaceConfig, family: Family): Map<string, number[]> {
  const size = (key: string, fallback?: number): number => {
    const value = config[key] ?? fallback;
    if (typeof value === "number") return value;
    throw new CheckpointError(`config.json: expected the number ${key}, found ${String(value)}`);
  };
  const [width, heads] = [size("hidden_size"), size("num_attention_heads")];
  const headWidth = size("head_dim", width / heads);
  const [queries, keys] = [heads * headWidth, size("num_key_value_heads", heads) * headWidth];
  const inner = size("intermediate_size");
  const shapes = new Map<string, number[]>([
    ["model.embed_tokens.weight", [size("vocab_size"), width]],
    ["model.norm.weight", [width]],
    ["lm_head.weight", [size("vocab_size"), width]],
  ]);
  const linear = (name: string, rows: number, columns: number, hasBias: boolean) => {
    shapes.set(`${name}.weight`, [rows, columns]);
    if (hasBias) shapes.set(`${name}.bias`, [rows]);
  };
  for (let index = 0; index < size("num_hidden_layers"); index++) {
    const layer = `model.layers.${index}`;
    linear(`${layer}.self_attn.q_proj`, queries, width, family.qkvBias(config));
    linear(`${layer}.self_attn.k_proj`, keys, width, family.qkvBias(config));
    linear(`${layer}.self_attn.v_proj`, keys, width, family.qkvBias(config));
    linear(`${layer}.self_attn.o_proj`, width, queries, family.outputBias(config));
    linear(`${layer}.mlp.gate_proj`, inner, width, family.mlpBias(config));
    linear(`${layer}.mlp.up_proj`, inner, width, family.mlpBias(config));
    linear(`${layer}.mlp.down_proj`, width, inner, family.mlpBias(config));
    shapes.set(`${layer}.input_layernorm.weight`, [width]);
    shapes.set(`${layer}.post_attention_layernorm.weight`, [width]);
    if (!family.headNorm) continue;
    shapes.set(`${layer}.self_attn.q_norm.weight`, [headWidth]);
    shapes.set(`${layer}.self_attn.k_norm.weight`, [headWidth]);
  }
  return shapes;
}
