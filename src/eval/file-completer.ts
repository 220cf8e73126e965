/** Completions from a file (formats/completions.ts): scores what another machine generated. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { findById, readCompletions } from "../formats/completions.js";
import type { Completer, Completion } from "./completer.js";

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
  for await (const { problemId, texts, finish } of readCompletions(path)) {
    const completions = byProblem.get(problemId) ?? [];
    for (const text of texts) {
      const counts = { promptTokens: null, completionTokens: null };
      completions.push({ text, finish: finish ?? "unknown", ...counts });
    }
    byProblem.set(problemId, completions);
    hash.update(JSON.stringify([problemId, texts]));
  }
  const find = (id: string) => findById(byProblem, id);
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
