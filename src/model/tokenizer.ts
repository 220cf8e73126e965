/**
 * Text ↔ token ids, from a Hugging Face tokenizer.json, with the model's chat template.
 */
import { join } from "node:path";
import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import { CheckpointError } from "../core/errors.js";
import type { ChatMessage } from "../core/problem.js";
import { readTextOrNull } from "../core/read.js";
import { compileChatTemplate } from "./chat-template.js";
import { exactPreTokenizer } from "./pre-tokenizer.js";

/** Turns text into token ids and back. */
export interface Tokenizer {
  /** Text as it stands: no special tokens are added, those written out in it are recognised. */
  encode(text: string): number[];
  /** Special tokens are left out unless asked for. */
  decode(ids: readonly number[], options?: { specialTokens?: boolean }): string;
  /** One token as it stands in the vocabulary, for display. */
  pieceOf(id: number): string;
  /** @throws {CheckpointError} if the model has no chat template. */
  renderChat(messages: readonly ChatMessage[], options: { addGenerationPrompt: boolean }): string;
  /** The rendered chat as token ids. */
  applyChatTemplate(
    messages: readonly ChatMessage[],
    options: { addGenerationPrompt: boolean },
  ): number[];
  /** Tokens that end a response: the tokenizer's own end token and generation_config's. */
  readonly eosTokenIds: number[];
  readonly padTokenId: number;
  /** One more than the highest id. */
  readonly vocabSize: number;
  /** The files it came from, by name, so that a saved model carries them unchanged. */
  readonly files: ReadonlyMap<string, string>;
}

/** The files of a tokenizer; the first is required. */
export const TOKENIZER_FILES = [
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "chat_template.jinja",
] as const;

interface TokenizerConfig {
  bos_token?: string | { content: string } | null;
  eos_token?: string | { content: string } | null;
  pad_token?: string | { content: string } | null;
  chat_template?: string | { name: string; template: string }[] | null;
}

/**
 * Reads the tokenizer of a model directory.
 * @throws {CheckpointError} if tokenizer.json is missing or not one.
 */
export async function loadTokenizer(
  dir: string,
  eosTokenIds: readonly number[] = [],
): Promise<Tokenizer> {
  const files = new Map<string, string>();
  for (const name of TOKENIZER_FILES) {
    const text = await readTextOrNull(join(dir, name));
    if (text !== null) files.set(name, text);
  }
  if (!files.has("tokenizer.json")) {
    throw new CheckpointError(`${dir}: expected a tokenizer.json, found none`);
  }
  return tokenizerOfFiles(files, { where: dir, eosTokenIds });
}

/** Makes a tokenizer from the contents of its files. */
export function createTokenizer(
  tokenizerJson: object,
  tokenizerConfig: object = {},
  eosTokenIds: readonly number[] = [],
): Tokenizer {
  const files = new Map([
    ["tokenizer.json", `${JSON.stringify(tokenizerJson, null, 2)}\n`],
    ["tokenizer_config.json", `${JSON.stringify(tokenizerConfig, null, 2)}\n`],
  ]);
  return tokenizerOfFiles(files, { where: "tokenizer", eosTokenIds });
}

function tokenizerOfFiles(
  files: ReadonlyMap<string, string>,
  { where, eosTokenIds }: { where: string; eosTokenIds: readonly number[] },
): Tokenizer {
  const json = parseFile(files, "tokenizer.json", where);
  const config = parseFile(files, "tokenizer_config.json", where) as TokenizerConfig;
  let inner: HuggingFaceTokenizer;
  try {
    const exact = { ...json, pre_tokenizer: exactPreTokenizer(json.pre_tokenizer) };
    inner = new HuggingFaceTokenizer(exact, config);
  } catch (error) {
    const reason = (error as Error).message;
    throw new CheckpointError(`${where}: tokenizer.json is not supported: ${reason}`, {
      cause: error,
    });
  }
  const vocabSize = Math.max(...inner.get_vocab().values()) + 1;
  const idOf = (token: string | undefined) =>
    token === undefined ? undefined : inner.token_to_id(token);
  const [bosToken, eosToken, padToken] = [config.bos_token, config.eos_token, config.pad_token].map(
    (token) => (typeof token === "string" ? token : token?.content),
  );
  const ends = new Set(eosTokenIds);
  const ownEnd = idOf(eosToken);
  if (ownEnd !== undefined) ends.add(ownEnd);
  const template = templateOf(config, files);
  const compiled = template === null ? null : compileChatTemplate(template);
  const encode = (text: string) => encodeExactly(inner, text, where);
  const renderChat: Tokenizer["renderChat"] = (messages, { addGenerationPrompt }) => {
    if (compiled === null) throw new CheckpointError(`${where}: the model has no chat template`);
    return compiled.render(messages, {
      addGenerationPrompt,
      ...(bosToken === undefined ? {} : { bosToken }),
      ...(eosToken === undefined ? {} : { eosToken }),
    });
  };
  return {
    encode,
    decode: (ids, { specialTokens = false } = {}) => decodeIds(inner, ids, specialTokens),
    pieceOf: (id) => inner.id_to_token(id) ?? "",
    renderChat,
    applyChatTemplate: (messages, options) => encode(renderChat(messages, options)),
    eosTokenIds: [...ends],
    padTokenId: idOf(padToken) ?? [...ends][0] ?? 0,
    vocabSize,
    files,
  };
}

function parseFile(files: ReadonlyMap<string, string>, name: string, where: string) {
  try {
    return JSON.parse(files.get(name) ?? "{}") as Record<string, unknown>;
  } catch (error) {
    throw new CheckpointError(`${where}/${name}: expected JSON, found something else`, {
      cause: error,
    });
  }
}

function templateOf(config: TokenizerConfig, files: ReadonlyMap<string, string>): string | null {
  // As in transformers, the file of its own comes before what the config holds.
  const own = files.get("chat_template.jinja");
  if (own !== undefined) return own;
  const { chat_template: template } = config;
  if (typeof template === "string") return template;
  return template?.find(({ name }) => name === "default")?.template ?? null;
}

function encodeExactly(inner: HuggingFaceTokenizer, text: string, where: string): number[] {
  if (text === "") return [];
  const encoding = inner.encode(text, { add_special_tokens: false });
  const { ids, tokens } = encoding as { ids: (number | undefined)[]; tokens: string[] };
  const unknown = ids.indexOf(undefined);
  if (unknown !== -1) {
    throw new CheckpointError(
      `${where}: the vocabulary has neither ${JSON.stringify(tokens[unknown])} nor a token for the unknown`,
    );
  }
  return ids as number[];
}

function decodeIds(
  inner: HuggingFaceTokenizer,
  ids: readonly number[],
  specialTokens: boolean,
): string {
  // A model's vocabulary may be padded beyond the tokenizer's; such ids stand for nothing.
  const known = ids.filter((id) => inner.id_to_token(id) !== undefined);
  if (known.length === 0) return "";
  return inner.decode(known, {
    skip_special_tokens: !specialTokens,
    clean_up_tokenization_spaces: false,
  });
}
