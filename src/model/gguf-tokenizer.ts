/**
 * The tokenizer inside a GGUF file, rebuilt as a tokenizer.json.
 *
 * Only byte-level BPE ("gpt2" in GGUF) with a known split pattern is supported: with a guessed
 * pattern the ids of numbers and spaces would be wrong without a word.
 * Source: llama.cpp's llama-vocab.cpp for the patterns by name; the models' own tokenizer.json.
 */
import { CheckpointError } from "../core/errors.js";
import type { GgufValue } from "../formats/gguf.js";
import { createTokenizer, type Tokenizer } from "./tokenizer.js";

const split = (pattern: string) => ({
  type: "Split",
  pattern: { Regex: pattern },
  behavior: "Isolated",
  invert: false,
});
const byteLevel = (isSplitting: boolean) => ({
  type: "ByteLevel",
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: isSplitting,
});

const WORDS = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+`;
const REST = String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

/** Steps before BPE, by `tokenizer.ggml.pre`. */
const PRE_TOKENIZERS: Record<string, object[]> = {
  "gpt-2": [byteLevel(true)],
  smollm: [{ type: "Digits", individual_digits: true }, byteLevel(true)],
  qwen2: [split(String.raw`${WORDS}|\p{N}|${REST}`), byteLevel(false)],
  "llama-bpe": [split(String.raw`${WORDS}|\p{N}{1,3}|${REST}`), byteLevel(false)],
};

/** llama_token_type of tokens that text never splits: control and user-defined. */
const CONTROL = 3;
const USER_DEFINED = 4;

/**
 * Rebuilds the tokenizer from metadata.
 * @throws {CheckpointError} if its kind is not supported.
 */
export function ggufTokenizer(
  metadata: ReadonlyMap<string, GgufValue>,
  { path, eosTokenIds }: { path: string; eosTokenIds: readonly number[] },
): Tokenizer {
  const model = metadata.get("tokenizer.ggml.model");
  const pre = String(metadata.get("tokenizer.ggml.pre") ?? "none");
  if (model !== "gpt2") {
    throw new CheckpointError(
      `${path}: tokenizer ${String(model)} is not supported (expected gpt2, byte-level BPE)`,
    );
  }
  if (!Object.hasOwn(PRE_TOKENIZERS, pre)) {
    const known = Object.keys(PRE_TOKENIZERS).join(", ");
    throw new CheckpointError(`${path}: pre-tokenizer ${pre} is not supported (expected ${known})`);
  }
  const tokens = listOf(metadata, "tokens", path).map(String);
  const types = listOf(metadata, "token_type", path).map(Number);
  const merges = listOf(metadata, "merges", path).map(String);
  const added = tokens.flatMap((content, id) =>
    types[id] === CONTROL || types[id] === USER_DEFINED
      ? [addedToken(id, content, types[id] === CONTROL)]
      : [],
  );
  const nameOf = (key: string) => {
    const id = metadata.get(`tokenizer.ggml.${key}_token_id`);
    return id === undefined ? null : tokens[Number(id)];
  };
  const json = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: pre === "qwen2" ? { type: "NFC" } : null,
    pre_tokenizer: { type: "Sequence", pretokenizers: PRE_TOKENIZERS[pre] },
    post_processor: byteLevel(true),
    decoder: byteLevel(true),
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: pre === "llama-bpe",
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
    },
  };
  const config = {
    tokenizer_class: "PreTrainedTokenizerFast",
    bos_token: nameOf("bos"),
    eos_token: nameOf("eos"),
    pad_token: nameOf("padding"),
    unk_token: nameOf("unknown"),
    clean_up_tokenization_spaces: false,
    chat_template: metadata.get("tokenizer.chat_template") ?? null,
  };
  return createTokenizer(json, config, eosTokenIds);
}

function addedToken(id: number, content: string, isSpecial: boolean) {
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  return { id, content, ...flags, special: isSpecial };
}

function listOf(
  metadata: ReadonlyMap<string, GgufValue>,
  key: string,
  path: string,
): readonly GgufValue[] {
  const value = metadata.get(`tokenizer.ggml.${key}`);
  if (!Array.isArray(value)) {
    throw new CheckpointError(`${path}: metadata lacks the list tokenizer.ggml.${key}`);
  }
  return value;
}
