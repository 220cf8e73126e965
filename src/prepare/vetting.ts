/**
 * Problems tried out before they are trusted: reference solutions must pass their own tests, and the
 * pass rate of a model's completions must lie in a band where there is something to learn.
 *
 * Running programs is slow, so problems are vetted in the order of the draw until enough have
 * passed; those beyond are never run, and those without completions are never drawn.
 */
import type { OnProgress } from "../core/progress.js";
import type { Problem } from "../core/problem.js";
import { findById, readCompletions } from "../formats/completions.js";
import { blockOf } from "../verify/extract.js";
import type { Verifier } from "../verify/verify.js";
import type { Drop } from "./source.js";

/** What is tried out. */
export interface VettingOptions {
  /** Runs programs. */
  verifier: Verifier;
  /** Run the reference solutions. */
  audit: boolean;
  /** A model's completions by problem id, and the pass rates that are kept; null for neither. */
  profile: { completions: ReadonlyMap<string, string[]>; min: number; max: number } | null;
}

/** What the manifest says of the trials. */
export interface VettingReport {
  /** Problems whose reference solution passed, and those that had none. */
  audited: number;
  without_solution: number;
  /** Problems kept by pass rate, in tenths: index 3 counts rates from 0.3 to 0.4. */
  pass_rates: number[];
}

// One right solution shows that the tests can be passed; more are tried only when it fails.
const MOST_SOLUTIONS = 3;

/** Tries problems out. */
export class Vetting {
  readonly #options: VettingOptions;
  /** Ids that completions were found for, also without the number that tells equal ids apart. */
  readonly #profiled: ReadonlyMap<string, true> | null;
  readonly report: VettingReport = {
    audited: 0,
    without_solution: 0,
    pass_rates: new Array<number>(11).fill(0),
  };

  constructor(options: VettingOptions) {
    this.#options = options;
    const ids = options.profile && [...options.profile.completions.keys()];
    this.#profiled =
      ids && new Map(ids.flatMap((id) => [id, id.replace(/#\d+$/, "")]).map((id) => [id, true]));
  }

  /** Answers why a problem of this id need not be drawn; null where it can stand the trial. */
  refuse(id: string): Drop | null {
    if (this.#profiled === null || findById(this.#profiled, id)) return null;
    return { reason: "no_profile" };
  }

  /** Answers why a problem must be left out, or the problem, with its pass rate as a tag. */
  async vet(
    problem: Problem,
    signal?: AbortSignal,
  ): Promise<{ drop: Drop } | { problem: Problem }> {
    const fault = this.#options.audit ? await this.#audit(problem, signal) : null;
    if (fault !== null) return { drop: fault };
    const { profile } = this.#options;
    if (profile === null) return { problem };
    const completions = findById(profile.completions, problem.id) ?? [];
    if (completions.length === 0) return { drop: { reason: "no_profile" } };
    const rates = await Promise.all(
      completions.map((completion) => this.#passRate(problem, completion, signal)),
    );
    const rate = rates.filter((passRate) => passRate === 1).length / rates.length;
    const detail = `${rate.toFixed(3)} of ${rates.length}`;
    if (rate > profile.max) return { drop: { reason: "too_easy", detail } };
    if (rate < profile.min) return { drop: { reason: "too_hard", detail } };
    this.report.pass_rates[Math.floor(rate * 10)]++;
    return { problem: { ...problem, tags: { ...problem.tags, pass_rate: rate.toFixed(3) } } };
  }

  /** Ends the sandbox. */
  async close(): Promise<void> {
    await this.#options.verifier.close();
  }

  /** Runs reference solutions until one passes all tests. */
  async #audit(problem: Problem, signal?: AbortSignal): Promise<Drop | null> {
    const solutions = problem.solutions?.slice(0, MOST_SOLUTIONS) ?? [];
    if (solutions.length === 0) {
      this.report.without_solution++;
      return null;
    }
    let detail = "";
    for (const solution of solutions) {
      const completion = blockOf(solution, problem.language);
      const result = await this.#options.verifier.verify(requestOf(problem, completion, signal));
      if (result.passRate === 1) {
        this.report.audited++;
        return null;
      }
      const failed = result.tests.find(({ verdict }) => verdict.kind !== "accepted");
      detail = result.fault ?? `${result.verdict} on test ${(failed?.index ?? 0) + 1}`;
    }
    return { reason: "audit_failed", detail };
  }

  async #passRate(problem: Problem, completion: string, signal?: AbortSignal): Promise<number> {
    return (await this.#options.verifier.verify(requestOf(problem, completion, signal))).passRate;
  }
}

const requestOf = (problem: Problem, completion: string, signal?: AbortSignal) => ({
  problem,
  completion,
  maxTests: null,
  ...(signal && { signal }),
});

/** Vets problems, window after window, until `limit` have passed; the rest are not run. */
export async function vetInOrder<T extends { problem: Problem; line: number }>(
  nextWindow: () => Promise<T[]>,
  vetting: Vetting,
  work: {
    limit: number;
    /** Problems in all windows. */
    total: number;
    onDrop: (line: number, drop: Drop) => void;
    onProgress?: OnProgress;
    signal?: AbortSignal;
  },
): Promise<T[]> {
  const kept: T[] = [];
  const total = Math.min(work.total, work.limit);
  let tried = 0;
  while (kept.length < work.limit) {
    const entries = await nextWindow();
    if (entries.length === 0) break;
    for (const entry of entries) {
      work.signal?.throwIfAborted();
      if (kept.length >= work.limit) {
        work.onDrop(entry.line, { reason: "not_sampled" });
        continue;
      }
      const result = await vetting.vet(entry.problem, work.signal);
      if ("drop" in result) work.onDrop(entry.line, result.drop);
      else kept.push({ ...entry, problem: result.problem });
      const note = `${++tried} tried`;
      work.onProgress?.({ label: "try out", done: kept.length, total, unit: "problems", note });
    }
  }
  return kept;
}

/**
 * Reads a file of completions by problem.
 *
 * @throws {DataError} if a line has no id or no completion.
 */
export async function loadCompletions(path: string): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for await (const { problemId, texts } of readCompletions(path)) {
    found.set(problemId, [...(found.get(problemId) ?? []), ...texts]);
  }
  return found;
}
