import { describe, expect, test } from "vitest";
import { bounds, formatTick, ticks } from "./plot-scale.js";
import { drawBars, drawLines, drawStack } from "./plots.js";

const line = { name: "a", steps: [0, 1, 2, 3], values: [0, 0.5, null, 1], colour: "--after" };

describe("drawLines", () => {
  test("breaks the line where a value is missing", () => {
    const svg = drawLines({ label: "x", series: [line], span: [0, 1] });
    const path = /<path d="([^"]*)"/.exec(svg)?.[1] ?? "";
    // From the left bottom corner to half height, then a new start at the right top corner.
    expect(path).toBe("M44 200L158 109M386 18");
  });

  test("draws a frame even without a single value", () => {
    const svg = drawLines({ label: "x", series: [{ ...line, values: [] }], span: null });
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });
});

describe("drawStack", () => {
  test("stacks each layer on the one before", () => {
    const svg = drawStack({
      label: "x",
      steps: [0, 1],
      layers: [
        { name: "a", values: [0.25, 0.5], colour: "--a" },
        { name: "b", values: [0.75, 0.5], colour: "--b" },
      ],
    });
    const [first, second] = [...svg.matchAll(/points="([^"]*)"/g)].map(([, points]) => points);
    expect(first).toBe("44,154.5 386,109 386,200 44,200");
    expect(second).toBe("44,18 386,18 386,109 44,154.5");
  });
});

describe("drawBars", () => {
  test("draws a bar's height by its value and its interval around it", () => {
    const bar = { name: "a", value: 0.5, low: 0.25, high: 0.75, colour: "--a" };
    const svg = drawBars({ label: "x", groups: [{ name: "g", bars: [bar] }] });
    expect(svg).toContain('y="109" width="42" height="91"');
    // The value's own line of text fits above a bar of full height.
    const full = drawBars({
      label: "x",
      groups: [{ name: "g", bars: [{ ...bar, value: 1, high: 1 }] }],
    });
    expect(Number(/class="value" x="[^"]*" y="([^"]*)"/.exec(full)?.[1])).toBeGreaterThan(10);
    expect(svg).toMatch(/class="interval"[^>]*y1="154.5" y2="63.5"/);
  });
});

describe("ticks", () => {
  test.each([
    [[0, 1], 4, [0, 0.5, 1]],
    [[0, 39], 5, [0, 10, 20, 30]],
    [[0.0004, 0.021], 4, [0.01, 0.02]],
    [[-3, 7], 5, [-2, 0, 2, 4, 6]],
  ] as const)("of %j are round numbers within it", (range, count, expected) => {
    expect(ticks(range, count)).toEqual(expected);
  });
});

describe("bounds", () => {
  test("opens a single value and passes over what is not finite", () => {
    expect(bounds([2, Number.NaN])).toEqual([1, 3]);
    expect(bounds([])).toEqual([0, 1]);
  });
});

test("formatTick keeps numbers short", () => {
  expect([0, 0.5, 0.00004, 1234, 25_000].map(formatTick)).toEqual([
    "0",
    "0.5",
    "4e-5",
    "1234",
    "25k",
  ]);
});
