/**
 * Model directories of Hugging Face's layout, in and out: config.json, generation_config.json,
 * model.safetensors (or shards with an index) and the tokenizer's files.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { CheckpointError } from "../core/errors.js";
import { readTextOrNull } from "../core/read.js";
import { writeAtomic } from "../core/write.js";
import { readFloatTensors, type WeightDtype, writeFloatTensors } from "../formats/safetensors.js";
import { readSafetensorsHeader, type StoredTensor } from "../formats/safetensors-header.js";
import {
  EMBEDDING,
  HEAD,
  type ModelConfig,
  modelConfigJson,
  parameterShapes,
  parseModelConfig,
} from "./config.js";
import { Parameters } from "./parameters.js";
import { loadTokenizer, type Tokenizer } from "./tokenizer.js";

/** A model as a directory holds it. */
export interface Model {
  config: ModelConfig;
  parameters: Parameters;
  tokenizer: Tokenizer;
}

const WEIGHTS = "model.safetensors";
const INDEX = "model.safetensors.index.json";
const CONFIG = "config.json";
const GENERATION = "generation_config.json";
/** transformers' default. */
const SHARD_BYTES = 5e9;
const TORCH_DTYPES = { F32: "float32", BF16: "bfloat16", F16: "float16" } as const;
const DTYPE_BYTES = { F32: 4, BF16: 2, F16: 2 } as const;

/** Tensors of old files that hold nothing learned. */
const IGNORED = /rotary_emb\.inv_freq$/;

/**
 * Reads a model directory; weights of 16 bits are widened to float32.
 *
 * @throws {CheckpointError} if a file, a tensor or a setting is missing, wrong or not supported.
 */
export async function loadModel(dir: string): Promise<Model> {
  const config = await loadModelConfig(dir);
  const tokenizer = await loadTokenizer(dir, config.eosTokenIds);
  if (tokenizer.vocabSize > config.vocabSize) {
    throw new CheckpointError(
      `${dir}: the tokenizer has ${tokenizer.vocabSize} tokens, the model only ${config.vocabSize}`,
    );
  }
  return { config, parameters: await loadParameters(dir, parameterShapes(config)), tokenizer };
}

/** Reads config.json, with the token ids of generation_config.json where there is one. */
export async function loadModelConfig(dir: string): Promise<ModelConfig> {
  const json = await readJson(join(dir, CONFIG));
  if (json === null) throw new CheckpointError(`${dir}: expected a ${CONFIG}, found none`);
  const generation = await readJson(join(dir, GENERATION));
  return parseModelConfig(json, { path: join(dir, CONFIG), generation });
}

/**
 * Reads tensors of the given shapes from model.safetensors or the shards of its index.
 *
 * @throws {CheckpointError} if one is missing, has another shape, or is not expected.
 */
export async function loadParameters(
  dir: string,
  shapes: ReadonlyMap<string, readonly number[]>,
): Promise<Parameters> {
  const tensors = await findTensors(dir);
  checkNames(dir, shapes, tensors);
  // Before memory is taken for them: config.json may ask for any size.
  for (const [name, shape] of shapes) {
    const { path, tensor } = tensors.get(name) as Located;
    checkShape(path, tensor, shape);
  }
  const parameters = new Parameters(shapes);
  const byFile = new Map<string, { tensor: StoredTensor; target: Float32Array }[]>();
  for (const name of parameters.names) {
    const { path, tensor } = tensors.get(name) as Located;
    const wanted = byFile.get(path) ?? [];
    wanted.push({ tensor, target: parameters.view(name) });
    byFile.set(path, wanted);
  }
  for (const [path, wanted] of byFile) await readFloatTensors(path, wanted);
  return parameters;
}

interface Located {
  path: string;
  tensor: StoredTensor;
}

async function findTensors(dir: string): Promise<Map<string, Located>> {
  const index = (await readJson(join(dir, INDEX))) as {
    weight_map?: Record<string, string>;
  } | null;
  const files = index === null ? [WEIGHTS] : [...new Set(Object.values(index.weight_map ?? {}))];
  const found = new Map<string, Located>();
  for (const file of files) {
    const path = join(dir, file);
    const header = await readSafetensorsHeader(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      throw new CheckpointError(`${dir}: expected the weights ${file}, found no such file`);
    });
    for (const [name, tensor] of header.tensors) found.set(name, { path, tensor });
  }
  return found;
}

