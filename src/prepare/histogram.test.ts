import { describe, expect, test } from "vitest";
import { binNumbers, drawHistogram } from "./histogram.js";

describe("binNumbers", () => {
  test("counts every number once, in bins of round width", () => {
    const numbers = Array.from({ length: 1000 }, (_, i) => 37 + ((i * 7919) % 400));
    const bins = binNumbers(numbers);
    expect(bins.reduce((sum, bin) => sum + bin.count, 0)).toBe(1000);
    expect(bins[1].from - bins[0].from).toBe(20);
    expect(bins[0].from).toBe(20);
    for (const { from, count } of bins) {
      expect(count).toBe(numbers.filter((n) => n >= from && n < from + 20).length);
    }
  });

  test("takes equal numbers and none", () => {
    expect(binNumbers([3, 3])).toEqual([{ from: 3, count: 2 }]);
    expect(binNumbers([])).toEqual([]);
  });
});

describe("drawHistogram", () => {
  test("draws a bar for each bin, the highest the full height", () => {
    const svg = drawHistogram(
      [
        { from: 0, count: 2 },
        { from: 5, count: 4 },
      ],
      {
        title: "tests",
        unit: "tests per problem",
      },
    );
    const heights = [...svg.matchAll(/height="([\d.]+)">/g)].map((match) => Number(match[1]));
    expect(heights).toEqual([69, 138]);
    expect(svg).toContain("<title>from 5: 4</title>");
  });
});
