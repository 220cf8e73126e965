import { describe, expect, test } from "vitest";
import { findPhases } from "./phases.js";

const steps = [1, 2, 3, 4, 5, 6];
const times = steps.map((step) => step * 1000);

describe("findPhases", () => {
  test("marks where format, then pass rate, made most of their rise", () => {
    const format = [0.4, 0.7, 0.95, 0.97, 0.98, 0.98];
    const passRate = [0.1, 0.15, 0.3, 0.5, 0.6, 0.62];
    expect(
      findPhases({ steps, times, format, passRate }).map(({ step, label }) => [step, label]),
    ).toEqual([
      [1, "learning the format"],
      [3, "learning to pass"],
      [5, "diminishing returns"],
    ]);
  });

  test("marks nothing in a run that does not rise", () => {
    const flat = steps.map(() => 0.5);
    expect(findPhases({ steps, times, format: flat, passRate: flat })).toEqual([]);
    const none = steps.map(() => null);
    expect(findPhases({ steps, times, format: none, passRate: none })).toEqual([]);
  });
});
