/** All families of all themes, in one table. */
import { ARITHMETIC } from "./arithmetic.js";
import { CONDITIONS } from "./conditions.js";
import { COUNTING } from "./counting.js";
import { DIGITS } from "./digits.js";
import type { Family, Theme } from "./family.js";
import { LISTS } from "./lists.js";
import { LOOPS } from "./loops.js";
import { MATRICES } from "./matrices.js";
import { PARSING } from "./parsing.js";
import { PRIMES } from "./primes.js";
import { STRINGS } from "./strings.js";

/** The families of each theme. */
export const FAMILIES_OF: Record<Theme, Family[]> = {
  arithmetic: ARITHMETIC,
  conditions: CONDITIONS,
  counting: COUNTING,
  digits: DIGITS,
  lists: LISTS,
  loops: LOOPS,
  matrices: MATRICES,
  parsing: PARSING,
  primes: PRIMES,
  strings: STRINGS,
};

/** Every family with its theme. */
export const FAMILIES: { family: Family; theme: Theme }[] = Object.entries(FAMILIES_OF).flatMap(
  ([theme, families]) => families.map((family) => ({ family, theme: theme as Theme })),
);
