/**
 * A case: one real failing input from a public report, written anew, with its right outcome.
 *
 * `strict: false` marks an outcome that depends on a policy; docs/DECISIONS.md says which is ours.
 */

/** One file of a cases folder. */
export interface Case {
  id: string;
  area: string;
  source: string;
  /** Its shape depends on the area; handlers know. */
  input: Record<string, unknown>;
  expected: unknown;
  why: string;
  strict: boolean;
  evidence?: string;
}

/** Thrown by a handler when this machine cannot run the case. */
export class SkipCase extends Error {}

/** Runs one case through the product's own code; answers null, or what went wrong. */
export type AreaHandler = (testCase: Case) => Promise<string | null>;

/** What an area module exports. */
export interface AreaModule {
  run: AreaHandler;
  /** Ends what `run` started, e.g. a sandbox. */
  close?: () => Promise<void>;
}
