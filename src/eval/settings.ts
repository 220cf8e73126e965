/** What an evaluation is asked to do, and what most callers leave as it is. */
import type { SandboxLimits } from "../verify/sandbox.js";
import type { Style } from "./style.js";

/** What an evaluation is asked to do. */
export interface EvaluateSettings {
  /** Name of this evaluation, e.g. `before`. */
  name: string;
  benchmark: string;
  style: Style;
  /** Samples per problem. */
  n: number;
  /** 0 is greedy. */
  temperature: number;
  topP: number;
  topK: number | null;
  maxTokens: number;
  /** The k of pass@k to report; those above n are left out. */
  k: readonly number[];
  seed: number;
  /** What the verifier was made with, for the record; null when unknown. */
  limits: SandboxLimits | null;
  /** How many problems were taken from the front of the benchmark, for the record. */
  limit: number | null;
  /** LiveCodeBench's release and dates, for the record. */
  window: string | null;
  /** Completions judged at a time. */
  judgeConcurrency: number;
  /** Where to write; null keeps everything in memory. */
  outDir: string | null;
  /** Other evaluation directories whose completions may be used again. */
  reuse: readonly string[];
}

/** The settings most callers leave alone. */
export const EVALUATE_DEFAULTS = {
  n: 1,
  temperature: 0,
  topP: 1,
  topK: null,
  maxTokens: 1024,
  k: [1, 5, 10, 100],
  seed: 42,
  limits: null,
  limit: null,
  window: null,
  judgeConcurrency: 4,
  outDir: null,
  reuse: [],
} as const satisfies Partial<EvaluateSettings>;
