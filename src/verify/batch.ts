/** Many completions at once: read from files, judged in parallel, counted. */
import { DataError, SandboxError } from "../core/errors.js";
import type { Problem } from "../core/problem.js";
import type { OnProgress } from "../core/progress.js";
import type { VerdictKind } from "../core/verdict.js";
import { readCompletions, shortId } from "../formats/completions.js";
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
 * Reads a file of completions (formats/completions.ts) as answers to these problems.
 *
 * @throws {DataError} if a line has no id or no completion, or names a problem that is not there.
 */
export async function loadAnswers(
  path: string,
  problems: ReadonlyMap<string, Problem>,
): Promise<Answer[]> {
  const byShortId = indexByShortId(problems);
  const answers: Answer[] = [];
  for await (const { line, problemId, texts } of readCompletions(path)) {
    const problem = problems.get(problemId) ?? byShortId.get(problemId);
    if (!problem) {
      const fault = problem === null ? "several problems" : "no problem";
      const message = `expected the id of one problem, ${fault} of the problem file have ${problemId}`;
      throw new DataError(message, { path, line });
    }
    for (const completion of texts) answers.push({ problem, completion });
  }
  return answers;
}

/** Problems by the end of their ids, which some harnesses write alone; null where several share it. */
function indexByShortId(problems: ReadonlyMap<string, Problem>): Map<string, Problem | null> {
  const found = new Map<string, Problem | null>();
  for (const [id, problem] of problems) {
    const short = shortId(id);
    found.set(short, found.has(short) ? null : problem);
  }
  return found;
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
