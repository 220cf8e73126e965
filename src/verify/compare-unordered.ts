/**
 * Parts of an output in any order: lines or tokens that find partners one to one.
 *
 * Equality has a tolerance, so that it is no equivalence and a sorted order alone does not decide:
 * numbers that are equal may sort differently on the two sides. Sorting by value finds most
 * partners; where it does not, a matching in the graph of equal parts does (Kuhn's algorithm).
 */
import { parseToken } from "./decimal.js";

/** What is compared: each part is its tokens. */
export interface UnorderedParts {
  expected: string[][];
  actual: string[][];
  isEqual: (expected: string, actual: string) => boolean;
  /** A token in the letter case in which it is compared. */
  fold: (token: string) => string;
}

/** Most parts whose every pair is looked at; with more, only those that sorting leaves over. */
const MOST_PARTS = 1000;

/** Finds an expected part without a partner and the part in its place; null when all have one. */
export function findUnmatched(parts: UnorderedParts): { wanted: string[]; got: string[] } | null {
  const { expected, actual, isEqual, fold } = parts;
  const equal = (a: string[], b: string[]) =>
    a.length === b.length && a.every((token, i) => isEqual(token, b[i]));
  const [want, have] = [sorted(expected, fold), sorted(actual, fold)];
  const isLeft = want.map((part, i) => !equal(part, have[i]));
  const first = isLeft.indexOf(true);
  if (first === -1) return null;
  // Those that sorting leaves over come first: one without any partner ends the search.
  const left = <T>(some: T[]) => some.filter((_, i) => isLeft[i]);
  const rest = <T>(some: T[]) => some.filter((_, i) => !isLeft[i]);
  const order = <T>(some: T[]) =>
    some.length > MOST_PARTS ? left(some) : [...left(some), ...rest(some)];
  const [wanted, got] = [order(want), order(have)];
  if (wanted.length > MOST_PARTS) return { wanted: want[first], got: have[first] };
  const lone = findLone(wanted, got, equal);
  return lone === null ? null : { wanted: wanted[lone], got: have[first] };
}

/** Sorts by the parts' tokens, numbers by their value and before text. */
function sorted(parts: string[][], fold: (token: string) => string): string[][] {
  const keyed = parts.map((part) => ({ part, key: part.map((token) => keyOf(token, fold)) }));
  keyed.sort((a, b) => {
    for (let i = 0; i < Math.min(a.key.length, b.key.length); i++) {
      const order = compareKeys(a.key[i], b.key[i]);
      if (order !== 0) return order;
    }
    return a.key.length - b.key.length;
  });
  return keyed.map(({ part }) => part);
}

interface Key {
  /** NaN for text. */
  value: number;
  text: string;
}

function keyOf(token: string, fold: (token: string) => string): Key {
  const value = parseToken(token) === null ? NaN : Number(token);
  return { value, text: fold(token) };
}

function compareKeys(a: Key, b: Key): number {
  if (a.value < b.value) return -1;
  if (a.value > b.value) return 1;
  if (Number.isNaN(a.value) !== Number.isNaN(b.value)) return Number.isNaN(a.value) ? 1 : -1;
  // Equal numbers may be written differently: what follows them in the line decides.
  if (!Number.isNaN(a.value)) return 0;
  return a.text < b.text ? -1 : a.text > b.text ? 1 : 0;
}

/** Kuhn's algorithm; answers the first part that no matching reaches, or null. */
function findLone(
  wanted: string[][],
  got: string[][],
  equal: (a: string[], b: string[]) => boolean,
): number | null {
  const partners = wanted.map((part) => got.flatMap((other, i) => (equal(part, other) ? [i] : [])));
  const takenBy = new Array<number>(got.length).fill(-1);
  const place = (index: number, seen: Set<number>): boolean => {
    for (const at of partners[index]) {
      if (seen.has(at)) continue;
      seen.add(at);
      if (takenBy[at] === -1 || place(takenBy[at], seen)) {
        takenBy[at] = index;
        return true;
      }
    }
    return false;
  };
  const lone = partners.findIndex((some, index) => some.length === 0 || !place(index, new Set()));
  return lone === -1 ? null : lone;
}
