/**
 * Published before/after numbers of the experiment that this project's tutorial follows, shown
 * beside one's own with the noise that their sample sizes carry.
 *
 * Source: Volcengine's veRL tutorial, Qwen2.5-7B-Instruct-1M, about 1,000 code rows of
 * Eurus-2-RL-Data, 130 PPO steps, evaluated with EvalScope.
 */
import { wilsonInterval } from "../core/statistics.js";

/** One benchmark of the reference experiment. */
export interface ReferenceRow {
  benchmark: string;
  before: number;
  after: number;
  /** Problems of the full benchmark; the source does not say how many it ran. */
  problems: number;
}

/** The reference experiment. */
export const REFERENCE: readonly ReferenceRow[] = [
  { benchmark: "GSM8K", before: 0.82, after: 0.83, problems: 1319 },
  { benchmark: "HumanEval", before: 0.59, after: 0.59, problems: 164 },
  { benchmark: "LiveCodeBench", before: 0.5, after: 0.53, problems: 400 },
];

/** Half the width of the interval that the before score has at this size, e.g. 0.075. */
export function referenceNoise({ before, problems }: ReferenceRow): number {
  const { low, high } = wilsonInterval(before * problems, problems);
  return (high - low) / 2;
}
