/** What stands beside the weights: config.json, and the files that are copied as they are. */
import { copyFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TensorDtype } from "../formats/torch-values.js";
import type { HuggingFaceConfig } from "./expected.js";

// Weights of the source are not the merged ones; config.json is written anew.
const NOT_COPIED =
  /^(config\.json|merge\.json|manifest\.json|adapter_config\.json|.*\.(safetensors|bin|pt|pth|gguf|index\.json))$/;

/** Copies tokenizer, generation config, chat template, custom code and the like. */
export async function copySidecars(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    const path = join(from, name);
    if (NOT_COPIED.test(name) || !(await stat(path)).isFile()) continue;
    await copyFile(path, join(to, name));
  }
}

const DTYPE_NAMES: Partial<Record<TensorDtype, string>> = {
  F32: "float32",
  F16: "float16",
  BF16: "bfloat16",
};

/**
 * Writes down what the weights now are: their element type, so that a loader does not round them
 * on the way in; whether the head is tied; and the class that has a value head.
 */
export function outputConfig(
  config: HuggingFaceConfig,
  tensors: { name: string; dtype: TensorDtype; shape: number[] }[],
  { hasValueHead, isTieKept }: { hasValueHead: boolean; isTieKept: boolean },
): HuggingFaceConfig {
  const output = { ...config };
  const dtypes = new Set(tensors.flatMap(({ dtype }) => DTYPE_NAMES[dtype] ?? []));
  const [dtype] = dtypes;
  // Transformers 5 calls it `dtype`, older versions `torch_dtype`; the key that is there stays.
  if (dtypes.size === 1) output["dtype" in config ? "dtype" : "torch_dtype"] = dtype;
  if (!isTieKept) output.tie_word_embeddings = false;
  const score = tensors.find(({ name }) => name === "score.weight");
  if (hasValueHead && score !== undefined) {
    output.num_labels = score.shape[0];
    output.architectures = (config.architectures as string[] | undefined)?.map((name) =>
      name.replace(/ForCausalLM$/, "ForTokenClassification"),
    );
  }
  return output;
}
