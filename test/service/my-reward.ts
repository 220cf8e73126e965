/** A reward as users write one: the pass rate, less a penalty for length where all tests pass. */
import type { ComputeScore } from "../../src/verify/custom-reward.js";

export const computeScore: ComputeScore = ({ completion, result }) => {
  const penalty = result.passRate === 1 ? Math.min(0.5, completion.length / 1000) : 0;
  return { score: result.passRate - penalty, penalty };
};

export const throwing: ComputeScore = () => {
  throw new RangeError("no such thing as a score");
};
