/**
 * The family: a kind of task that many problems are drawn from, with programs that solve it and
 * programs that a beginner would write instead.
 *
 * A body is a program without its reading and its printing: lines of Python of which the last is
 * the expression to print or return. A leading `*` prints a list with blanks between its items.
 * `{k}` stands for the constant of the problem, in bodies and in wordings.
 */
import type { InputName } from "./inputs.js";

/** What a program is given or gives back. */
export type Value = number | string | number[] | number[][];

/** The chapters of the problem set. */
export const THEMES = [
  "arithmetic",
  "conditions",
  "counting",
  "digits",
  "lists",
  "loops",
  "matrices",
  "parsing",
  "primes",
  "strings",
] as const;

/** One of the chapters. */
export type Theme = (typeof THEMES)[number];

/** What the constant of a family may be: integers from low to high, or letters. */
export type ConstantRange = { low: number; high: number } | { letters: string };

/** One family of problems. `Arguments` is the tuple of values that its input kinds carry. */
export interface Family<Arguments extends Value[] = Value[]> {
  name: string;
  /** Ways the input is given; each is a variant of the family. */
  inputs: InputName[];
  /** Wordings of what is asked, as noun phrases that follow `print` or `returns`. */
  asks: string[];
  /** Bodies of right programs; the first is the reference. */
  right: string[];
  /** Bodies of wrong programs; the first is the error that most beginners make. */
  wrong: string[];
  /** The oracle, written independently of the bodies. */
  answer: (values: Arguments, constant: Constant) => Value;
  /** The constant `{k}`; absent in families without one. */
  constant?: ConstantRange;
  /** Values that every problem of the family is tested with. */
  edges?: (constant: Constant) => Arguments[];
  /** Bounds of integers drawn for the other tests; the input kind's own when absent. */
  bounds?: [number, number];
  /** True where functions are asked for in some of the problems. */
  callable?: true;
  /** True where a beginner is more often right than wrong. */
  easy?: true;
  /** True for the families that nothing is ever trained on. */
  transfer?: true;
}

/** The constant of a problem as number and as text; `n` is NaN for a letter. */
export interface Constant {
  n: number;
  text: string;
}

/** States a family with typed values; the table that it goes into knows no types. */
export function family<Arguments extends Value[]>(definition: Family<Arguments>): Family {
  return definition as unknown as Family;
}

/** Answers yes or no. */
export const yesNo = (claim: boolean) => (claim ? "yes" : "no");

/** Adds numbers up. */
export const total = (numbers: number[]) => numbers.reduce((sum, n) => sum + n, 0);

/** Counts the items for which a claim holds. */
export const countIf = <T>(items: T[], claim: (item: T) => boolean) => items.filter(claim).length;

/** The integers from first to last, both included. */
export const span = (first: number, last: number) =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
