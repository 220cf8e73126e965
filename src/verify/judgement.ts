/** What a judge is given and gives, whatever drives the program. */
import type { Problem } from "../core/problem.js";
import type { Verdict } from "../core/verdict.js";
import type { ProgramOutcome, Sandbox, SandboxLimits } from "./sandbox.js";
import type { TestResult } from "./verifier.js";

/** Longest expected or printed text that a verdict shows, in characters. */
const SHOWN_TEXT = 4000;

/** One program to be judged. */
export interface JudgeJob {
  program: string;
  problem: Problem;
  /** Indices of the tests to run, in order. */
  chosen: readonly number[];
  sandbox: Sandbox;
  limits: SandboxLimits;
  /** Stop at the first failed test. */
  earlyStop: boolean;
  signal?: AbortSignal;
}

/** The verdicts on one program. */
export interface Judgement {
  /** One per test that ran; a single one when the program does not compile or load. */
  tests: TestResult[];
  trust: "strong" | "weak";
}

/** The verdict that the end of a run decides by itself; null after a clean exit. */
export function verdictOfEnd(outcome: ProgramOutcome, limits: SandboxLimits): Verdict | null {
  const { end, stderr } = outcome;
  switch (end.kind) {
    case "exited":
      if (end.exitCode === 0) return null;
      return { kind: "runtime_error", exitCode: end.exitCode, stderr };
    case "signaled":
      return { kind: "runtime_error", exitCode: null, signal: end.signal, stderr };
    case "time_limit": {
      const limitMs = end.clock === "cpu" ? limits.cpuMs : limits.wallMs;
      return { kind: "time_limit", limitMs, clock: end.clock };
    }
    case "memory_limit":
      return { kind: "memory_limit", limitBytes: limits.memoryBytes };
    case "output_limit":
      return { kind: "output_limit", limitBytes: limits.outputBytes };
    case "compile_error":
      return { kind: "compile_error", stderr };
  }
}

/** Bytes as text for people: decoded with replacement, cut to a readable length. */
export function shown(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.subarray(0, 4 * SHOWN_TEXT)).toString("utf8");
  return text.length > SHOWN_TEXT ? `${text.slice(0, SHOWN_TEXT)}…` : text;
}
