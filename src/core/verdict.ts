/**
 * The verdict on one program run against one test.
 *
 * A verdict is about the program. When the sandbox itself fails there is no verdict: the judge
 * throws SandboxError, and the rollout is retried or dropped, never paid 0.
 */

/** What the judge says of one test. The `kind` strings are the wire format everywhere. */
export type Verdict =
  | { kind: "accepted" }
  | { kind: "wrong_answer"; expected: string; actual: string; reason?: string }
  /** `signal` names the signal that ended the process; `exitCode` is null then. */
  | { kind: "runtime_error"; exitCode: number | null; signal?: string; stderr: string }
  /** `clock` tells which limit was passed: time on the processor or time on the wall. */
  | { kind: "time_limit"; limitMs: number; clock: "cpu" | "wall" }
  | { kind: "memory_limit"; limitBytes: number }
  | { kind: "output_limit"; limitBytes: number }
  | { kind: "compile_error"; stderr: string }
  | { kind: "no_program"; reason: string }
  /** The row is at fault (no tests, unequal lengths, a broken checker): never a pass or a fail. */
  | { kind: "bad_problem"; reason: string };

/** The name of a verdict, as it stands in files, metrics and HTTP answers. */
export type VerdictKind = Verdict["kind"];

/** Every kind, from the best to the worst; charts and tables keep this order. */
export const VERDICT_KINDS = [
  "accepted",
  "wrong_answer",
  "runtime_error",
  "time_limit",
  "memory_limit",
  "output_limit",
  "compile_error",
  "no_program",
  "bad_problem",
] as const satisfies readonly VerdictKind[];

/** Says a verdict in one line, e.g. `time limit: over 2000 ms of cpu time`. */
export function describeVerdict(verdict: Verdict): string {
  switch (verdict.kind) {
    case "accepted":
      return "accepted";
    case "wrong_answer":
      return `wrong answer: expected ${verdict.expected}, got ${verdict.actual}`;
    case "runtime_error":
      return `runtime error: ${verdict.signal ?? `exit code ${verdict.exitCode}`}`;
    case "time_limit":
      return `time limit: over ${verdict.limitMs} ms of ${verdict.clock} time`;
    case "memory_limit":
      return `memory limit: over ${verdict.limitBytes} bytes`;
    case "output_limit":
      return `output limit: over ${verdict.limitBytes} bytes`;
    case "compile_error":
      return "compile error";
    case "no_program":
      return `no program: ${verdict.reason}`;
    case "bad_problem":
      return `bad problem: ${verdict.reason}`;
  }
}
