import { describe, expect, test } from "vitest";
import { Pace } from "./endpoint-pace.js";

const options = { shortestMs: 1000, patienceMs: 900_000 };

describe("Pace", () => {
  test("spreads those who wait over the shortest pause behind the pause asked for", () => {
    const pace = new Pace(options);
    expect(pace.waitMs(5000, 0.5)).toBe(0);
    expect(pace.hold(20_000, 5000)).toBe(true);
    expect([0, 0.5, 1].map((draw) => pace.waitMs(5000, draw))).toEqual([20_000, 20_500, 21_000]);
    expect(pace.waitMs(25_000, 0.5)).toBe(0);
  });

  test("holds for at least the shortest pause and at most five minutes", () => {
    for (const [asked, held] of [
      [0, 1000],
      [2 ** 31, 300_000],
      [Infinity, 300_000],
    ]) {
      const pace = new Pace(options);
      pace.hold(asked, 0);
      expect(pace.waitMs(0, 0)).toBe(held);
    }
  });

  test("never shortens a pause, and counts pauses that overlap once", () => {
    const pace = new Pace({ ...options, patienceMs: 30_000 });
    expect(pace.hold(20_000, 0)).toBe(true);
    expect(pace.hold(5000, 0)).toBe(true);
    expect(pace.hold(20_000, 0)).toBe(true);
    expect(pace.waitMs(0, 0)).toBe(20_000);
    expect(pace.hold(20_000, 10_000)).toBe(true);
    expect(pace.hold(20_000, 11_000)).toBe(false);
    expect(pace.waitMs(11_000, 0)).toBe(19_000);
  });

  test("has its whole patience again when something was served", () => {
    const pace = new Pace({ ...options, patienceMs: 30_000 });
    expect(pace.hold(30_000, 0)).toBe(true);
    expect(pace.hold(30_000, 30_000)).toBe(false);
    pace.served();
    expect(pace.hold(30_000, 30_000)).toBe(true);
  });
});
