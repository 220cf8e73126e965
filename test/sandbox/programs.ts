/** Runs small programs in a sandbox, for the tests of this folder. */
import type {
  ProgramJob,
  ProgramOutcome,
  Sandbox,
  SandboxLimits,
} from "../../src/verify/sandbox.js";

/** Limits that an ordinary test program never meets. */
export const LIMITS: SandboxLimits = {
  cpuMs: 2000,
  wallMs: 6000,
  memoryBytes: 256 * 2 ** 20,
  outputBytes: 4 * 2 ** 20,
};

/** One outcome with its output as text. */
export interface TextOutcome extends Omit<ProgramOutcome, "stdout"> {
  stdout: string;
}

/** What a test may say beyond the program and its inputs. */
export interface Extras extends Partial<Omit<ProgramJob, "limits" | "source" | "stdins">> {
  limits?: Partial<SandboxLimits>;
}

/** Runs a program once per input. */
export async function runAll(
  sandbox: Sandbox,
  source: string,
  inputs: readonly string[],
  { limits, ...extras }: Extras = {},
): Promise<TextOutcome[]> {
  const outcomes = await sandbox.run({
    language: "python",
    ...extras,
    source,
    stdins: inputs.map((input) => Buffer.from(input)),
    limits: { ...LIMITS, ...limits },
  });
  return outcomes.map((outcome) => ({
    ...outcome,
    stdout: Buffer.from(outcome.stdout).toString("latin1"),
  }));
}

/** Runs a program on one input. */
export async function runOne(
  sandbox: Sandbox,
  source: string,
  input = "",
  extras: Extras = {},
): Promise<TextOutcome> {
  return (await runAll(sandbox, source, [input], extras))[0];
}

/** How an outcome ended, in one word or two: `exited 0`, `time_limit cpu`. */
export function endOf({ end }: Pick<ProgramOutcome, "end">): string {
  switch (end.kind) {
    case "exited":
      return `exited ${end.exitCode}`;
    case "signaled":
      return end.signal;
    case "time_limit":
      return `time_limit ${end.clock}`;
    case "memory_limit":
    case "output_limit":
    case "compile_error":
      return end.kind;
  }
}
