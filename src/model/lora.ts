/**
 * LoRA: small trained factors beside frozen weights, in PEFT's file format.
 *
 * A projection W x becomes W x + s·B A x with A [rank, in] and B [out, rank]. The frozen weights are
 * inputs without gradients, so nothing of the model's size is allocated for training.
 *
 * Source: Hu et al. 2021, https://arxiv.org/abs/2106.09685; names and files are PEFT's.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { CheckpointError, ConfigError } from "../core/errors.js";
import { writeAtomic } from "../core/write.js";
import type { RandomStream } from "../core/random.js";
import { readFloatTensors, writeFloatTensors } from "../formats/safetensors.js";
import { readSafetensorsHeader } from "../formats/safetensors-header.js";
import {
  ADAPTER_CONFIG_FILE,
  peftConfig,
  plainAdapter,
  readAdapterConfig,
  scaleOf,
} from "./adapter-config.js";
import { layerNames, type ModelConfig, parameterShapes } from "./config.js";
import { Parameters, type ParameterShapes } from "./parameters.js";

/** What an adapter changes and how strongly. */
export interface LoraConfig {
  rank: number;
  alpha: number;
  /** Names of projections, e.g. `q_proj`; each is adapted in every layer. */
  targets: readonly string[];
}

/** Trained factors and what they are multiplied by. */
export interface Adapter {
  /** alpha / rank, or alpha / √rank of an adapter that says so */
  scale: number;
  /**
   * The factors, by PEFT's names; a tensor of another name (a critic's value head) replaces the
   * frozen one of that name.
   */
  parameters: Parameters;
}

/** An adapter as a graph sees it. */
export interface AdapterShapes {
  scale: number;
  parameters: ParameterShapes;
}

/** Every projection of a layer: PEFT's `all-linear`. */
export const ALL_LINEAR = [
  "q_proj",
  "k_proj",
  "v_proj",
  "o_proj",
  "gate_proj",
  "up_proj",
  "down_proj",
] as const;

const PREFIX = "base_model.model.";
const FACTOR = /^base_model\.model\.(.+)\.lora_([AB])\.weight$/;
const FILE = "adapter_model.safetensors";

/**
 * A new adapter: A uniform within ±1/√in, B zero, so that it changes nothing yet.
 *
 * `trained` names frozen tensors that are to be trained whole beside the factors.
 * @throws {ConfigError} if a target is no projection of the model.
 */
export function createAdapter(
  config: ModelConfig,
  lora: LoraConfig,
  stream: RandomStream,
  trained: ReadonlyMap<string, readonly number[]> = new Map(),
): Adapter {
  const parameters = new Parameters(new Map([...adapterShapes(config, lora), ...trained]));
  for (const name of parameters.names.filter((name) => name.endsWith("lora_A.weight"))) {
    const view = parameters.view(name);
    const bound = 1 / Math.sqrt(parameters.shape(name)[1]);
    for (let i = 0; i < view.length; i++) view[i] = bound * (2 * stream.next() - 1);
  }
  return { scale: lora.alpha / lora.rank, parameters };
}

/**
 * The factors' shapes by name.
 *
 * @throws {ConfigError} if a target is no projection of the model.
 */
export function adapterShapes(
  config: ModelConfig,
  { rank, targets }: LoraConfig,
): Map<string, readonly number[]> {
  const unknown = targets.find((name) => !ALL_LINEAR.some((known) => known === name));
  if (unknown !== undefined || targets.length === 0) {
    throw new ConfigError(
      `LoRA targets are of ${ALL_LINEAR.join(", ")}; got ${unknown ?? "an empty list"}`,
    );
  }
  const weights = parameterShapes(config);
  const shapes = new Map<string, readonly number[]>();
  for (let layer = 0; layer < config.layers; layer++) {
    for (const name of Object.values(layerNames(layer))) {
      if (!targets.some((target) => name.endsWith(`.${target}`))) continue;
      const [out, inner] = weights.get(`${name}.weight`) as number[];
      shapes.set(`${PREFIX}${name}.lora_A.weight`, [rank, inner]);
      shapes.set(`${PREFIX}${name}.lora_B.weight`, [out, rank]);
    }
  }
  return shapes;
}

