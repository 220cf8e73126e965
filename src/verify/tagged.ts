/** The tagged form of python/sandbox/calls.py, in which values travel, and how its scalars read. */

/** A decoded message node: null, a boolean, a tagged string, or an array that starts with a tag. */
export type Tagged = null | boolean | string | Tagged[];

/** Options of the comparison. */
export interface ValueRule {
  tolerance: number;
  /** Compare as Python's `==` does after turning tuples into lists: no tolerance, True is 1. */
  isPythonEqual: boolean;
  /** The order of the outermost list is free. */
  isUnordered: boolean;
}

/** A key as JSON would write it; null for one that JSON cannot write. */
export function keyText(key: Tagged): string | null {
  if (key === null) return "null";
  if (typeof key === "boolean") return String(key);
  return typeof key === "string" ? key.slice(1) : null;
}

/** Reads the text of a float: a double in Python, hence exactly a double here. */
export function doubleOf(text: string): number {
  if (/nan/i.test(text)) return NaN;
  if (/inf/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  return Number(text);
}

/**
 * An integer as Python writes it. Integers are compared as texts: reading one of a million digits
 * as a number takes seconds.
 */
export function plainInteger(text: string): string {
  const [, sign, digits] = /^([+-]?)0*(\d*)$/.exec(text)!;
  if (digits === "") return "0";
  return sign === "-" ? `-${digits}` : digits;
}
