import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  bootstrapMean,
  mcnemarExact,
  pairedBootstrap,
  problemsNeeded,
  wilsonInterval,
} from "./statistics.js";

const golden = JSON.parse(
  readFileSync(new URL("../../test/golden/statistics.json", import.meta.url), "utf8"),
) as {
  wilson: { successes: number; trials: number; low: number; high: number }[];
  mcnemar: { gained: number; lost: number; p: number }[];
  bootstrap: {
    before: number[];
    after: number[];
    seed: number;
    resamples: number;
    difference: number;
    low: number;
    high: number;
    shareNotPositive: number;
  }[];
  problemsNeeded: { differences: number[]; problems: number }[];
};
/** Compares to nine digits after the point. */
const NINE = 9;

describe("wilsonInterval", () => {
  test.each(golden.wilson)(
    "agrees with statsmodels at $successes of $trials",
    ({ successes, trials, low, high }) => {
      const interval = wilsonInterval(successes, trials);
      expect(interval.low).toBeCloseTo(low, NINE);
      expect(interval.high).toBeCloseTo(high, NINE);
    },
  );

  test("is the whole of [0, 1] without trials", () => {
    expect(wilsonInterval(0, 0)).toEqual({ low: 0, high: 1 });
  });
});

describe("mcnemarExact", () => {
  test.each(golden.mcnemar)(
    "agrees with statsmodels at $gained gained, $lost lost",
    ({ gained, lost, p }) => {
      expect(mcnemarExact(gained, lost)).toBeCloseTo(p, NINE);
    },
  );

  test("treats gain and loss alike", () => {
    expect(mcnemarExact(3, 17)).toBe(mcnemarExact(17, 3));
  });
});

describe("pairedBootstrap", () => {
  test.each(golden.bootstrap)(
    "agrees with NumPy's quantiles of the same $resamples draws, seed $seed",
    ({ before, after, seed, resamples, ...wanted }) => {
      const found = pairedBootstrap(before, after, { seed, resamples });
      expect(found.difference).toBeCloseTo(wanted.difference, NINE);
      expect(found.low).toBeCloseTo(wanted.low, NINE);
      expect(found.high).toBeCloseTo(wanted.high, NINE);
      expect(found.shareNotPositive).toBeCloseTo(wanted.shareNotPositive, NINE);
    },
  );

  test("gives the same interval for the same seed and another for another", () => {
    const [{ before, after }] = golden.bootstrap;
    const draw = (seed: number) => pairedBootstrap(before, after, { seed, resamples: 200 });
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
  });

  test("refuses unpaired values", () => {
    expect(() => pairedBootstrap([1], [1, 0], { seed: 0, resamples: 9 })).toThrow("1 and 2");
  });
});

describe("bootstrapMean", () => {
  test("covers the mean about as widely as the normal approximation at 400 problems", () => {
    const values = Array.from({ length: 400 }, (_, i) => (i % 4 === 0 ? 1 : 0));
    const { low, high } = bootstrapMean(values, { seed: 3, resamples: 4000 });
    const half = 1.96 * Math.sqrt((0.25 * 0.75) / 400);
    expect(low).toBeCloseTo(0.25 - half, 2);
    expect(high).toBeCloseTo(0.25 + half, 2);
  });
});

describe("problemsNeeded", () => {
  test.each(golden.problemsNeeded)("agrees with Connor's formula", ({ differences, problems }) => {
    expect(problemsNeeded(differences)).toBe(problems);
  });

  test("is null when nothing differs", () => {
    expect(problemsNeeded([0, 0, 0])).toBeNull();
    expect(problemsNeeded([1, -1])).toBeNull();
  });
});
