/**
 * When two tasks are the same task: measures that see through spacing, letter case, punctuation,
 * renamed variables and another form of the tests.
 *
 * Words are runs of letters, digits and underscores. A shingle is three words in a row, hashed to 32
 * bits; in shingles a word that looks like a name in code stands for any name.
 */
import { createHash } from "node:crypto";
import type { Tests } from "../core/problem.js";
import type { Draft } from "./source.js";

const SHINGLE_WORDS = 3;

/** What of a draft is compared. */
export interface Likeness {
  /** The words of the task, in lower case. */
  words: string[];
  /** Equal for tasks whose words are equal. */
  key: string;
  /** Hashes of the shingles, each once, in ascending order. */
  shingles: Uint32Array;
  /** One per test: its values without names and punctuation; the short ones are left out. */
  tests: string[];
}

/** Works out what of a draft is compared. */
export function likenessOf(draft: Draft): Likeness {
  const raw = wordsOf(draft.task ?? draft.statement);
  const words = raw.map((word) => word.toLowerCase());
  return {
    words,
    key: createHash("sha256").update(words.join(" ")).digest("base64url").slice(0, 22),
    shingles: shinglesOf(raw.map((word) => (isCodeName(word) ? "#" : word.toLowerCase()))),
    tests: testValues(draft.tests),
  };
}

function wordsOf(text: string): string[] {
  return text.normalize("NFKC").match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/** One letter, snake_case, camelCase, or letters mixed with digits. */
function isCodeName(word: string): boolean {
  return /^\p{L}$|[^_]_|\p{Ll}\p{Lu}|\p{L}\d|\d\p{L}/u.test(word);
}

function shinglesOf(words: string[]): Uint32Array {
  const hashes = words.map(hashWord);
  const found = new Set<number>();
  for (let i = 0; i + SHINGLE_WORDS <= hashes.length; i++) {
    let hash = 0;
    for (let j = i; j < i + SHINGLE_WORDS; j++) hash = mix(hash ^ hashes[j]);
    found.add(hash);
  }
  return Uint32Array.from(found).sort();
}

/** FNV-1a over UTF-16 units. */
function hashWord(word: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** MurmurHash3's finaliser. */
function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Words of test code that say nothing of the values. */
const TEST_WORDS = new Set([
  "assert",
  "candidate",
  "set",
  "tuple",
  "list",
  "sorted",
  "math",
  "abs",
]);
// Fewer values than this are shared by chance: f(5) == 120.
const LEAST_VALUES = 3;
// Comparing more tests, or longer ones, decides nothing that these do not.
const MOST_TESTS = 64;
const MOST_CHARACTERS = 2000;

/** The values of each test, e.g. `3 4 5 6 5 7 4 10 4 5` for similar((3,4,5,6),(5,7,4,10)) == (4,5). */
function testValues(tests: Tests): string[] {
  const texts = testTexts(tests).slice(0, MOST_TESTS);
  const name = tests.kind === "call" || tests.kind === "assert" ? tests.entryPoint : null;
  const values = texts.map((text) =>
    (text.slice(0, MOST_CHARACTERS).match(/-?\d+(?:\.\d+)?|\p{L}[\p{L}\d_]*/gu) ?? [])
      .filter((word) => word !== name && !TEST_WORDS.has(word))
      .map((word) => word.toLowerCase()),
  );
  return values.filter((list) => list.length >= LEAST_VALUES).map((list) => list.join(" "));
}

function testTexts(tests: Tests): string[] {
  switch (tests.kind) {
    case "stdio":
      return tests.cases.map(({ input, output }) => `${input} ${output}`);
    case "call":
      return tests.cases.map(({ args, expected }) => `${args} ${expected}`);
    case "assert":
      // HumanEval's one test function holds many asserts.
      return tests.cases.flatMap((code) => code.match(/^\s*assert\b.*$/gm) ?? []);
    case "answer":
      return [];
  }
}

/** Share of all shingles of two tasks that both have, in [0, 1]. */
export function jaccard(a: Uint32Array, b: Uint32Array): number {
  const both = countShared(a, b);
  const all = a.length + b.length - both;
  return all === 0 ? 0 : both / all;
}

function countShared(a: Uint32Array, b: Uint32Array): number {
  let shared = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) shared++;
    const [left, right] = [a[i], b[j]];
    if (left <= right) i++;
    if (right <= left) j++;
  }
  return shared;
}

/** Share of the smaller set of tests that the other set has too, in [0, 1]; 0 for fewer than two. */
export function sharedTests(a: readonly string[], b: readonly string[]): number {
  const [few, many] = a.length <= b.length ? [a, b] : [b, a];
  const known = new Set(many);
  const shared = new Set(few.filter((values) => known.has(values)));
  return shared.size < 2 ? 0 : shared.size / new Set(few).size;
}
