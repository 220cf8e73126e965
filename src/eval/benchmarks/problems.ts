/**
 * Problem files of our own format (see core/problem.ts): any file, and the starter problems held
 * out from training. Their prompts are asked as they stand.
 */
import { ConfigError } from "../../core/errors.js";
import type { Problem } from "../../core/problem.js";
import { parseProblem } from "../../formats/problems.js";
import type { Row } from "../rows.js";
import { CHAT_STYLE } from "../style.js";
import type { Benchmark } from "./benchmark.js";

const toProblems = (rows: readonly Row[], path: string): Problem[] =>
  rows.map((row, index) => parseProblem(row, { path, line: index + 1 }));

function define(name: string, about: string, maxTokens: number): Benchmark {
  return {
    name,
    aliases: [],
    about,
    hub: null,
    maxTokens,
    styles: [{ name: "chat", about: "the prompt of the file, our extraction" }],
    windowOf: () => null,
    styleOf: (style) => {
      if (style === CHAT_STYLE.name) return CHAT_STYLE;
      throw new ConfigError(`${name} has the style chat, not ${style}`);
    },
    toProblems,
  };
}

/** Any problem file. */
export const problems = define("problems", "any problem file (JSONL), its own prompts", 1024);
/** The starter problems held out from training. */
export const starter = define("starter", "the starter problems held out from training", 96);
