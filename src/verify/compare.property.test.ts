/** The property behind every verdict: the expected bytes pass, any changed token fails. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareOutput, resolveRule } from "./compare.js";

const word = fc.stringMatching(/^[A-Za-z#:._-]{1,8}$/).filter((text) => !/^[.\d]+$/.test(text));
const integer = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map(String);
const float = fc
  .tuple(fc.integer({ min: -9999, max: 9999 }), fc.integer({ min: 0, max: 999 }))
  .map(([whole, fraction]) => `${whole}.${String(fraction).padStart(3, "0")}`);
const token = fc.oneof(word, integer, float);
const output = fc.array(fc.array(token, { minLength: 1, maxLength: 6 }), {
  minLength: 1,
  maxLength: 8,
});
const text = (lines: string[][]) => lines.map((tokens) => tokens.join(" ") + "\n").join("");

/** Another token: for numbers one that is off by more than any tolerance. */
function changed(original: string, salt: number): string {
  if (/^-?\d+$/.test(original)) return String(BigInt(original) + BigInt(1 + (salt % 7)));
  if (/^-?\d+\.\d+$/.test(original)) {
    // At least 0.1 and at least a thousandth of the value away.
    return (Number(original) + 0.1 + Math.abs(Number(original)) / 1000).toFixed(4);
  }
  return `${original}x`;
}

describe.each(["tokens", "lines", "exact"] as const)("compareOutput in mode %s", (mode) => {
  const rule = resolveRule({ mode }, "");
  const isEqual = (expected: string, actual: string) =>
    compareOutput(Buffer.from(expected), Buffer.from(actual), rule).isEqual;

  test("accepts the expected bytes", () => {
    fc.assert(fc.property(output, (lines) => isEqual(text(lines), text(lines))));
  });

  test("rejects any change of a single token", () => {
    const change = fc.tuple(output, fc.nat(), fc.nat());
    fc.assert(
      fc.property(change, ([lines, at, salt]) => {
        const flat = lines.flatMap((tokens, line) => tokens.map((_, i) => [line, i]));
        const [line, i] = flat[at % flat.length];
        const other = lines.map((tokens) => [...tokens]);
        other[line][i] = changed(other[line][i], salt);
        return !isEqual(text(lines), text(other));
      }),
      { numRuns: 500 },
    );
  });

  test("rejects a token left out or added", () => {
    fc.assert(
      fc.property(output, token, (lines, extra) => {
        const shorter = [...lines.slice(0, -1), lines[lines.length - 1].slice(0, -1)];
        const longer = [...lines.slice(0, -1), [...lines[lines.length - 1], extra]];
        return !isEqual(text(lines), text(shorter)) && !isEqual(text(lines), text(longer));
      }),
    );
  });
});

describe("compareOutput in mode tokens", () => {
  test("never accepts another integer, however long", () => {
    const pair = fc.tuple(fc.bigInt(), fc.bigInt()).filter(([a, b]) => a !== b);
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const rule = resolveRule({}, "");
        return !compareOutput(Buffer.from(`${a}`), Buffer.from(`${b}`), rule).isEqual;
      }),
      { numRuns: 500 },
    );
    expect.assertions(0);
  });
});
