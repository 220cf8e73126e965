/** The problems of a run: read, checked, narrowed, and turned into the prompts the policy reads. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Config } from "../config/schema.js";
import { fileList } from "../config/settings.js";
import { ConfigError, DataError } from "../core/errors.js";
import { type PlacedProblem, readProblemFiles } from "../formats/problems.js";
import type { Tokenizer } from "../model/tokenizer.js";
import { sampleIndices } from "./data-order.js";
import type { Prompt } from "./rollout.js";

/** Problems as prompts, with what was left out and what identifies the data. */
export interface PromptSet {
  prompts: Prompt[];
  /** Problems whose prompt was over the limit. */
  dropped: number;
  /** SHA-256 over the files' bytes, in order. */
  hash: string;
}

/** How problems are narrowed. */
export interface PromptLimits {
  /** The config key that names the files, for messages. */
  key: string;
  maxPromptLength: number;
  /** Drop prompts over the limit; otherwise one is an error. */
  filterOverlong: boolean;
  /** Most problems; null means all. */
  maxSamples: number | null;
  shuffle: boolean;
  seed: number;
}

/** The problems that a config names, with those of validation; null without any. */
export async function loadData(
  config: Config,
  tokenizer: Tokenizer,
): Promise<{ train: PromptSet; val: PromptSet | null }> {
  const { data } = config;
  const read = (key: "train_files" | "val_files", most: number) =>
    loadPrompts(fileList(data[key]), tokenizer, {
      key: `data.${key}`,
      maxPromptLength: data.max_prompt_length,
      filterOverlong: data.filter_overlong_prompts,
      maxSamples: most === -1 ? null : most,
      shuffle: data.shuffle,
      seed: data.seed ?? config.seed,
    });
  return {
    train: await read("train_files", data.train_max_samples),
    val:
      fileList(data.val_files).length === 0 ? null : await read("val_files", data.val_max_samples),
  };
}

/**
 * Reads problem files into prompts.
 *
 * @throws {ConfigError} if no file is named or nothing is left.
 * @throws {DataError} if a line is no problem, two share an id, or a prompt is over the limit and
 * such prompts are not filtered.
 */
export async function loadPrompts(
  files: readonly string[],
  tokenizer: Tokenizer,
  limits: PromptLimits,
): Promise<PromptSet> {
  if (files.length === 0) {
    throw new ConfigError(`${limits.key}: expected a problem file, found nothing`);
  }
  const found: PlacedProblem[] = [];
  for await (const placed of readProblemFiles(files)) found.push(placed);
  const hash = createHash("sha256");
  for (const path of files) hash.update(await readFile(path));
  const { maxSamples, shuffle, seed } = limits;
  const chosen = sampleIndices(found.length, maxSamples, { shuffle, seed, name: limits.key });
  const prompts: Prompt[] = [];
  let dropped = 0;
  for (const { problem, path, line } of chosen.map((index) => found[index])) {
    const ids = tokenizer.applyChatTemplate(problem.prompt, { addGenerationPrompt: true });
    if (ids.length <= limits.maxPromptLength) prompts.push({ problem, ids });
    else if (limits.filterOverlong) dropped++;
    else {
      throw new DataError(
        `prompt of ${problem.id} has ${ids.length} tokens, over data.max_prompt_length (${limits.maxPromptLength}); set data.filter_overlong_prompts=true to leave such problems out`,
        { path, line },
      );
    }
  }
  if (prompts.length === 0) {
    throw new ConfigError(
      `${limits.key}: expected problems, found ${dropped === 0 ? "none" : `only prompts over data.max_prompt_length (${limits.maxPromptLength})`}`,
    );
  }
  // Which of them are left decides their order, and so every batch.
  for (const { problem } of prompts) hash.update(problem.id);
  return { prompts, dropped, hash: hash.digest("hex") };
}
