/**
 * The tests of a problem, made trustworthy: tests that no program can pass are taken out, and a
 * problem may be capped in tests and bytes.
 */
import { randomStream } from "../core/random.js";
import { countTests, type Tests } from "../core/problem.js";
import type { Drop } from "./source.js";

/** Most tests and bytes of tests that a problem keeps; null for no limit. */
export interface TestCaps {
  maxTests: number | null;
  maxTestBytes: number | null;
}

/** Tests taken out of problems that stay. */
export interface RemovedTests {
  truncated: number;
  overCap: number;
}

/** What is left of the tests, or why the problem must be left out. */
export type CleanTests = { tests: Tests; removed: RemovedTests } | { drop: Drop };

/**
 * Takes out truncated tests, then those above the caps. Which tests a cap keeps depends on the seed
 * and the problem's id alone; they stay in their order.
 */
export function cleanTests(
  tests: Tests,
  caps: TestCaps & { seed: number },
  id: () => string,
): CleanTests {
  const total = countTests(tests);
  if (total === 0) return { drop: { reason: "no_tests" } };
  const whole = selectTests(tests, (index) => !isTruncated(tests, index));
  const wholeCount = countTests(whole);
  if (wholeCount === 0) return { drop: { reason: "truncated_output" } };
  const chosen = chooseTests(whole, caps, id);
  if (chosen.size === 0) return { drop: { reason: "tests_too_large" } };
  return {
    tests: selectTests(whole, (index) => chosen.has(index)),
    removed: { truncated: total - wholeCount, overCap: wholeCount - chosen.size },
  };
}

// Codeforces shows long tests cut off after a few hundred characters.
const CUT_LENGTH = 100;

/**
 * True for a text that a web page cut off: three dots that stand alone at its end, or at the end of
 * a long text. A short text may well end in dots ("Loading...").
 */
export function isCutOff(text: string): boolean {
  const trimmed = text.trimEnd();
  if (!trimmed.endsWith("...") && !trimmed.endsWith("…")) return false;
  return trimmed.length >= CUT_LENGTH || /(?:^|\s)(?:\.{3}|…)$/.test(trimmed);
}

function isTruncated(tests: Tests, index: number): boolean {
  if (tests.kind !== "stdio") return false;
  const { input, output } = tests.cases[index];
  return isCutOff(output) || isCutOff(input);
}

function selectTests(tests: Tests, keep: (index: number) => boolean): Tests {
  if (tests.kind === "answer") return tests;
  const cases = (tests.cases as unknown[]).filter((_, index) => keep(index));
  return cases.length === tests.cases.length ? tests : ({ ...tests, cases } as Tests);
}

function chooseTests(
  tests: Tests,
  { maxTests, maxTestBytes, seed }: TestCaps & { seed: number },
  id: () => string,
): Set<number> {
  const all = Array.from({ length: countTests(tests) }, (_, index) => index);
  const isFree = maxTests === null && maxTestBytes === null;
  if (isFree || tests.kind === "answer") return new Set(all);
  const order = randomStream(seed, "tests", id()).shuffle(all);
  const chosen = new Set<number>();
  let bytes = 0;
  for (const index of order) {
    if (maxTests !== null && chosen.size >= maxTests) break;
    const size = Buffer.byteLength(JSON.stringify(tests.cases[index]));
    if (maxTestBytes !== null && bytes + size > maxTestBytes) continue;
    bytes += size;
    chosen.add(index);
  }
  return chosen;
}
