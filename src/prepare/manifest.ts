/**
 * The manifest of a prepared data set: what went in, by which rules, and what came out. It holds no
 * time and no machine, so that the same input and options give the same bytes.
 */
import type { BenchmarkReport } from "./benchmarks.js";
import type { DedupeMode } from "./dedupe.js";
import type { PromptMeter } from "./prompt.js";
import type { DropReason, Split } from "./source.js";
import type { VettingReport } from "./vetting.js";

/** One file that was read. */
export interface ManifestInput {
  split: Split;
  /** As it was given: a path or a hub id. */
  path: string;
  /** The data set's commit, where it came from the hub. */
  revision: string | null;
  source: string;
  format: string;
  bytes: number;
  sha256: string;
}

/** What became of the rows of one split. */
export interface ManifestSplit {
  /** Rows read. */
  rows: number;
  /** Rows left out, by reason, in the order in which the reasons are looked for. */
  dropped: Partial<Record<DropReason, number>>;
  /** Problems written. */
  written: number;
  /** Tests taken out of problems that were written. */
  removed_tests: { truncated: number; over_cap: number };
  /** Written problems by the way they are tested, and by collection. */
  by_kind: Record<string, number>;
  by_source: Record<string, number>;
  /** Least, median and greatest over the written problems. */
  prompt_tokens: Spread | null;
  tests: Spread | null;
}

/** Least, median and greatest of some numbers. */
export interface Spread {
  min: number;
  median: number;
  max: number;
}

/** One file that was written. */
export interface ManifestOutput {
  name: string;
  rows: number | null;
  bytes: number;
  sha256: string;
}

/** What `manifest.json` holds. */
export interface Manifest {
  /** Version of this layout. */
  format: 1;
  inputs: ManifestInput[];
  /** What training rows were held against, and what was found. */
  benchmarks: BenchmarkReport[];
  /** What running programs showed; null where none were run. */
  trials: VettingReport | null;
  /** What a reader should know before training on the data, in sentences. */
  warnings: string[];
  options: {
    limit: number | null;
    seed: number;
    max_prompt_tokens: number;
    length: PromptMeter["description"];
    template: { name: string; sha256: string };
    max_tests: number | null;
    max_test_bytes: number | null;
    dedupe: DedupeMode;
    audit: boolean;
    pass_rate_band: [number, number] | null;
  };
  splits: Partial<Record<Split, ManifestSplit>>;
  outputs: ManifestOutput[];
}

/** Least, median (the lower of two) and greatest; null of nothing. */
export function spreadOf(numbers: readonly number[]): Spread | null {
  if (numbers.length === 0) return null;
  const sorted = [...numbers].sort((a, b) => a - b);
  return {
    min: sorted[0],
    median: sorted[Math.floor((sorted.length - 1) / 2)],
    max: sorted[sorted.length - 1],
  };
}
