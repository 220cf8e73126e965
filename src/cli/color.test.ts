import { describe, expect, test } from "vitest";
import { hasColor } from "./color.js";

const terminal = { isTTY: true };

describe("hasColor", () => {
  test.each([
    ["a terminal", terminal, {}, true],
    ["a pipe", {}, {}, false],
    ["a terminal that knows no codes", terminal, { TERM: "dumb" }, false],
    ["NO_COLOR", terminal, { NO_COLOR: "1" }, false],
    ["NO_COLOR, empty", terminal, { NO_COLOR: "" }, true],
    ["FORCE_COLOR in a pipe", {}, { FORCE_COLOR: "1" }, true],
    ["FORCE_COLOR=0", terminal, { FORCE_COLOR: "0" }, false],
    ["both", terminal, { NO_COLOR: "1", FORCE_COLOR: "1" }, false],
  ])("%s", (_, stream, environment, expected) => {
    expect(hasColor(stream, environment)).toBe(expected);
  });
});
