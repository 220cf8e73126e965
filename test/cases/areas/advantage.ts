/** Advantages: group statistics, whitening and masks through the estimators of training. */
import { type EstimatorName, estimateAdvantages } from "../../../src/train/advantages.js";
import { whiten } from "../../../src/train/masked.js";
import { placeRewards } from "../../../src/train/token-rewards.js";
import { type Case, SkipCase } from "../case.js";
import { differ } from "./numbers.js";

interface Input {
  algo: string;
  rewards?: number[];
  groups?: (number | string)[];
  eps?: number;
  ddof?: number;
  token_level_rewards?: number[][];
  response_mask?: number[][];
  no_eos?: boolean[];
  values?: number[];
  mask?: number[];
}

interface Expected {
  advantages?: number[];
  advantages_tokens?: number[][];
  at_valid?: number[];
  finite?: boolean;
  tol?: number;
}

/** Runs one case. */
export async function run({ input: raw, expected: rawExpected }: Case): Promise<string | null> {
  const input = raw as unknown as Input;
  const expected = rawExpected as Expected;
  const tolerance = expected.tol ?? 1e-5;
  const actual = await compute(input);
  if (expected.finite === true && actual.some((value) => !Number.isFinite(value))) {
    return `not finite: ${actual.join(", ")}`;
  }
  if (expected.at_valid !== undefined) {
    const valid = actual.filter((_, i) => input.mask?.[i] === 1);
    return differ(valid, expected.at_valid, tolerance);
  }
  const wanted = expected.advantages ?? expected.advantages_tokens?.flat();
  return wanted === undefined ? null : differ(actual, wanted, tolerance);
}

async function compute(input: Input): Promise<number[]> {
  if (input.algo === "whiten") {
    return [...whiten(Float32Array.from(input.values ?? []), Uint8Array.from(input.mask ?? []))];
  }
  if (input.algo === "batch_mean_norm") return batchNormalized(input);
  if (input.algo !== "grpo") throw new SkipCase(`estimator ${input.algo} is not one of ours`);
  const rows = input.token_level_rewards ?? (input.rewards ?? []).map((reward) => [reward]);
  const mask = input.response_mask ?? rows.map((row) => row.map(() => 1));
  const { advantages } = estimateAdvantages(
    "grpo" satisfies EstimatorName,
    {
      rewards: Float32Array.from(rows.flat()),
      mask: Uint8Array.from(mask.flat()),
      length: rows[0].length,
      groups: input.groups ?? rows.map(() => 0),
    },
    {
      ...{ gamma: 1, lambda: 1, normalizeByStd: true },
      ...(input.eps === undefined ? {} : { stdFloor: input.eps }),
    },
  );
  return [...advantages];
}

/** Rewards normalised over the batch, completions without an end token left out of the losses. */
function batchNormalized({ rewards = [], no_eos: truncated = [] }: Input): number[] {
  const mask = new Uint8Array(rewards.length).fill(1);
  const { advantages } = estimateAdvantages(
    "reinforce_plus_plus",
    {
      rewards: placeRewards(rewards, mask, 1),
      mask,
      lossMask: Uint8Array.from(truncated, (cut) => Number(!cut)),
      length: 1,
      groups: rewards.map((_, i) => i),
    },
    { gamma: 1, lambda: 1, normalizeByStd: true },
  );
  return [...advantages];
}
