// my-reward.ts
import type { ComputeScore } from "code-rlvr";

/** Pass rate, less a penalty for length that only a passing answer can earn. */
export const computeScore: ComputeScore = ({ completion, result }) => {
  const penalty = result.passRate === 1 ? Math.min(0.5, completion.length / 1000) : 0;
  return { score: result.passRate - penalty, penalty };
};
