/**
 * Contamination: training rows that stand in a benchmark, in whatever words.
 *
 * A row is held against every problem of the benchmarks in four ways, and the first that finds one
 * is reported:
 *
 *     hash    the same words
 *     ngram   13 words in a row in common (a shorter task: all its words in a row), beyond what
 *             other benchmark problems share too, and at least a tenth of the problem's
 *     near    most of the problem's shingles, in which names of code do not count
 *     tests   half of the tests, and at least two, with the same values
 *
 * Source of the 13-gram rule: Brown et al. 2020, appendix C, https://arxiv.org/abs/2005.14165
 */
import type { Likeness } from "./likeness.js";
import { sharedTests } from "./likeness.js";
import type { Drop } from "./source.js";

/** The ways a row is found. */
export type ContaminationMethod = "hash" | "ngram" | "near" | "tests";

const GRAM_WORDS = 13;
// A task of fewer words than this says too little to be found by its words.
const LEAST_GRAM_WORDS = 6;
const GRAM_SHARE = 0.1;
const NEAR_SHARE = 0.8;
const LEAST_SHINGLES = 8;
// A shingle of many problems is a phrase, not a task.
const MOST_POSTINGS = 40;
const SAME_TESTS = 0.5;

/** One problem of a benchmark. */
export interface BenchmarkProblem {
  benchmark: string;
  id: string;
  likeness: Likeness;
}

/** A row's counterpart. */
export interface Contamination {
  problem: BenchmarkProblem;
  method: ContaminationMethod;
}

/** Says a finding as a reason to leave the row out. */
export function contaminationDrop({ problem, method }: Contamination): Drop {
  return { reason: "contaminated", detail: `${problem.id} by ${method}` };
}

/** Finds rows in benchmarks. */
export class ContaminationIndex {
  readonly #problems: readonly BenchmarkProblem[];
  readonly #byKey = new Map<string, number>();
  readonly #byGram = new Map<string, number[]>();
  /** Tasks too short for a gram, by how they start. */
  readonly #byStart = new Map<string, number[]>();
  readonly #byShingle = new Map<number, number[]>();
  readonly #byTest = new Map<string, number[]>();
  /** Per problem, how many of its grams and shingles are its own. */
  readonly #grams: number[];
  readonly #shingles: number[];

  constructor(problems: readonly BenchmarkProblem[]) {
    this.#problems = problems;
    for (const [index, { likeness }] of problems.entries()) {
      this.#byKey.set(likeness.key, index);
      const words = likeness.words();
      if (words.length >= GRAM_WORDS) post(this.#byGram, windows(words, GRAM_WORDS), index);
      else post(this.#byStart, windows(words, LEAST_GRAM_WORDS).slice(0, 1), index);
      post(this.#byShingle, likeness.shingles, index);
      post(this.#byTest, likeness.tests, index);
    }
    // The same task in two benchmarks must stay findable, so a gram may have two owners.
    prune(this.#byGram, 2);
    prune(this.#byShingle, MOST_POSTINGS);
    this.#grams = ownCounts(this.#byGram, problems.length);
    this.#shingles = ownCounts(this.#byShingle, problems.length);
  }

  /** Finds the benchmark problem that a row is; null if none. */
  find(row: Likeness): Contamination | null {
    const found = (index: number, method: ContaminationMethod) => ({
      problem: this.#problems[index],
      method,
    });
    const same = this.#byKey.get(row.key);
    if (same !== undefined) return found(same, "hash");
    const gram = this.#bestGram(row);
    if (gram !== null) return found(gram, "ngram");
    const near = this.#nearest(row);
    if (near !== null) return found(near, "near");
    const tested = this.#sameTests(row);
    return tested === null ? null : found(tested, "tests");
  }

  #bestGram(row: Likeness): number | null {
    const words = row.words();
    const counts = countPostings(this.#byGram, new Set(windows(words, GRAM_WORDS)));
    const long = best(counts, (index, count) => {
      return count >= Math.max(1, GRAM_SHARE * this.#grams[index]);
    });
    return long ?? this.#shortTask(words);
  }

  /** A short task all of whose words stand in the row, in a row. */
  #shortTask(words: string[]): number | null {
    const starts = windows(words, LEAST_GRAM_WORDS);
    for (const [at, start] of starts.entries()) {
      for (const index of this.#byStart.get(start) ?? []) {
        const task = this.#problems[index].likeness.words();
        if (task.every((word, offset) => words[at + offset] === word)) return index;
      }
    }
    return null;
  }

  #nearest({ shingles }: Likeness): number | null {
    const counts = countPostings(this.#byShingle, shingles);
    return best(counts, (index, count) => {
      const own = this.#shingles[index];
      return own >= LEAST_SHINGLES && count >= NEAR_SHARE * own;
    });
  }

  #sameTests({ tests }: Likeness): number | null {
    const counts = countPostings(this.#byTest, new Set(tests));
    return best(
      counts,
      (index) => sharedTests(tests, this.#problems[index].likeness.tests) >= SAME_TESTS,
    );
  }
}

function windows(words: string[], length: number): string[] {
  const grams: string[] = [];
  for (let i = 0; i + length <= words.length; i++) grams.push(words.slice(i, i + length).join(" "));
  return grams;
}

function post<K>(index: Map<K, number[]>, keys: Iterable<K>, problem: number): void {
  for (const key of new Set(keys)) {
    const postings = index.get(key);
    if (postings === undefined) index.set(key, [problem]);
    else postings.push(problem);
  }
}

function prune<K>(index: Map<K, number[]>, most: number): void {
  for (const [key, postings] of index) if (postings.length > most) index.delete(key);
}

function ownCounts<K>(index: Map<K, number[]>, problems: number): number[] {
  const counts = new Array<number>(problems).fill(0);
  for (const postings of index.values()) for (const problem of postings) counts[problem]++;
  return counts;
}

function countPostings<K>(index: Map<K, number[]>, keys: Iterable<K>): Map<number, number> {
  const counts = new Map<number, number>();
  for (const key of keys) {
    for (const problem of index.get(key) ?? []) {
      counts.set(problem, (counts.get(problem) ?? 0) + 1);
    }
  }
  return counts;
}

/** The problem with the highest count among those that are accepted; the first of equals. */
function best(
  counts: Map<number, number>,
  accepts: (index: number, count: number) => boolean,
): number | null {
  let winner: number | null = null;
  for (const [index, count] of counts) {
    if (!accepts(index, count)) continue;
    const lead = winner === null ? -1 : (counts.get(winner) ?? 0);
    if (count > lead || (count === lead && winner !== null && index < winner)) winner = index;
  }
  return winner;
}
