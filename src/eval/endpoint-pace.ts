/**
 * The pace that a server sets by its Retry-After: all requests wait together, and come back one by
 * one. Times are milliseconds; the clock and the draws are the caller's.
 */

/** What bounds the pauses. */
export interface PaceOptions {
  /** Shortest pause: `Retry-After: 0` of a server that is down would be asked in a loop. */
  shortestMs: number;
  /** Pauses obeyed with nothing served between, added up, after which a pause is refused. */
  patienceMs: number;
}

/**
 * Longest pause obeyed as it is; after it the server is asked anew. A clock that is wrong, or a
 * quota of days, must not hold an evaluation for longer than its patience unasked.
 */
const LONGEST_MS = 300_000;

/** The pauses of one server. */
export class Pace {
  readonly #options: PaceOptions;
  #until = 0;
  #heldMs = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** Holds all requests for as long as the server asks; false when that is beyond the patience. */
  hold(askedMs: number, now: number): boolean {
    const { shortestMs, patienceMs } = this.#options;
    const until = now + Math.min(Math.max(askedMs, shortestMs), LONGEST_MS);
    // Several requests are refused in one pause: what it has been counted for is not counted again.
    const added = Math.max(0, until - Math.max(now, this.#until));
    if (this.#heldMs + added > patienceMs) return false;
    this.#heldMs += added;
    this.#until = Math.max(this.#until, until);
    return true;
  }

  /**
   * How long one request is to wait by itself; `draw` in [0, 1) is its place behind the pause. Who
   * wakes asks again, as the first to come back may have been told to wait once more.
   */
  waitMs(now: number, draw: number): number {
    const left = this.#until - now;
    return left > 0 ? left + draw * this.#options.shortestMs : 0;
  }

  /** Says that the server has served a request. */
  served(): void {
    this.#heldMs = 0;
  }
}
