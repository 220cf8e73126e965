/** Outputs in any order, and letter case, beyond what sorting and bytes decide. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CompareRule } from "../core/problem.js";
import { compareOutput, resolveRule } from "./compare.js";

const isEqual = (expected: string, actual: string, rule: CompareRule) =>
  compareOutput(Buffer.from(expected), Buffer.from(actual), resolveRule(rule, "")).isEqual;

describe("any order", () => {
  test.each([
    ["numbers within the tolerance", "10.0\n9.5\n", "9.5\n9.9999999\n", {}],
    ["letter case", "apple\nBanana\n", "banana\nAPPLE\n", { ignoreCase: "all" }],
    ["words", "No\nYES\nb\n", "b\nno\nyes\n", { ignoreCase: "words" }],
    ["minus zero", "0\n-1\n", "-1\n-0\n", {}],
    ["integers written as decimals", "10\n9\n1\n", "1.0\n10.0\n9.0\n", {}],
    ["equal numbers before a word", "1 a\n1 b\n", "1.0 b\n1 a\n", {}],
    ["near numbers before a word", "1.0 b\n1.0 a\n", "0.9999999 b\n1.0000001 a\n", {}],
    ["near numbers before words, more", "1.0 b\n1.0 a\n", "1.0000001 a\n1.0000002 b\n", {}],
  ] as [string, string, string, CompareRule][])(
    "of lines and of tokens: %s",
    (_, expected, actual, r) => {
      expect(isEqual(expected, actual, { ...r, unordered: "lines" })).toBe(true);
      expect(isEqual(expected, actual, { ...r, unordered: "tokens" })).toBe(true);
      expect(isEqual(expected, actual + "x\n", { ...r, unordered: "lines" })).toBe(false);
    },
  );

  test("each part has a partner of its own", () => {
    const lines = { unordered: "lines" } as const;
    expect(isEqual("1\n2\n2\n", "1\n1\n2\n", lines)).toBe(false);
    expect(isEqual("1.0\n2.0\n", "1.0\n1.0000001\n", lines)).toBe(false);
    expect(isEqual("5\n05\n", "05\n5\n", lines)).toBe(true);
    expect(isEqual("5\n5\n", "05\n5\n", lines)).toBe(false);
  });

  test("large outputs take no longer than sorting", () => {
    const numbers = Array.from({ length: 100_000 }, (_, i) => `${i}.5 x`);
    const startedAt = performance.now();
    expect(
      isEqual(numbers.join("\n"), [...numbers].reverse().join("\n"), { unordered: "lines" }),
    ).toBe(true);
    expect(isEqual(numbers.join("\n"), numbers.join("1\n"), { unordered: "lines" })).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  test("a shuffled output within half the tolerance is accepted", () => {
    const row = fc.tuple(fc.integer({ min: -3, max: 3 }), fc.constantFrom("a", "b", "c"));
    const rows = fc.array(fc.tuple(row, fc.integer({ min: -5, max: 5 })), { maxLength: 12 });
    fc.assert(
      fc.property(rows, fc.infiniteStream(fc.nat()), (all, salts) => {
        const expected = all.map(([[value, word]]) => `${value}.0 ${word}\n`);
        const actual = all
          .map(([[value, word], off]) => `${(value + off * 1e-7).toFixed(9)} ${word}\n`)
          .map((line) => ({ line, at: salts.next().value as number }))
          .sort((a, b) => a.at - b.at);
        const printed = actual.map(({ line }) => line).join("");
        return isEqual(expected.join(""), printed, { unordered: "lines" });
      }),
    );
  });
});

test.each([
  ["Été", "été", true],
  ["ДА", "да", true],
  ["ДА", "дб", false],
  ["Ã", "ã", true],
  ["ã", "Ц", false],
])("letter case of %s and %s", (expected, actual, right) => {
  expect(isEqual(expected, actual, { ignoreCase: "all" })).toBe(right);
});

test("letter case of bytes that are no text is that of their ASCII letters", () => {
  const rule = resolveRule({ ignoreCase: "all" }, "");
  const bytes = (...codes: number[]) => Uint8Array.from(codes);
  expect(compareOutput(bytes(0xc3, 65), bytes(0xc3, 97), rule).isEqual).toBe(true);
  expect(compareOutput(bytes(0xc3, 65), bytes(0xe3, 97), rule).isEqual).toBe(false);
});
