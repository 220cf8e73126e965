/**
 * The generation cache: completions by the hash of everything that produced them (model, prompt,
 * sampling settings, and where drawn at random problem and sample). Re-scoring the same completions
 * costs no generation, and an interrupted evaluation goes on where it was cut off. One append-only
 * JSONL file.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { ConfigError } from "../core/errors.js";
import { appendLine, readLines, writeAtomic } from "../core/run.js";
import type { Completer, Completion, CompletionRequest } from "./completer.js";

/** A line of generations.jsonl. */
export interface Generation extends Completion {
  key: string;
}

/** Hashes what produces a completion. */
export function generationKey(
  { identity, kind: source }: Pick<Completer, "identity" | "kind">,
  request: CompletionRequest,
): string {
  const { prompt, kind, maxTokens, temperature, topP, topK, stop, seed } = request;
  // A greedy sample is the same whatever the seed and the index; a file's samples are what they are.
  const isGreedy = temperature === 0 && source !== "file";
  // Draws and a file's lines belong to their problem, also where two problems have one prompt.
  const place = [request.problemId, request.sample];
  const sampling = isGreedy ? null : [temperature, topP, topK, seed, place];
  return hashOf([identity, kind, prompt, maxTokens, stop, sampling]);
}

/** The first 64 bits of the SHA-256 of a value's JSON, in hexadecimal. */
export function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}

/** Completions known so far. */
export interface GenerationCache {
  get(key: string): Completion | null;
  add(key: string, completion: Completion): void;
}

/**
 * Opens the cache of a file, and reads others beside it. A line torn by a crash is cut off so that
 * what is appended starts on a line of its own. Null as the file keeps completions in memory only.
 *
 * @throws {ConfigError} if there is nothing to reuse where it was said to be.
 * @throws {DataError} if a whole line is not JSON.
 */
export async function openGenerations(
  path: string | null,
  reuse: readonly string[] = [],
): Promise<GenerationCache> {
  const known = new Map<string, Completion>();
  for (const source of reuse) {
    if (!existsSync(source)) {
      throw new ConfigError(
        `--reuse: expected a folder with completions of an evaluation, found no ${source}`,
      );
    }
    for (const { key, ...rest } of await readLines<Generation>(source)) known.set(key, rest);
  }
  if (path !== null) {
    await mkdir(dirname(path), { recursive: true });
    const lines = await readLines<Generation>(path);
    await writeAtomic(path, lines.map((line) => JSON.stringify(line) + "\n").join(""));
    for (const { key, ...rest } of lines) known.set(key, rest);
  }
  return {
    get: (key) => known.get(key) ?? null,
    add: (key, completion) => {
      if (known.has(key)) return;
      known.set(key, completion);
      if (path !== null) appendLine(path, { key, ...completion });
    },
  };
}