/** The module and factor that a tensor name of an adapter stands for; null for a whole tensor. */
export function factorOf(name: string): { module: string; factor: "A" | "B" } | null {
  const match = FACTOR.exec(name);
  return match === null ? null : { module: match[1], factor: match[2] as "A" | "B" };
}

/** The model with the adapter folded in, W + s·B A, in memory of its own. */
export function mergeAdapter(base: Parameters, { scale, parameters }: Adapter): Parameters {
  const merged = base.clone();
  for (const name of parameters.names) {
    const found = factorOf(name);
    if (found === null) merged.view(name).set(parameters.view(name));
    if (found?.factor !== "A") continue;
    const { module } = found;
    const [rank, inner] = parameters.shape(name);
    const a = parameters.view(name);
    const b = parameters.view(`${PREFIX}${module}.lora_B.weight`);
    const weight = merged.view(`${module}.weight`);
    for (let out = 0; out < b.length / rank; out++) {
      const row = weight.subarray(out * inner, (out + 1) * inner);
      for (let r = 0; r < rank; r++) {
        const factor = scale * b[out * rank + r];
        for (let i = 0; i < inner; i++) row[i] += factor * a[r * inner + i];
      }
    }
  }
  return merged;
}

/** Writes adapter_config.json and adapter_model.safetensors, which PEFT loads. */
export async function saveAdapter(
  dir: string,
  adapter: Adapter,
  lora: LoraConfig,
  baseModel: string | null = null,
): Promise<void> {
  const { parameters } = adapter;
  await mkdir(dir, { recursive: true });
  const { rank, alpha, targets } = lora;
  const config = peftConfig(plainAdapter(rank, alpha), { targets, baseModel });
  const path = join(dir, ADAPTER_CONFIG_FILE);
  await writeAtomic(path, `${JSON.stringify(config, null, 2)}\n`);
  const tensors = parameters.names.map((name) => ({
    name,
    shape: parameters.shape(name),
    data: parameters.view(name),
  }));
  await writeFloatTensors(join(dir, FILE), tensors, { dtype: "F32", metadata: { format: "pt" } });
}

/**
 * Reads an adapter that PEFT or `saveAdapter` wrote.
 *
 * @throws {CheckpointError} if it needs more than plain LoRA on projections of this model.
 */
export async function loadAdapter(
  dir: string,
  config: ModelConfig,
): Promise<{ adapter: Adapter; lora: LoraConfig }> {
  const file = await readAdapterConfig(dir);
  if (file === null) {
    throw new CheckpointError(`${dir}: expected an ${ADAPTER_CONFIG_FILE}, found none`);
  }
  if (Object.keys({ ...file.rankPattern, ...file.alphaPattern }).length > 0) {
    throw new CheckpointError(
      `${dir}: rank_pattern and alpha_pattern are not supported here; fold the adapter in with ` +
        "rlvr merge",
    );
  }
  const { rank } = file;
  const weightsPath = join(dir, FILE);
  const { tensors } = await readSafetensorsHeader(weightsPath);
  const weights = parameterShapes(config);
  const names = [...tensors.keys()];
  for (const name of names) {
    const shape = weights.get(`${factorOf(name)?.module ?? ""}.weight`);
    const { factor } = factorOf(name) ?? {};
    const expected = factor === "A" ? [rank, shape?.[1]] : [shape?.[0], rank];
    if (shape === undefined || tensors.get(name)?.shape.join() !== expected.join()) {
      throw new CheckpointError(`${weightsPath}: tensor ${name} fits no projection of the model`);
    }
  }
  const parameters = new Parameters(
    new Map(names.map((name) => [name, tensors.get(name)?.shape ?? []])),
  );
  const wanted = [...tensors.values()].map((tensor) => ({
    tensor,
    target: parameters.view(tensor.name),
  }));
  await readFloatTensors(weightsPath, wanted);
  const targets = ALL_LINEAR.filter((target) => names.some((name) => name.includes(`.${target}.`)));
  const scale = scaleOf(file, "");
  // As plain LoRA, which `saveAdapter` writes: the alpha that gives the same scale.
  const alpha = file.isRankStabilised ? scale * rank : file.alpha;
  return { adapter: { scale, parameters }, lora: { rank, alpha, targets } };
}
