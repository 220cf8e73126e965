/**
 * The verifier's vocabulary: what is asked, what is answered, and what may be set. verify.ts makes
 * one.
 */
import type { Problem } from "../core/problem.js";
import type { Verdict, VerdictKind } from "../core/verdict.js";
import type { IsolationLevel, Sandbox, SandboxLimits } from "./sandbox.js";

/** Where a program was found in a completion. */
export interface Extraction {
  /** The program; null when there is none. */
  program: string | null;
  /** True when a properly opened and closed code block in the asked language held it. */
  format: boolean;
  /** What was found: a proper block, or why the block is not proper or there is none. */
  reason:
    | "block"
    | "untagged_block"
    | "unclosed"
    | "closing_fence_only"
    | "heuristic"
    | "wrong_language"
    | "unclosed_think"
    | "empty"
    | "no_block";
}

/** The verdict on one test with what it cost. */
export interface TestResult {
  /** Index of the test in the problem. */
  index: number;
  verdict: Verdict;
  cpuMs: number;
  wallMs: number;
  peakBytes: number;
}

/** Everything known of one judged completion. */
export interface VerifyResult {
  problemId: string;
  extraction: Extraction;
  /** One per test that ran, in order of the tests. */
  tests: TestResult[];
  /** Tests of the problem, whether or not they ran. */
  totalTests: number;
  /** Share of the chosen tests that were accepted, in [0, 1]; tests left out by an early stop count as failed. */
  passRate: number;
  /** `accepted` when every chosen test was; else the first failing kind. */
  verdict: VerdictKind;
  /** Why the row is at fault; null unless the verdict is `bad_problem`. */
  fault: string | null;
  /** True when the verdicts are those of an identical program judged just before. */
  isReused: boolean;
  /** What the policy is paid; null for a `bad_problem`, which pays nobody. */
  reward: number | null;
  /** Further figures of a custom reward, logged beside the reward. */
  extras?: Record<string, number>;
  /** `weak` when test code had to run beside the program, so that a forged pass cannot be excluded. */
  trust: "strong" | "weak";
}

/** What may vary from call to call. */
export interface VerifyRequest {
  completion: string;
  problem: Problem;
  /** Most tests to run: a sample seeded by the problem's id. Null runs all, as evaluation does. */
  maxTests?: number | null;
  signal?: AbortSignal;
}

/** Settings of a verifier; config/ holds their schema and defaults. */
export interface VerifierOptions {
  /** Servers that run programs, usually one per core. */
  workers: number;
  limits: SandboxLimits;
  /** Stop at the first failed test. */
  earlyStop: boolean;
  maxTests: number | null;
  seed: number;
  reward: RewardOptions;
  /** Refuse to start below this level. */
  requireIsolation: IsolationLevel;
  /** Times a SandboxError is retried on another worker before it is thrown. */
  retries: number;
  /** Judge identical programs for one problem once, as the samples of a group often are. */
  reuse: boolean;
  /** The Python interpreter's command or path; the best of PATH when absent. */
  python?: string;
  /** Told in one sentence each of what isolation lacks on this machine. */
  onWarning?: (warning: string) => void;
  /** Runs the programs; absent opens the best sandbox of this machine. `close` ends either. */
  sandbox?: Sandbox;
}

/** How verdicts become a number. */
export interface RewardOptions {
  kind: "pass_rate" | "all_or_nothing" | "tiered";
  /** Weights of the tiers; used by `tiered` alone. Format and compile may not exceed tests. */
  weights: { format: number; compile: number; tests: number };
}

/** Judges completions. */
export interface Verifier {
  readonly level: IsolationLevel;
  /**
   * Judges one completion.
   *
   * @throws {SandboxError} when the machinery failed, also on retry.
   */
  verify(request: VerifyRequest): Promise<VerifyResult>;
  /** Ends the sandbox. */
  close(): Promise<void>;
}
