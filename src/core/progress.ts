/**
 * Progress of long work, told to whoever listens: the CLI draws it, the service streams it, tests
 * ignore it. The core itself knows no terminal.
 */

/** How far a piece of work has come. */
export interface Progress {
  /** What is being done, e.g. `verify`. */
  label: string;
  done: number;
  /** Null while the amount of work is unknown. */
  total: number | null;
  /** What `done` counts, e.g. `problems`. */
  unit: string;
  /** A short note beside the bar, e.g. the running score. */
  note?: string;
}

/** Listens to progress; called often, so it must be cheap. */
export type OnProgress = (progress: Progress) => void;
