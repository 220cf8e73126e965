/**
 * Problem files of our own format (see core/problem.ts): any file, and the starter problems held
 * out from training. Their prompts are asked as they stand.
 */
import { DataError } from "../../core/errors.js";
import { type Problem, problemSchema } from "../../core/problem.js";
import type { Row } from "../rows.js";
import { CHAT_STYLE } from "../style.js";
import { ConfigError } from "../../core/errors.js";
import type { Benchmark } from "./benchmark.js";

function toProblems(rows: readonly Row[], path: string): Problem[] {
  return rows.map((row, index) => {
    const problem = problemSchema.safeParse(row);
    if (problem.success) return problem.data;
    const issue = problem.error.issues[0];
    const field = issue.path.join(".") || "the record";
    throw new DataError(`not a problem: ${field}: ${issue.message}`, { path, line: index + 1 });
  });
}

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
