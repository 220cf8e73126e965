/**
 * Forty-six pairs of expected and printed output with the answer of seven judges, collected by
 * running the other judges' own code; `tokens` and `lines` are ours.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { CompareMode } from "../src/core/problem.js";
import { compareOutput, resolveRule } from "../src/verify/compare.js";

type Vector = { name: string; expected: string; actual: string } & Partial<
  Record<CompareMode | "tokensIgnoringCase", boolean>
>;

const vectors = JSON.parse(
  readFileSync(new URL("./golden/compare-vectors.json", import.meta.url), "utf8"),
) as Vector[];

const MODES = [
  "tokens",
  "lines",
  "verl",
  "prime",
  "lcb",
  "sandboxfusion",
  "codecontests",
  "dmoj",
] as const satisfies readonly CompareMode[];

test("there are 46 vectors", () => {
  expect(vectors).toHaveLength(46);
});

describe.each(MODES)("compareOutput in mode %s", (mode) => {
  test.each(vectors)("answers as the table says: $name", (vector) => {
    const rule = resolveRule({ mode }, "");
    const { isEqual } = compareOutput(
      Buffer.from(vector.expected),
      Buffer.from(vector.actual),
      rule,
    );
    expect(isEqual).toBe(vector[mode]);
  });
});

describe("compareOutput where letter case is free", () => {
  test.each(vectors.filter((vector) => vector.tokensIgnoringCase))("$name", (vector) => {
    const rule = resolveRule({ ignoreCase: "words" }, "");
    const pair = [Buffer.from(vector.expected), Buffer.from(vector.actual)] as const;
    expect(compareOutput(...pair, rule)).toEqual({ isEqual: true });
  });
});
