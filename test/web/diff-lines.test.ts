import { describe, expect, test } from "vitest";
import { diffLines } from "../../web/diff-lines.js";

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}`);
const shown = (left: string[], right: string[]) =>
  diffLines(left.join("\n"), right.join("\n")).map(({ kind, line }) => `${kind}: ${line}`);

describe("diffLines", () => {
  test("shows short texts whole", () => {
    expect(shown(["a", "b", "c"], ["a", "x", "c"])).toEqual([
      "same: a",
      "left: b",
      "right: x",
      "same: c",
    ]);
  });

  test("starts near the first difference of long texts, and says what is cut", () => {
    const printed = numbered(1000).with(600, "wrong");
    expect(shown(numbered(1000), printed)).toEqual([
      "cut: 595 equal lines",
      ...[596, 597, 598, 599, 600].map((n) => `same: line ${n}`),
      "left: line 601",
      "right: wrong",
      ...[602, 603, 604, 605, 606].map((n) => `same: line ${n}`),
      "cut: 394 equal lines",
    ]);
  });

  test("cuts long equal stretches between two differences as well", () => {
    const printed = numbered(100).with(9, "x").with(89, "y");
    const pieces = shown(numbered(100), printed);
    expect(pieces.slice(10, 23)).toEqual([
      "right: x",
      ...[11, 12, 13, 14, 15].map((n) => `same: line ${n}`),
      "cut: 69 equal lines",
      ...[85, 86, 87, 88, 89].map((n) => `same: line ${n}`),
      "left: line 90",
    ]);
  });

  test("says how many lines it did not compare", () => {
    const pieces = shown(numbered(1000), ["x", ...numbered(10).reverse()]);
    expect(pieces.at(-1)).toBe("cut: not compared: 600 more lines of −, 0 of +");
  });

  test("marks a line that only one text has at its end, and texts that are equal not at all", () => {
    expect(shown(["a"], ["a", "b"])).toEqual(["same: a", "right: b"]);
    expect(shown(["a", "a"], ["a"])).toEqual(["same: a", "left: a"]);
    expect(shown(["a"], ["a"])).toEqual(["same: a"]);
  });
});
