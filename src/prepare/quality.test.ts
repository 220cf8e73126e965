import { describe, expect, test } from "vitest";
import { cleanTests, isCutOff } from "./quality.js";

describe("isCutOff", () => {
  test.each([
    ["152 153 ...", true],
    ["1 2 3 …\n", true],
    ["...", true],
    [`${"7".repeat(120)}...`, true],
    ["Loading...", false],
    ["1.5", false],
    ["", false],
  ])("says of %j: %s", (text, answer) => {
    expect(isCutOff(text)).toBe(answer);
  });
});

describe("cleanTests", () => {
  const cases = ["1", "22", "333"].map((text) => ({ input: text, output: text }));
  const free = { maxTests: null, maxTestBytes: null, seed: 1 };

  test("takes out tests that were cut off and keeps the others", () => {
    const cut = { input: "5", output: "1 2 ..." };
    const result = cleanTests({ kind: "stdio", cases: [cut, ...cases] }, free, () => "a");
    expect(result).toEqual({
      tests: { kind: "stdio", cases },
      removed: { truncated: 1, overCap: 0 },
    });
  });

  test("leaves a problem out when no test fits the bytes", () => {
    const result = cleanTests({ kind: "stdio", cases }, { ...free, maxTestBytes: 5 }, () => "a");
    expect(result).toEqual({ drop: { reason: "tests_too_large" } });
  });
});
