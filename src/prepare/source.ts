/**
 * What a data set is to this room: a name, a way to recognise its rows, and a way to read one row
 * into a draft of a problem. One file per data set in sources/; the table is in sources/table.ts.
 */
import type { CompareRule, Problem, Tests } from "../core/problem.js";

/** Which of the two files of a training run. */
export type Split = "train" | "validation";

/** A problem before it has its prompt. */
export interface Draft {
  /** The data set's own name for the problem; null where it has none that is stable. */
  id: string | null;
  /** Becomes `data_source`: the collection the problem comes from. */
  source: string;
  /** The task in words, without instructions on how to answer. */
  statement: string;
  /** The bare task, for comparing, where the statement holds more than that. */
  task?: string;
  /** What a program must start from or define, e.g. a function signature; empty when free. */
  starter: string;
  tests: Tests;
  /** The data set's own split and row number, carried into `extra_info`. */
  split: string | null;
  index: number | null;
  language?: string;
  limits?: NonNullable<Problem["limits"]>;
  compare?: CompareRule;
  solutions?: string[];
  tags?: Record<string, string>;
  /** A prompt that is taken as it stands, for problems that were prepared before. */
  prompt?: Problem["prompt"];
}

/** Why a row is left out, with one sentence each for the data card. */
export const DROP_REASONS = {
  not_code: "not a programming problem",
  no_statement: "no text of a task",
  null_ground_truth: "no ground truth",
  unparsable_ground_truth: "ground truth that cannot be read",
  no_tests: "no tests",
  unequal_tests: "different numbers of inputs and outputs",
  truncated_output: 'every test left has an expected output cut off with "..."',
  tests_too_large: "every test is larger than the limit on bytes",
  unsupported: "asks for what the verifier cannot judge",
  prompt_too_long: "prompt longer than the limit",
  duplicate: "same task as an earlier row",
  duplicate_of_validation: "same task as a validation row",
  near_duplicate: "nearly the same task as an earlier row",
  near_duplicate_of_validation: "nearly the same task as a validation row",
  contaminated: "found in a benchmark",
  audit_failed: "a reference solution does not pass the tests",
  too_easy: "pass rate above the band",
  too_hard: "pass rate below the band",
  no_profile: "no completions to take a pass rate from",
  not_sampled: "left out by the sample",
} as const;

/** Why a row is left out. */
export type DropReason = keyof typeof DROP_REASONS;

/** A row that is left out. */
export interface Drop {
  reason: DropReason;
  /** What was found, for whoever looks the row up. */
  detail?: string;
}

/** What one row becomes. */
export type SourceRow = { draft: Draft } | { drop: Drop };

/** Where a row stands, for errors. */
export interface RowPlace {
  path: string;
  /** Counted from 1. */
  line: number;
}

/** One raw row: JSON-like values by column. */
export type RawRow = Record<string, unknown>;

/** One data set. */
export interface Source {
  name: string;
  /** One sentence for `--help` and the docs. */
  summary: string;
  /** Columns that a row must have to be of this data set. */
  columns: readonly string[];
  /** Looks closer, where the columns alone do not decide. */
  recognises?(row: RawRow): boolean;
  /** Rows that can be left out by one flat column alone, before the rest is read. */
  where?: { column: string; keep: (value: unknown) => boolean; reason: DropReason };
  /**
   * Reads one row.
   *
   * @throws {DataError} if the row has not the shape of the data set.
   */
  read(row: RawRow, at: RowPlace): SourceRow;
}
