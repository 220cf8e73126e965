/**
 * A seeded sample of a stream, in the memory of the sample.
 *
 * Each row's place in the draw is a function of (seed, split, row number), so the sample does not
 * depend on what else was left out before it, and a larger sample contains the smaller one.
 */
import { randomStream } from "../core/random.js";

/** Something drawn from the row `line`. */
interface Drawn<T> {
  key: number;
  line: number;
  item: T;
}

/** Collects items and keeps those that come first in the draw. */
export class Sample<T> {
  readonly #capacity: number;
  readonly #name: [number, string];
  #drawn: Drawn<T>[] = [];
  /** Row numbers of items that no longer fit. */
  readonly left: number[] = [];

  constructor(capacity: number, seed: number, split: string) {
    this.#capacity = capacity;
    this.#name = [seed, split];
  }

  /** Offers the item of a row. */
  offer(line: number, item: T): void {
    const [seed, split] = this.#name;
    this.#drawn.push({ key: randomStream(seed, "sample", split, line).next(), line, item });
    // Sorting a little more than the sample now and then is cheaper than keeping it sorted.
    if (this.#drawn.length >= 1.25 * this.#capacity + 16) this.#cut();
  }

  /** The sample in the order of the draw, which is a random order of the rows. */
  items(): { line: number; item: T }[] {
    this.#cut();
    return this.#drawn.map(({ line, item }) => ({ line, item }));
  }

  #cut(): void {
    this.#drawn.sort((a, b) => a.key - b.key || a.line - b.line);
    for (const { line } of this.#drawn.slice(this.#capacity)) this.left.push(line);
    this.#drawn.length = Math.min(this.#drawn.length, this.#capacity);
  }
}
