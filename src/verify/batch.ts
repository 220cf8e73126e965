/** Many completions at once: read from files, judged in parallel, counted. */
import { DataError, SandboxError } from "../core/errors.js";
import type { Problem } from "../core/problem.js";
import type { OnProgress } from "../core/progress.js";
import type { VerdictKind } from "../core/verdict.js";
import { readJsonl } from "../formats/jsonl.js";
import { readProblemFiles } from "../formats/problems.js";
import type { Verifier, VerifyResult } from "./verifier.js";

/** One completion and the problem it answers. */
export interface Answer {
  problem: Problem;
  completion: string;
}

/** One judged completion; `error` tells that the sandbox failed and there is no verdict. */
export type Judged = { answer: Answer } & (
  { result: VerifyResult; error: null } | { result: null; error: string }
);

/** What a batch came to. */
export interface BatchSummary {
  completions: number;
  verdicts: Partial<Record<VerdictKind, number>>;
  /** Completions without a verdict because the sandbox failed; they count in nothing else. */
  infraErrors: number;
  /** Means over the completions that can be paid; null when there is none. */
  reward: number | null;
  passRate: number | null;
  format: number | null;
}

/**
 * Reads a problem file.
 *
 * @throws {DataError} if a line is no problem, an id occurs twice or there is none.
 */
export async function readProblems(path: string): Promise<Map<string, Problem>> {
  const problems = new Map<string, Problem>();
  for await (const { problem } of readProblemFiles([path])) problems.set(problem.id, problem);
  return problems;
}

/**
 * Reads completions: one object a line with `problem_id` (or `task_id` or `id`) and `completion`.
 *
 * @throws {DataError} if a line lacks either or names a problem that is not there.
 */
export async function readCompletions(
  path: string,
  problems: ReadonlyMap<string, Problem>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for await (const { line, value } of readJsonl(path)) {
    const id = value["problem_id"] ?? value["task_id"] ?? value["id"];
    const completion = value["completion"];
    if (typeof id !== "string" || typeof completion !== "string") {
      throw new DataError("expected texts problem_id and completion", { path, line });
    }
    const problem = problems.get(id);
    if (problem === undefined) {
      throw new DataError(`no problem of the problem file has the id ${id}`, { path, line });
    }
    answers.push({ problem, completion });
  }
  if (answers.length === 0) throw new DataError("expected completions, found none", { path });
  return answers;
}

/** Judges completions; the results stand in the order of the answers. */
export async function verifyAll(
  answers: readonly Answer[],
  verifier: Verifier,
  { onProgress, signal }: { onProgress?: OnProgress; signal?: AbortSignal } = {},
): Promise<Judged[]> {
  const judged: Judged[] = [];
  let done = 0;
  const judge = async (answer: Answer, at: number) => {
    const request = { ...answer, ...(signal === undefined ? {} : { signal }) };
    try {
      judged[at] = { answer, result: await verifier.verify(request), error: null };
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      judged[at] = { answer, result: null, error: error.message };
    }
    done++;
    onProgress?.({ label: "verify", done, total: answers.length, unit: "completions" });
  };
  await Promise.all(answers.map(judge));
  return judged;
}

/** Counts a batch. */
export function summarise(judged: readonly Judged[]): BatchSummary {
  const results = judged.flatMap(({ result }) => (result === null ? [] : [result]));
  const paid = results.filter(({ reward }) => reward !== null);
  const mean = (values: number[]) =>
    values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
  const verdicts: Partial<Record<VerdictKind, number>> = {};
  for (const { verdict } of results) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  return {
    completions: judged.length,
    verdicts,
    infraErrors: judged.length - results.length,
    reward: mean(paid.map(({ reward }) => reward!)),
    passRate: mean(paid.map(({ passRate }) => passRate)),
    format: mean(paid.map(({ extraction }) => Number(extraction.format))),
  };
}
