/** Bounded concurrency, and the retry of SandboxError alone. */
import { SandboxError } from "../core/errors.js";

/** Lets a number of tasks run at a time; the others wait in order. */
export class Gate {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(size: number) {
    this.free = size;
  }

  /** Runs the task when its turn has come. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((wake) => this.waiting.push(wake));
    try {
      return await task();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.free++;
      else next();
    }
  }
}

/**
 * Tries again when the sandbox, not the program, has failed.
 *
 * @throws {SandboxError} the last one, when every try failed.
 */
export async function retrySandbox<T>(retries: number, task: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await task();
    } catch (error) {
      if (!(error instanceof SandboxError) || tries >= retries) throw error;
    }
  }
}
