/**
 * Duplicates: rows that are the same task as an earlier row, in this file or in validation.
 *
 * The same task is one with the same words; nearly the same is one whose shingles agree to 95 %, or
 * to 50 % with four fifths of the tests in common. Text alone must agree that far because tasks of one
 * family differ in a word ("largest", "smallest"); the tests tell those apart.
 *
 * Neighbours are found by MinHash and locality-sensitive hashing (Broder 1997): 16 bands of 4 rows
 * find a pair that agrees to 50 % with probability 0.64, to 80 % with 0.9998.
 */
import { randomStream } from "../core/random.js";
import { jaccard, type Likeness, sharedTests } from "./likeness.js";
import type { Drop, Split } from "./source.js";

const BANDS = 16;
const ROWS = 4;
const SAME_TEXT = 0.95;
const ALIKE_TEXT = 0.5;
const SAME_TESTS = 0.8;

/** How far duplicates are looked for. */
export type DedupeMode = "off" | "exact" | "near";

interface Known {
  split: Split;
  line: number;
  likeness: Likeness;
}

/** Remembers rows and finds later ones that are the same. */
export class Deduper {
  readonly #mode: DedupeMode;
  readonly #byKey = new Map<string, { split: Split; line: number }>();
  readonly #byBand = new Map<number, Known[]>();
  readonly #factors: Uint32Array;

  constructor(mode: DedupeMode) {
    this.#mode = mode;
    const random = randomStream("minhash");
    // Odd factors, so that multiplying permutes the 32-bit numbers.
    this.#factors = Uint32Array.from(
      { length: 2 * BANDS * ROWS },
      (_, i) => random.integer(2 ** 32) | ((i + 1) % 2),
    );
  }

  /** Answers why a row is a duplicate; null if it is none, and remembers it then. */
  check(likeness: Likeness, split: Split, line: number): Drop | null {
    if (this.#mode === "off") return null;
    const same = this.#byKey.get(likeness.key);
    if (same !== undefined) return dropOf("duplicate", split, same);
    const bands = this.#mode === "near" ? this.#bandsOf(likeness.shingles) : [];
    const near = this.#nearest(likeness, bands);
    if (near !== null) return dropOf("near_duplicate", split, near);
    this.#byKey.set(likeness.key, { split, line });
    const known: Known = { split, line, likeness: { ...likeness, words: () => [] } };
    for (const band of bands) {
      const rows = this.#byBand.get(band);
      if (rows === undefined) this.#byBand.set(band, [known]);
      else rows.push(known);
    }
    return null;
  }

  #nearest(likeness: Likeness, bands: number[]): Known | null {
    const seen = new Set<Known>();
    for (const band of bands) {
      for (const known of this.#byBand.get(band) ?? []) {
        if (seen.has(known)) continue;
        seen.add(known);
        if (isNear(likeness, known.likeness)) return known;
      }
    }
    return null;
  }

  /** The MinHash signature, cut into bands, each hashed to one number. */
  #bandsOf(shingles: Uint32Array): number[] {
    if (shingles.length === 0) return [];
    const bands: number[] = [];
    for (let band = 0; band < BANDS; band++) {
      let hash = band;
      for (let row = 0; row < ROWS; row++) {
        const at = 2 * (band * ROWS + row);
        hash = Math.imul(hash ^ this.#minimum(shingles, at), 0x9e3779b1);
        hash ^= hash >>> 15;
      }
      bands.push((hash >>> 0) * BANDS + band);
    }
    return bands;
  }

  #minimum(shingles: Uint32Array, at: number): number {
    const factor = this.#factors[at];
    const offset = this.#factors[at + 1];
    let least = 0xffffffff;
    for (const shingle of shingles) {
      const product = Math.imul(shingle ^ offset, factor);
      const hash = (product ^ (product >>> 15)) >>> 0;
      if (hash < least) least = hash;
    }
    return least;
  }
}

function isNear(a: Likeness, b: Likeness): boolean {
  const text = jaccard(a.shingles, b.shingles);
  if (text >= SAME_TEXT) return true;
  return text >= ALIKE_TEXT && sharedTests(a.tests, b.tests) >= SAME_TESTS;
}

function dropOf(
  reason: "duplicate" | "near_duplicate",
  split: Split,
  known: { split: Split; line: number },
): Drop {
  if (known.split === split) return { reason, detail: `row ${known.line}` };
  return { reason: `${reason}_of_validation`, detail: `validation row ${known.line}` };
}
