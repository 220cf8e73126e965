import { describe, expect, test } from "vitest";
import type { JudgedRollout } from "./rollout.js";
import { judgingTimes } from "./metrics.js";

/** A rollout of which only the times of its tests are read. */
function judged(wallMs: number[], isReused = false): JudgedRollout {
  return { result: { isReused, tests: wallMs.map((ms) => ({ wallMs: ms })) } } as JudgedRollout;
}

describe("judgingTimes", () => {
  test("is the median and the 95th percentile of whole completions, in seconds", () => {
    const rollouts = Array.from({ length: 20 }, (_, i) => judged([i * 10, 10]));
    expect(judgingTimes(rollouts)).toEqual({
      "timing_s/judge_p50": 0.1,
      "timing_s/judge_p95": 0.19,
    });
  });

  test("leaves out completions that ran nothing", () => {
    const rollouts = [judged([]), judged([5], true), judged([2000])];
    expect(judgingTimes(rollouts)).toEqual({ "timing_s/judge_p50": 2, "timing_s/judge_p95": 2 });
    expect(judgingTimes([judged([])])).toEqual({});
  });
});
