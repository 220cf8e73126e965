/**
 * The error classes. Each is named by the boundary that failed, so that a caller can tell what the
 * user asked wrongly from what a file holds wrongly from what our own machinery failed to do.
 *
 * A message says what was expected, what was found, where, and the cure if there is one. It starts
 * with a lower-case noun and never holds a secret.
 */

/** Base of every error thrown on purpose; any other error that reaches the CLI is a bug. */
export abstract class RlvrError extends Error {
  /** Process exit code when the CLI ends on this error. */
  readonly exitCode: number = 1;
}

/** Raised when what the caller asked for cannot be: a bad flag, config file, path or limit. */
export class ConfigError extends RlvrError {
  override readonly name = "ConfigError";
  override readonly exitCode = 2;
}

/**
 * Raised when a file or a record in it breaks its format. Carries where, so that the reader can
 * open the very line.
 */
export class DataError extends RlvrError {
  override readonly name = "DataError";
  override readonly exitCode = 2;
  readonly path: string;
  /** Line of a text file or row of a table, counted from 1; null for the file as a whole. */
  readonly line: number | null;

  constructor(message: string, at: { path: string; line?: number; cause?: unknown }) {
    super(`${at.path}${at.line === undefined ? "" : `:${at.line}`}: ${message}`, {
      cause: at.cause,
    });
    this.path = at.path;
    this.line = at.line ?? null;
  }
}

/** Raised when the sandbox failed, not the program in it. Safe to retry. */
export class SandboxError extends RlvrError {
  override readonly name = "SandboxError";
}

/** Raised when a model or checkpoint directory is incomplete, inconsistent or unsupported. */
export class CheckpointError extends RlvrError {
  override readonly name = "CheckpointError";
  override readonly exitCode = 2;
}

/** Raised when arrays or graph nodes do not fit together. */
export class ShapeError extends RlvrError {
  override readonly name = "ShapeError";
}

/** Raised when a distributed job could not be prepared, started or followed. */
export class LaunchError extends RlvrError {
  override readonly name = "LaunchError";
}
