/** Comparison of numbers for the areas of training. It is no area: no case bears its name. */

/** Null when the numbers agree within the tolerance, else what differs. */
export function differ(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance = 1e-6,
): string | null {
  const a = Array.from(actual);
  const e = Array.from(expected);
  const agree = a.length === e.length && a.every((value, i) => Math.abs(value - e[i]) <= tolerance);
  return agree ? null : `expected ${e.join(", ")}, got ${a.join(", ")}`;
}
