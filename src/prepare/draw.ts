/**
 * The rows of a split in the order of their draw, in the memory of one window of them.
 *
 * The first window is drawn while rows are screened. Of the rows beyond it only the numbers are
 * kept: whoever asks for another window pays for it with another reading of the file, in which the
 * rows that come next in the draw are built again. The order does not depend on the window.
 */
import type { Input } from "./inputs.js";
import { Sample } from "./sample.js";
import type { Candidate, Screening } from "./screening.js";

/** A candidate with the number of its row. */
export interface DrawnRow {
  line: number;
  item: Candidate;
}

/** How rows are drawn. */
export interface DrawOptions {
  screening: Screening;
  seed: number;
  /** Rows that are held at a time. */
  window: number;
  signal?: AbortSignal;
}

/** Takes the rows of a split and hands them out in the order of the draw. */
export class Draw {
  readonly #input: Pick<Input, "split" | "source" | "file">;
  readonly #options: DrawOptions;
  #sample: Sample<Candidate> | null;
  #left: number[] = [];
  /** Rows that were offered. */
  size = 0;

  constructor(input: Pick<Input, "split" | "source" | "file">, options: DrawOptions) {
    this.#input = input;
    this.#options = options;
    this.#sample = this.#sampleOf<Candidate>();
  }

  /** Offers the candidate of a row; not after the first window was taken. */
  offer(line: number, candidate: Candidate): void {
    this.#sample!.offer(line, candidate);
    this.size++;
  }

  /** The next window in the order of the draw; empty when every row has been in one. */
  async next(): Promise<DrawnRow[]> {
    if (this.#sample === null) return this.#left.length === 0 ? [] : this.#readAgain();
    const drawn = this.#sample.items();
    this.#left = this.#sample.left;
    this.#sample = null;
    return drawn;
  }

  /** Numbers of the rows that were in no window yet, ascending. */
  left(): number[] {
    return [...this.#left].sort((a, b) => a - b);
  }

  async #readAgain(): Promise<DrawnRow[]> {
    const { file, source } = this.#input;
    const { screening, signal } = this.#options;
    const numbers = this.#sampleOf<null>();
    for (const line of this.#left) numbers.offer(line, null);
    const order = numbers.items().map(({ line }) => line);
    const wanted = new Set(order);
    const found = new Map<number, Candidate>();
    for await (const { rows } of file.read(source.where)) {
      signal?.throwIfAborted();
      for (const { line, value } of rows) {
        if (wanted.has(line)) found.set(line, screening.rebuild(this.#input, line, value));
      }
      if (found.size === wanted.size) break;
    }
    this.#left = numbers.left;
    return order.map((line) => ({ line, item: found.get(line)! }));
  }

  #sampleOf<T>(): Sample<T> {
    return new Sample<T>(this.#options.window, this.#options.seed, this.#input.split);
  }
}
