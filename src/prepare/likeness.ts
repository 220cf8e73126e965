/**
 * When two tasks are the same task: measures that see through spacing, letter case, punctuation,
 * renamed variables and another form of the tests.
 *
 * Words are runs of letters, digits and underscores. A shingle is three words in a row, hashed to 32
 * bits; in shingles a word that looks like a name in code stands for any name.
 */
import type { Tests } from "../core/problem.js";
import type { Draft } from "./source.js";

const SHINGLE_WORDS = 3;

/** What of a draft is compared. */
export interface Likeness {
  /** The words of the task, in lower case; worked out when asked for. */
  words: () => string[];
  /** Equal for tasks whose words are equal. */
  key: string;
  /** Hashes of the shingles, each once, in ascending order. */
  shingles: Uint32Array;
  /** One per test: its values without names and punctuation; the short ones are left out. */
  tests: string[];
}

/** Works out what of a draft is compared. */
export function likenessOf(draft: Draft): Likeness {
  const text = draft.task ?? draft.statement;
  const plain = /[^\0-\x7f]/.test(text) ? text.normalize("NFKC") : text;
  const words = hashWords(plain);
  return {
    words: () => plain.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [],
    key: keyOf(words.hashes),
    shingles: shinglesOf(words.blind),
    tests: testValues(draft.tests),
  };
}

/** The words of a text as hashes; in `blind` all names of code have the same. */
function hashWords(text: string): { hashes: number[]; blind: number[] } {
  const hashes: number[] = [];
  const blind: number[] = [];
  for (let at = 0; at < text.length;) {
    let hash = FNV_START;
    // What kinds of character the word holds: a name in code mixes them.
    let kinds = 0;
    let isCamel = false;
    const start = at;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const kind = kindOf(code);
      if (kind === 0) break;
      if (kind === UPPER && at > start && kindOf(text.charCodeAt(at - 1)) === LOWER) isCamel = true;
      kinds |= kind;
      hash = Math.imul(hash ^ (kind === UPPER ? code | 0x20 : code), FNV_PRIME);
    }
    if (at === start) {
      at++;
      continue;
    }
    const isLetters = (kinds & (LOWER | UPPER)) !== 0;
    const isMixed = isLetters && (kinds & (DIGIT | SCORE)) !== 0;
    const isName = isMixed || isCamel || (isLetters && at - start === 1);
    hashes.push(hash);
    blind.push(isName ? 0 : hash);
  }
  return { hashes, blind };
}

const [LOWER, UPPER, DIGIT, SCORE] = [1, 2, 4, 8];
// FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/
const [FNV_START, FNV_PRIME] = [0x811c9dc5, 0x01000193];

/** What an UTF-16 unit is in a word; 0 for what stands between words. */
function kindOf(code: number): number {
  if (code < 128) {
    if (code >= 97 && code <= 122) return LOWER;
    if (code >= 65 && code <= 90) return UPPER;
    if (code >= 48 && code <= 57) return DIGIT;
    return code === 95 ? SCORE : 0;
  }
  return /[\p{L}\p{N}\ud800-\udfff]/u.test(String.fromCharCode(code)) ? LOWER : 0;
}

/** 64 bits of hash over the words in order. */
function keyOf(hashes: number[]): string {
  let [high, low] = [hashes.length, 0x9e3779b9];
  for (const hash of hashes) {
    high = mix(high ^ hash);
    low = mix(Math.imul(low, 31) + hash);
  }
  return `${high.toString(36)}.${low.toString(36)}`;
}

function shinglesOf(words: number[]): Uint32Array {
  const found = new Set<number>();
  for (let i = 0; i + SHINGLE_WORDS <= words.length; i++) {
    let hash = 0;
    for (let j = i; j < i + SHINGLE_WORDS; j++) hash = mix(hash ^ words[j]);
    found.add(hash);
  }
  return Uint32Array.from(found).sort();
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
// The shortest tests, which are those of the statement, decide as well as all of them would.
const MOST_TESTS = 8;
const MOST_CHARACTERS = 200;

/** The values of each test, e.g. `3 4 5 6 5 7 4 10 4 5` for similar((3,4,5,6),(5,7,4,10)) == (4,5). */
function testValues(tests: Tests): string[] {
  const name = tests.kind === "call" || tests.kind === "assert" ? tests.entryPoint : null;
  const values = shortestTests(tests).map((text) =>
    (text.match(/-?\d+(?:\.\d+)?|\p{L}[\p{L}\d_]*/gu) ?? [])
      .filter((word) => word !== name && !TEST_WORDS.has(word))
      .map((word) => word.toLowerCase()),
  );
  return values.filter((list) => list.length >= LEAST_VALUES).map((list) => list.join(" "));
}

/** The texts of the shortest tests, in an order that does not depend on the order of the tests. */
function shortestTests(tests: Tests): string[] {
  const sides = testSides(tests);
  const sizes = sides.map(([left, right]) => left.length + right.length);
  const order = [...sides.keys()].sort((a, b) => sizes[a] - sizes[b]).slice(0, MOST_TESTS);
  return order.map((index) => {
    const [left, right] = sides[index];
    return `${left.slice(0, MOST_CHARACTERS)} ${right.slice(0, MOST_CHARACTERS)}`;
  });
}

function testSides(tests: Tests): [string, string][] {
  switch (tests.kind) {
    case "stdio":
      return tests.cases.map(({ input, output }) => [input, output]);
    case "call":
      return tests.cases.map(({ args, expected }) => [args, expected]);
    case "assert":
      // HumanEval's one test function holds many asserts.
      return tests.cases.flatMap((code) =>
        (code.match(/^\s*assert\b.*$/gm) ?? []).map((line): [string, string] => [line, ""]),
      );
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
