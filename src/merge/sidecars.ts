/** What stands beside the weights: config.json, and the files that are copied as they are. */
import { copyFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TensorDtype } from "../formats/torch-values.js";
import type { HuggingFaceConfig } from "./expected.js";
import { readTokenizerConfig } from "./vocabulary.js";

// Weights of the source are not the merged ones; config.json is written anew.
const NOT_COPIED =
  /^(config\.json|merge\.json|manifest\.json|adapter_config\.json|.*\.(safetensors|bin|pt|pth|gguf|index\.json))$/;

// What a tokenizer is saved as, by transformers old and new.
const TOKENIZER =
  /^(tokenizer.*|tokenization_.*\.py|vocab\.(json|txt)|merges\.txt|.*(spiece|\.bpe)\.model|(added_tokens|special_tokens_map)\.json|chat_template\..*)$/;
const VOCABULARY = /^(tokenizer\.(json|model.*)|vocab\.(json|txt)|.*(spiece|\.bpe)\.model)$/;
const OF_VOCABULARY = /^(merges\.txt|(added_tokens|special_tokens_map)\.json)$/;
const CHAT_TEMPLATE = /^chat_template\./;

/** Paths of the files to copy, by the name that each gets. */
export type Sidecars = ReadonlyMap<string, string>;

/**
 * Chooses tokenizer, generation config, chat template, custom code and the like.
 *
 * The folder that gives config.json, `whole`, gives all its files, the other one only its tokenizer.
 * The checkpoint's own files win over the base's. Its own vocabulary or chat template also takes
 * away those of the base under other names, which a loader might prefer.
 */
export async function planSidecars(from: {
  base: string | null;
  own: string;
  whole: string;
}): Promise<Sidecars> {
  const files = new Map<string, string>();
  for (const dir of [from.base, from.own]) {
    if (dir === null) continue;
    const names = (await namesIn(dir)).filter((name) => dir === from.whole || TOKENIZER.test(name));
    const hasVocabulary = names.some((name) => VOCABULARY.test(name));
    const hasTemplate = await hasChatTemplate(dir, names);
    for (const name of files.keys()) {
      const isVocabulary = VOCABULARY.test(name) || OF_VOCABULARY.test(name);
      const isReplaced =
        (hasVocabulary && isVocabulary) || (hasTemplate && CHAT_TEMPLATE.test(name));
      if (isReplaced) files.delete(name);
    }
    for (const name of names) files.set(name, join(dir, name));
  }
  return files;
}

async function namesIn(dir: string): Promise<string[]> {
  const names: string[] = [];
  for (const name of await readdir(dir)) {
    if (!NOT_COPIED.test(name) && (await stat(join(dir, name))).isFile()) names.push(name);
  }
  return names;
}

async function hasChatTemplate(dir: string, names: string[]): Promise<boolean> {
  if (names.some((name) => CHAT_TEMPLATE.test(name))) return true;
  if (!names.includes("tokenizer_config.json")) return false;
  return (await readTokenizerConfig(join(dir, "tokenizer_config.json"))).chat_template != null;
}

/** Copies the chosen files into a folder. */
export async function copySidecars(sidecars: Sidecars, to: string): Promise<void> {
  for (const [name, path] of sidecars) await copyFile(path, join(to, name));
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
