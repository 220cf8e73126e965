/**
 * The tokens of a tokenizer's files, held against the rows of the embedding matrix.
 *
 * Covered: tokenizer.json, vocab.json and the files of added tokens. Not covered: SentencePiece's
 * binary tokenizer.model alone.
 */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { CheckpointError } from "../core/errors.js";

/** A token and its id. */
type Token = readonly [token: string, id: number];

// Vocabularies have 100,000s of entries, so they are looked through once and not copied by a schema.
const tokenizerSchema = z.looseObject({
  model: z.looseObject({ vocab: z.unknown().optional() }).optional(),
  added_tokens: z.array(z.looseObject({ id: z.number(), content: z.string() })).optional(),
});
const configSchema = z.looseObject({
  added_tokens_decoder: z.record(z.string(), z.looseObject({ content: z.string() })).nullish(),
  chat_template: z.unknown().optional(),
});

/** Reads tokenizer_config.json. */
export const readTokenizerConfig = (path: string) => readAs(path, configSchema);

// Which tokens each file names.
const READERS: Record<string, (path: string) => Promise<Token[]>> = {
  "tokenizer.json": async (path) => {
    const { model, added_tokens: added = [] } = await readAs(path, tokenizerSchema);
    const extra = added.map(({ id, content }): Token => [content, id]);
    return [lastOf(model?.vocab), ...extra].filter((token) => token !== null);
  },
  "vocab.json": async (path) => lastOfFile(path),
  "added_tokens.json": async (path) => lastOfFile(path),
  "tokenizer_config.json": async (path) => {
    const { added_tokens_decoder: added } = await readTokenizerConfig(path);
    return Object.entries(added ?? {}).map(([id, { content }]): Token => [content, Number(id)]);
  },
};

/**
 * The warning that the tokenizer has ids without a row in the embedding matrix; null if it has none.
 *
 * A warning and no error, because some published models have such tokens and never use them.
 * @throws {CheckpointError} if a tokenizer file is not JSON of its usual form.
 */
export async function checkVocabulary(
  files: ReadonlyMap<string, string>,
  rows: number,
): Promise<string | null> {
  let last: Token = ["", -1];
  for (const [name, read] of Object.entries(READERS)) {
    const path = files.get(name);
    for (const token of path === undefined ? [] : await read(path)) {
      if (token[1] > last[1]) last = token;
    }
  }
  const [token, id] = last;
  if (id < rows) return null;
  return (
    `the tokenizer has ${id + 1} tokens, but the embedding matrix has ${rows} rows: ` +
    `${JSON.stringify(token)} (id ${id}) has none, and a loader fails where it occurs; use the ` +
    "tokenizer that the weights were trained with"
  );
}

async function lastOfFile(path: string): Promise<Token[]> {
  const last = lastOf(await readAs(path, z.looseObject({})));
  return last === null ? [] : [last];
}

/** The token of the highest id: of a table by token, or of a list by id with a score each. */
function lastOf(vocabulary: unknown): Token | null {
  if (Array.isArray(vocabulary)) {
    const [token] = (vocabulary.at(-1) ?? [""]) as [string];
    return [token, vocabulary.length - 1];
  }
  let last: Token | null = null;
  for (const [token, id] of Object.entries((vocabulary ?? {}) as Record<string, unknown>)) {
    if (typeof id === "number" && id > (last?.[1] ?? -1)) last = [token, id];
  }
  return last;
}

async function readAs<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  try {
    return schema.parse(JSON.parse(await readFile(path, "utf8")));
  } catch (cause) {
    throw new CheckpointError(`${path}: expected the JSON of a tokenizer`, { cause });
  }
}