function checkNames(
  dir: string,
  shapes: ReadonlyMap<string, unknown>,
  tensors: ReadonlyMap<string, unknown>,
): void {
  const missing = [...shapes.keys()].filter((name) => !tensors.has(name));
  const isTiedHead = (name: string) => name === HEAD && shapes.has(EMBEDDING);
  const extra = [...tensors.keys()].filter(
    (name) => !shapes.has(name) && !IGNORED.test(name) && !isTiedHead(name),
  );
  const list = (names: string[]) =>
    `${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""}`;
  if (missing.length > 0) {
    throw new CheckpointError(`${dir}: ${missing.length} tensors are missing: ${list(missing)}`);
  }
  if (extra.length > 0) {
    throw new CheckpointError(
      `${dir}: ${extra.length} tensors belong to no part of this architecture: ${list(extra)}`,
    );
  }
}

function checkShape(path: string, tensor: StoredTensor, expected: readonly number[]): void {
  if (tensor.shape.join() !== expected.join()) {
    throw new CheckpointError(
      `${path}: ${tensor.name} has shape [${tensor.shape.join(", ")}], config.json asks for [${expected.join(", ")}]`,
    );
  }
}

/**
 * Writes a model directory that transformers loads. Weights above `shardBytes` (5 GB unless given)
 * are split into shards.
 */
export async function saveModel(
  dir: string,
  model: Model,
  options: { dtype: WeightDtype; shardBytes?: number },
): Promise<void> {
  await mkdir(dir, { recursive: true });
  for (const [name, text] of model.tokenizer.files) await writeAtomic(join(dir, name), text);
  await saveModelConfig(dir, model.config, options.dtype);
  await saveParameters(dir, model.parameters, options);
}

/** Writes config.json and generation_config.json. */
export async function saveModelConfig(
  dir: string,
  config: ModelConfig,
  dtype: WeightDtype,
): Promise<void> {
  const json = modelConfigJson(config, TORCH_DTYPES[dtype]);
  const { bos_token_id, eos_token_id, pad_token_id } = json;
  await writeJson(join(dir, CONFIG), json);
  await writeJson(join(dir, GENERATION), { bos_token_id, eos_token_id, pad_token_id });
}

/** Writes model.safetensors, or shards and their index. */
export async function saveParameters(
  dir: string,
  parameters: Parameters,
  { dtype, shardBytes = SHARD_BYTES }: { dtype: WeightDtype; shardBytes?: number },
): Promise<void> {
  const shards: string[][] = [[]];
  let bytes = 0;
  for (const name of parameters.names) {
    const size = parameters.view(name).length * DTYPE_BYTES[dtype];
    if (bytes > 0 && bytes + size > shardBytes) {
      shards.push([]);
      bytes = 0;
    }
    shards[shards.length - 1].push(name);
    bytes += size;
  }
  const map: Record<string, string> = {};
  for (const [i, names] of shards.entries()) {
    const number = (n: number) => String(n).padStart(5, "0");
    const shard = `model-${number(i + 1)}-of-${number(shards.length)}.safetensors`;
    const file = shards.length === 1 ? WEIGHTS : shard;
    const tensors = names.map((name) => ({
      name,
      shape: parameters.shape(name),
      data: parameters.view(name),
    }));
    await writeFloatTensors(join(dir, file), tensors, { dtype, metadata: { format: "pt" } });
    for (const name of names) map[name] = file;
  }
  if (shards.length > 1) {
    const total = parameters.data.length * DTYPE_BYTES[dtype];
    await writeJson(join(dir, INDEX), { metadata: { total_size: total }, weight_map: map });
  }
}

async function readJson(path: string): Promise<unknown> {
  const text = await readTextOrNull(path);
  try {
    return text === null ? null : (JSON.parse(text) as unknown);
  } catch (cause) {
    throw new CheckpointError(`${path}: expected JSON, found something else`, { cause });
  }
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await writeAtomic(path, `${JSON.stringify(value, null, 2)}\n`);
}
