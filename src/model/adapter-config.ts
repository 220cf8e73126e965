/**
 * PEFT's adapter_config.json: how strongly a LoRA adapter acts on each module.
 *
 * A module's weight changes by s·B·A with s = alpha / r, or alpha / √r with `use_rslora`. Patterns may
 * set r and alpha for single modules.
 * Covered: LoRA on linear layers. Not covered, and refused by name: what computes its change in
 * another way, acts on other layers, or was trained on a base that its initialisation had changed.
 *
 * Source: PEFT 0.21.2, tuners/lora/layer.py `update_layer`, utils/other.py `get_pattern_key`.
 */
import { join } from "node:path";
import { z } from "zod";
import { CheckpointError } from "../core/errors.js";
import { readTextOrNull } from "../core/read.js";

/** Rank and strength of an adapter, the modules of its patterns included. */
export interface AdapterConfig {
  rank: number;
  alpha: number;
  /** True where the scale is alpha / √r. */
  isRankStabilised: boolean;
  /** Rank by a regular expression for the end of a module's name; the first that matches holds. */
  rankPattern: Readonly<Record<string, number>>;
  /** Alpha in the same way. */
  alphaPattern: Readonly<Record<string, number>>;
}

/** Name of the file in an adapter's folder. */
export const ADAPTER_CONFIG_FILE = "adapter_config.json";

const neutral = z.literal(false).nullish();
const patternOf = (value: z.ZodType<number>) =>
  z.record(z.string().refine(isExpression, "expected a regular expression"), value).nullish();

const fileSchema = z.looseObject({
  peft_type: z.literal("LORA").default("LORA"),
  r: z.number().int().positive(),
  lora_alpha: z.number(),
  use_rslora: z.boolean().nullish(),
  rank_pattern: patternOf(z.number().int().positive()),
  alpha_pattern: patternOf(z.number()),
  // Initialisations of other names take a part out of the base weights before training.
  init_lora_weights: z
    .union([z.boolean(), z.enum(["gaussian", "eva", "orthogonal"])], {
      error: "its initialisation changes the base weights; convert it to plain LoRA with PEFT",
    })
    .nullish(),
  // The weights of layers that this is set for are stored as [in, out].
  fan_in_fan_out: neutral,
  use_dora: neutral,
  use_qalora: neutral,
  use_bdlora: neutral,
  lora_bias: neutral,
  layer_replication: neutral,
  target_parameters: neutral,
  trainable_token_indices: neutral,
  alora_invocation_tokens: neutral,
  arrow_config: neutral,
  kasa_config: neutral,
  monteclora_config: neutral,
});

/**
 * Reads the adapter_config.json of a folder; null where there is none.
 *
 * @throws {CheckpointError} if it is not LoRA on linear layers.
 */
export async function readAdapterConfig(dir: string): Promise<AdapterConfig | null> {
  const path = join(dir, ADAPTER_CONFIG_FILE);
  const text = await readTextOrNull(path);
  if (text === null) return null;
  const parsed = fileSchema.safeParse(parseJson(text, path));
  if (!parsed.success) {
    const [{ path: at, message }] = parsed.error.issues;
    throw new CheckpointError(`${path}: ${at.join(".")} is not supported: ${message}`);
  }
  return {
    rank: parsed.data.r,
    alpha: parsed.data.lora_alpha,
    isRankStabilised: parsed.data.use_rslora ?? false,
    rankPattern: parsed.data.rank_pattern ?? {},
    alphaPattern: parsed.data.alpha_pattern ?? {},
  };
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CheckpointError(`${path}: expected JSON, found something else`, { cause });
  }
}

function isExpression(source: string): boolean {
  try {
    return matcherOf(source) instanceof RegExp;
  } catch {
    return false;
  }
}

const matcherOf = (source: string) => new RegExp(`^(?:.*\\.)?(?:${source})$`);

/** An adapter of one rank and one alpha. */
export function plainAdapter(rank: number, alpha: number): AdapterConfig {
  return { rank, alpha, isRankStabilised: false, rankPattern: {}, alphaPattern: {} };
}

/** Rank of the factors of a module, e.g. `model.layers.0.self_attn.q_proj`. */
export function rankOf({ rank, rankPattern }: AdapterConfig, module: string): number {
  return valueFor(module, rankPattern) ?? rank;
}

/** What B·A of a module is multiplied by. */
export function scaleOf(config: AdapterConfig, module: string): number {
  const alpha = valueFor(module, config.alphaPattern) ?? config.alpha;
  const rank = rankOf(config, module);
  return alpha / (config.isRankStabilised ? Math.sqrt(rank) : rank);
}

function valueFor(module: string, pattern: AdapterConfig["rankPattern"]): number | undefined {
  return Object.entries(pattern).find(([source]) => matcherOf(source).test(module))?.[1];
}

/** What adapter_config.json says of an adapter for causal language models. */
export function peftConfig(
  config: AdapterConfig,
  { targets, baseModel }: { targets: readonly string[]; baseModel: string | null },
) {
  return {
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: baseModel,
    r: config.rank,
    lora_alpha: config.alpha,
    use_rslora: config.isRankStabilised,
    rank_pattern: config.rankPattern,
    alpha_pattern: config.alphaPattern,
    target_modules: targets,
    lora_dropout: 0,
    bias: "none",
    fan_in_fan_out: false,
    inference_mode: true,
  };
}
