/**
 * Runs one program on one server, test after test, and confirms failures: a test that failed after
 * others had run in its process is run again as the first of a fresh one. If it succeeds there,
 * outcomes depend on what ran before, and every test is run once in a process of its own instead;
 * src/verify/attempts.ts says why nothing less will do.
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
  const until = job.stdins.length;
  let isConfirming = false;
  while (outcomes.length < until) {
    const halt = await runFrom(server, job, plan, { outcomes, until, isConfirming });
    if (halt === "repaired") return runAlone(server, job, plan);
    if (halt !== "unconfirmed") break;
    isConfirming = true;
  }
  return outcomes;
}

/** Runs each test in a process of its own. */
async function runAlone(
  server: ServerConnection,
  job: ProgramJob,
  plan: RunPlan,
): Promise<ProgramOutcome[]> {
  const outcomes: ProgramOutcome[] = [];
  for (const index of job.stdins.keys()) {
    const range = { outcomes, until: index + 1, isConfirming: false };
    if ((await runFrom(server, job, plan, range)) === "stopped") break;
  }
  return outcomes;
}

/** The tests that run next: those without an outcome, up to a number. */
interface Range {
  outcomes: ProgramOutcome[];
  until: number;
  /** The first of them has failed once, after others. */
  isConfirming: boolean;
}

/**
 * Why a run halted: all of its tests have outcomes, or nobody wants more; or a failure has to be
 * confirmed, or was not.
 */
type Halt = "done" | "stopped" | "unconfirmed" | "repaired";

function runFrom(
  server: ServerConnection,
  job: ProgramJob,
  plan: RunPlan,
  { outcomes, until, isConfirming }: Range,
): Promise<Halt> {
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
      const isSuccess = job.isSuccess?.(index, outcome);
      if (!isFirst && isSuccess === false) return settle(() => resolve("unconfirmed"));
      if (isConfirming && test === 0 && isSuccess === true) {
        return settle(() => resolve("repaired"));
      }
      outcomes.push(outcome);
      const goesOn = job.onOutcome?.(index, outcome, isFirst) ?? true;
      if (!goesOn || isCompileError) settle(() => resolve("stopped"));
    };
    const stdins = job.stdins.slice(from, until);
    const id = server.submit(plan.header, packParts([...plan.parts, ...stdins]), {
      onOutcome: (test, outcome, isFirst) => {
        if (isSettled) return;
        try {
          take(test, outcome, isFirst);
        } catch (error) {
          settle(() => reject(error as Error));
        }
      },
      onDone: () => settle(() => resolve("done")),
      onFailure: (error) => settle(() => reject(error)),
    });
    signal?.addEventListener("abort", onAbort);
    if (signal?.aborted) onAbort();
  });
}
