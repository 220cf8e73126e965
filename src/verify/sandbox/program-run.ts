/**
 * Runs one program on one server, test after test, and confirms failures: a test that failed after
 * others had run in its process is run again as the first of a fresh one, and only that counts.
 */
import type { ProgramJob, ProgramOutcome } from "../sandbox.js";
import { type JobHeader, limitsHeader, type ServerConnection } from "./connection.js";
import { packParts } from "./wire.js";

/** How the server is told to run a program, and the first parts of the body (Python's source). */
export interface RunPlan {
  header: JobHeader;
  parts: readonly Uint8Array[];
  /** Names an end that only the runtime's own words tell. */
  translate?: (outcome: ProgramOutcome) => ProgramOutcome;
}

/** The plan of a Python program. */
export function pythonPlan(job: ProgramJob): RunPlan {
  return {
    header: { op: "run", ...limitsHeader(job.limits) },
    parts: [Buffer.from(job.source)],
  };
}

/**
 * Runs the job's tests; answers their outcomes in order.
 *
 * @throws {SandboxError} when the server failed.
 */
export async function runProgram(
  server: ServerConnection,
  job: ProgramJob,
  plan: RunPlan,
): Promise<ProgramOutcome[]> {
  const outcomes: ProgramOutcome[] = [];
  let isOver = job.stdins.length === 0;
  while (!isOver) isOver = await runFrom(server, job, plan, outcomes);
  return outcomes;
}

/** Runs the tests that have no outcome yet; answers false when one has to be confirmed. */
function runFrom(
  server: ServerConnection,
  job: ProgramJob,
  plan: RunPlan,
  outcomes: ProgramOutcome[],
): Promise<boolean> {
  const from = outcomes.length;
  const { signal } = job;
  return new Promise((resolve, reject) => {
    let isSettled = false;
    const settle = (finish: () => void) => {
      if (isSettled) return;
      isSettled = true;
      signal?.removeEventListener("abort", onAbort);
      server.cancel(id);
      finish();
    };
    const onAbort = () => settle(() => reject(signal?.reason as Error));
    const take = (test: number, told: ProgramOutcome, isFirst: boolean) => {
      const index = from + test;
      const outcome = plan.translate?.(told) ?? told;
      const isCompileError = outcome.end.kind === "compile_error";
      const mustConfirm = !isFirst && job.isSuccess?.(index, outcome) === false;
      if (mustConfirm) return settle(() => resolve(false));
      outcomes.push(outcome);
      const goesOn = job.onOutcome?.(index, outcome) ?? true;
      if (!goesOn || isCompileError) settle(() => resolve(true));
    };
    const id = server.submit(plan.header, packParts([...plan.parts, ...job.stdins.slice(from)]), {
      onOutcome: (test, outcome, isFirst) => {
        if (isSettled) return;
        try {
          take(test, outcome, isFirst);
        } catch (error) {
          settle(() => reject(error as Error));
        }
      },
      onDone: () => settle(() => resolve(true)),
      onFailure: (error) => settle(() => reject(error)),
    });
    signal?.addEventListener("abort", onAbort);
    if (signal?.aborted) onAbort();
  });
}
