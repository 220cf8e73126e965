import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatLosslessJson, parseLosslessJson } from "./lossless-json.js";

const roundTrip = (text: string) => formatLosslessJson(parseLosslessJson(text));

describe("parseLosslessJson", () => {
  test.each([
    "9007199254740993",
    "[1.0, 1, -0, 1e400, 0.1000]",
    "[NaN, Infinity, -Infinity]",
    '{"b": null, "a": [true, false]}',
    '"\\ud800"',
    "[]",
    "{}",
  ])("gives back %s as it was written", (text) => {
    expect(roundTrip(text)).toBe(text);
  });

  test("agrees with JSON.parse wherever that loses nothing", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.parse(roundTrip(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test("reads strings of megabytes, with escapes at their end", () => {
    const text = JSON.stringify(["x\\".repeat(2_000_000), '"', "\\"]);
    expect(JSON.parse(roundTrip(text))).toEqual(JSON.parse(text));
  });

  test.each([
    "",
    "[1,]",
    '{"a" 1}',
    '{"a": 1,}',
    "[1",
    '"abc',
    '"a\nb"',
    "01",
    "[1] x",
    "nul",
    "+1",
    "-NaN",
  ])("refuses %j", (text) => {
    expect(() => parseLosslessJson(text)).toThrow(SyntaxError);
  });

  test("refuses nesting that would overflow the stack", () => {
    expect(() => parseLosslessJson("[".repeat(100_000))).toThrow(/at most 500 levels/);
  });
});
