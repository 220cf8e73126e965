/**
 * Decimal numbers as they stand in outputs, compared exactly or within a tolerance, without ever
 * becoming a JavaScript number: a double has 53 bits and test data does not care.
 */

import { trimEnd } from "./trim.js";

/** A finite decimal: value = ±digits · 10^exponent, digits without zeros at either end. */
export interface Decimal {
  isNegative: boolean;
  /** Empty for zero. */
  digits: string;
  exponent: bigint;
}

/**
 * Numbers of printed tokens: optional sign, digits with at most one dot, optional exponent of at
 * most four digits. No underscores, no hexadecimal, no words, ASCII digits only.
 */
const TOKEN = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?$/;

/** A longer token is text: nobody prints a number of more digits where a tolerance applies. */
const MAX_TOKEN = 4096;

/** Reads a token as a number; null when it is none. */
export function parseToken(token: string): Decimal | null {
  return token.length <= MAX_TOKEN && TOKEN.test(token) ? toDecimal(token) : null;
}

/** Reads a text of the form sign, digits, dot, digits, exponent; the caller has checked it. */
export function toDecimal(text: string): Decimal {
  const match = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text)!;
  const [, sign, whole, fraction, exponent] = match;
  const all = (whole + fraction).replace(/^0+/, "");
  const digits = trimEnd(all, /0/);
  const shift = BigInt(exponent ?? "0") - BigInt(fraction.length);
  return {
    isNegative: sign === "-" && digits !== "",
    digits,
    exponent: digits === "" ? 0n : shift + BigInt(all.length - digits.length),
  };
}

/** Says whether two decimals are the same number. */
export function sameDecimal(a: Decimal, b: Decimal): boolean {
  return a.digits === b.digits && a.exponent === b.exponent && a.isNegative === b.isNegative;
}

/**
 * Says whether |actual − expected| ≤ tolerance · max(1, |expected|), computed exactly.
 *
 * Magnitudes are looked at first, so that a printed 1e9999 costs nothing.
 */
export function withinTolerance(actual: Decimal, expected: Decimal, tolerance: number): boolean {
  if (sameDecimal(actual, expected)) return true;
  const limit = tolerance <= 0 ? null : toDecimal(tolerance.toString());
  if (limit === null) return false;
  const near =
    magnitude(actual) <= maxOf(magnitude(expected), 1n) + maxOf(magnitude(limit), 1n) + 1n;
  if (!near) return false;
  // Smaller than any tolerance could tell from zero.
  const shown = magnitude(actual) < magnitude(limit) - 64n ? ZERO : actual;
  const base = [shown, expected, limit].reduce(
    (least, { exponent }) => (exponent < least ? exponent : least),
    0n,
  );
  const one = 10n ** -base;
  const [a, b, t] = [shown, expected, limit].map((value) => scaled(value, base));
  const difference = a > b ? a - b : b - a;
  const size = b < 0n ? -b : b;
  return difference * one <= t * maxOf(size, one);
}

const ZERO: Decimal = { isNegative: false, digits: "", exponent: 0n };

/** Digits before the dot, negative for numbers below 0.1; 0 for zero. */
function magnitude({ digits, exponent }: Decimal): bigint {
  return digits === "" ? 0n : exponent + BigInt(digits.length);
}

function scaled({ isNegative, digits, exponent }: Decimal, base: bigint): bigint {
  const size = digits === "" ? 0n : BigInt(digits) * 10n ** (exponent - base);
  return isNegative ? -size : size;
}

function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
