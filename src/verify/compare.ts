/** Printed output against expected output, by the problem's rule. */
import type { CompareRule } from "../core/problem.js";
import { COMPAT_MODES } from "./compare-compat.js";
import {
  compareExact,
  compareLines,
  compareTokens,
  type Comparison,
  type ResolvedRule,
} from "./compare-tokens.js";

/** What holds where neither the problem nor its source says anything. */
const DEFAULT_RULE: ResolvedRule = {
  mode: "tokens",
  tolerance: 1e-6,
  ignoreCase: "none",
  unordered: "none",
};

/**
 * Rules of data sets and judges, by the problem's source: code_contests lower-cases answers and
 * allows 1e-5; Kattis takes words in any case.
 */
const SOURCE_RULES: Record<string, CompareRule> = {
  codecontests: { ignoreCase: "words", tolerance: 1e-5 },
  code_contests: { ignoreCase: "words", tolerance: 1e-5 },
  kattis: { ignoreCase: "words" },
};

/** Completes a problem's rule: its own fields, then its source's, then the default. */
export function resolveRule(rule: CompareRule | undefined, source: string): ResolvedRule {
  const bySource = Object.hasOwn(SOURCE_RULES, source) ? SOURCE_RULES[source] : {};
  return { ...DEFAULT_RULE, ...bySource, ...rule } as ResolvedRule;
}

/** Compares the bytes that a program printed with the bytes that were expected. */
export function compareOutput(
  expected: Uint8Array,
  actual: Uint8Array,
  rule: ResolvedRule,
): Comparison {
  switch (rule.mode) {
    case "tokens":
      return compareTokens(expected, actual, rule);
    case "lines":
      return compareLines(expected, actual, rule);
    case "exact":
      return compareExact(expected, actual);
    case "verl":
    case "prime":
    case "lcb":
    case "sandboxfusion":
    case "codecontests":
    case "dmoj":
      return COMPAT_MODES[rule.mode](expected, actual)
        ? { isEqual: true }
        : { isEqual: false, reason: `not equal by the rules of ${rule.mode}` };
  }
}
