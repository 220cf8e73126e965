/**
 * GGUF → Hugging Face: a llama.cpp model file becomes a model that loads like any other.
 *
 * Names are mapped, quantized weights widened, the rows of Llama's query and key projections put
 * back into Hugging Face's order (llama.cpp stores rotary pairs side by side), and the tokenizer
 * rebuilt from the vocabulary and the merges.
 * Source: llama.cpp's gguf-py/gguf/tensor_mapping.py and convert_hf_to_gguf.py.
 */
import { CheckpointError } from "../core/errors.js";
import type { OnProgress } from "../core/progress.js";
import {
  type GgufHeader,
  type GgufTensor,
  readGgufHeader,
  readGgufTensors,
} from "../formats/gguf.js";
import {
  EMBEDDING,
  FINAL_NORM,
  HEAD,
  layerNames,
  MAX_LAYERS,
  type ModelConfig,
  parameterShapes,
} from "./config.js";
import { ggufTokenizer } from "./gguf-tokenizer.js";
import { Parameters } from "./parameters.js";
import type { Model } from "./weights.js";

const EMBEDDING_TENSOR = "token_embd.weight";
const HEAD_TENSOR = "output.weight";

/**
 * Reads a GGUF model file whole.
 *
 * @throws {CheckpointError} if its architecture or tokenizer is not supported, or a tensor is missing.
 * @throws {DataError} if the file breaks the format or holds an element type that is not read.
 */
export async function importGguf(
  path: string,
  onProgress: OnProgress = () => undefined,
): Promise<Model> {
  const header = await readGgufHeader(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    throw new CheckpointError(`${path}: expected a GGUF file, found no such file`);
  });
  const config = configOf(header, path);
  const tokenizer = ggufTokenizer(header.metadata, { path, eosTokenIds: config.eosTokenIds });
  const shapes = parameterShapes(config);
  const sources = new Map<string, GgufTensor>();
  for (const [name, shape] of shapes) {
    const tensor = findTensor(header, ggufName(name), path);
    checkShape(tensor, shape, path);
    sources.set(name, tensor);
  }
  checkAllUsed(header, new Set([...sources.values()].map(({ name }) => name)), path);
  const parameters = new Parameters(shapes);
  let done = 0;
  for (const [name, tensor] of sources) {
    const target = parameters.view(name);
    await readGgufTensors(path, [{ tensor, target }]);
    if (config.architecture === "llama") unpermute(name, target, config);
    onProgress({ label: "import", done: ++done, total: sources.size, unit: "tensors" });
  }
  return { config, parameters, tokenizer };
}

/** The tensor that holds the output head: the embedding's where the file has none of its own. */
export function headTensor(names: ReadonlySet<string>): string {
  return names.has(HEAD_TENSOR) ? HEAD_TENSOR : EMBEDDING_TENSOR;
}

function configOf({ metadata, tensors }: GgufHeader, path: string): ModelConfig {
  const architecture = String(metadata.get("general.architecture"));
  if (architecture !== "llama" && architecture !== "qwen2") {
    throw new CheckpointError(
      `${path}: architecture ${architecture} is not supported (expected llama or qwen2)`,
    );
  }
  const optional = (key: string) => {
    const value = metadata.get(key.startsWith("tokenizer") ? key : `${architecture}.${key}`);
    return value === undefined ? null : Number(value);
  };
  const need = (key: string) => {
    const value = optional(key);
    if (value === null) throw new CheckpointError(`${path}: metadata lacks ${architecture}.${key}`);
    return value;
  };
  const scaling = metadata.get(`${architecture}.rope.scaling.type`) ?? "none";
  if (scaling !== "none") {
    throw new CheckpointError(`${path}: rope scaling ${String(scaling)} is not supported in GGUF`);
  }
  const heads = need("attention.head_count");
  const layers = need("block_count");
  if (!(layers >= 1 && layers <= MAX_LAYERS)) {
    throw new CheckpointError(`${path}: expected 1 to ${MAX_LAYERS} blocks, found ${layers}`);
  }
  const eos = optional("tokenizer.ggml.eos_token_id");
  const endOfTurn = optional("tokenizer.ggml.eot_token_id");
  const ends = [eos, endOfTurn].filter((id) => id !== null);
  return {
    architecture,
    vocabSize: findTensor({ tensors }, EMBEDDING_TENSOR, path).shape[0],
    hiddenSize: need("embedding_length"),
    intermediateSize: need("feed_forward_length"),
    layers,
    heads,
    kvHeads: optional("attention.head_count_kv") ?? heads,
    headSize: optional("attention.key_length") ?? need("embedding_length") / heads,
    maxPositions: need("context_length"),
    ropeTheta: round(optional("rope.freq_base") ?? 10_000),
    ropeScaling: null,
    normEpsilon: round(need("attention.layer_norm_rms_epsilon")),
    tiedEmbeddings: headTensor(new Set(tensors.keys())) === EMBEDDING_TENSOR,
    attentionBias: architecture === "qwen2",
    bosTokenId: optional("tokenizer.ggml.bos_token_id"),
    eosTokenIds: [...new Set(ends)],
    padTokenId: optional("tokenizer.ggml.padding_token_id"),
  };
}

