/**
 * Our own problem files: one Problem (core/problem.ts) a line, taken as they stand.
 *
 * One raw row:
 *
 *     {"id": "mbpp/0f134bbff336", "source": "mbpp",
 *      "prompt": [{"role": "user", "content": "Write a function …"}],
 *      "tests": {"kind": "stdio", "cases": [{"input": "1 2\n", "output": "3\n"}]},
 *      "language": "python", "tags": {"split": "train", "index": "250"}}
 *
 * The prompt is kept; a template does not touch it.
 */
import { parseProblem } from "../../formats/problems.js";
import type { Draft, Source } from "../source.js";

/** Problem JSONL. */
export const problem: Source = {
  name: "problem",
  summary: "our own problem files, one problem a line",
  columns: ["id", "source", "prompt", "tests"],
  read: (row, at) => {
    const parsed = parseProblem(row, at);
    const { id, source, prompt, tests, language, limits, compare, solutions, tags } = parsed;
    const user = prompt.find((message) => message.role === "user") ?? prompt[0];
    const index = Number(tags?.["index"] ?? NaN);
    const draft: Draft = {
      id,
      source,
      statement: user.content,
      task: user.content.split("\n\nProblem:\n").at(-1) ?? user.content,
      starter: "",
      tests,
      split: tags?.["split"] ?? null,
      index: Number.isInteger(index) ? index : null,
      language,
      prompt,
      ...(limits && { limits }),
      ...(compare && { compare }),
      ...(solutions && { solutions }),
      ...(tags && { tags }),
    };
    return { draft };
  },
};
