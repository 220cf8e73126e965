import { expect, test } from "vitest";
import { randomStream } from "../core/random.js";
import { shuffleScores } from "./token-rewards.js";

test("shuffleScores pays the same rewards to other completions", () => {
  const scores = Float32Array.from({ length: 96 }, (_, i) => i / 96);
  const shuffled = shuffleScores(scores, randomStream(1, "shuffle"));
  expect([...shuffled].sort((a, b) => a - b)).toEqual([...scores]);
  // A random order leaves one of 96 in its place on average.
  expect([...shuffled].filter((score, i) => score === scores[i]).length).toBeLessThan(10);
  expect(scores[5]).toBeCloseTo(5 / 96);
});