/** A float32 as the short decimal it was written from, e.g. 1e-5 of 0.00000999999974… */
function round(value: number): number {
  return Number(value.toPrecision(7));
}

const FIXED_NAMES: Record<string, string> = {
  [EMBEDDING]: EMBEDDING_TENSOR,
  [FINAL_NORM]: "output_norm.weight",
  [HEAD]: HEAD_TENSOR,
};
const LAYER_PARTS: Record<keyof ReturnType<typeof layerNames>, string> = {
  inputNorm: "attn_norm",
  query: "attn_q",
  key: "attn_k",
  value: "attn_v",
  output: "attn_output",
  outputNorm: "ffn_norm",
  gate: "ffn_gate",
  up: "ffn_up",
  down: "ffn_down",
};

/** llama.cpp's name of a Hugging Face tensor. */
function ggufName(name: string): string {
  const layer = /^model\.layers\.(\d+)\./.exec(name)?.[1];
  if (layer === undefined) return FIXED_NAMES[name];
  const dot = name.lastIndexOf(".");
  const [stem, kind] = [name.slice(0, dot), name.slice(dot + 1)];
  const part = Object.entries(layerNames(Number(layer))).find(([, own]) => own === stem);
  return `blk.${layer}.${LAYER_PARTS[part?.[0] as keyof typeof LAYER_PARTS]}.${kind}`;
}

function findTensor(
  { tensors }: Pick<GgufHeader, "tensors">,
  name: string,
  path: string,
): GgufTensor {
  const tensor = tensors.get(name);
  if (tensor === undefined) throw new CheckpointError(`${path}: tensor ${name} is missing`);
  return tensor;
}

function checkAllUsed({ tensors }: GgufHeader, used: ReadonlySet<string>, path: string): void {
  const unused = [...tensors.keys()].filter((name) => !used.has(name));
  if (unused.length > 0) {
    throw new CheckpointError(
      `${path}: tensor ${unused[0]} is not supported (one of ${unused.length} that the architecture does not have)`,
    );
  }
}

function checkShape(tensor: GgufTensor, expected: readonly number[], path: string): void {
  if (tensor.shape.join() !== expected.join()) {
    throw new CheckpointError(
      `${path}: ${tensor.name} has shape [${tensor.shape.join(", ")}], the metadata asks for [${expected.join(", ")}]`,
    );
  }
}

/** Per head, rows (0, hd/2, 1, hd/2+1, …) become rows (0, 1, 2, …). */
function unpermute(name: string, data: Float32Array, { headSize, hiddenSize }: ModelConfig): void {
  if (!/self_attn\.[qk]_proj\.weight$/.test(name)) return;
  const half = headSize / 2;
  const headLength = headSize * hiddenSize;
  const before = new Float32Array(headLength);
  for (let start = 0; start < data.length; start += headLength) {
    const head = data.subarray(start, start + headLength);
    before.set(head);
    for (let row = 0; row < headSize; row++) {
      const from = row < half ? 2 * row : 2 * (row - half) + 1;
      head.set(before.subarray(from * hiddenSize, (from + 1) * hiddenSize), row * hiddenSize);
    }
  }
}
