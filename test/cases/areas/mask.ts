/** Response masks and the place of the reward. */
import { placeRewards, responseMask } from "../../../src/train/token-rewards.js";
import type { Case } from "../case.js";
import { differ } from "./numbers.js";

interface Input {
  response_ids?: number[];
  eos_ids?: number[];
  attention_mask?: number[];
  reward?: number;
  response_mask?: number[];
}

/** Runs one case. */
export async function run({ input: raw, expected: rawExpected }: Case): Promise<string | null> {
  const input = raw as unknown as Input;
  const expected = rawExpected as {
    response_mask?: number[];
    truncated?: boolean;
    token_level_rewards?: number[];
  };
  if (expected.token_level_rewards !== undefined) {
    const mask = Uint8Array.from(input.response_mask ?? []);
    const rewards = placeRewards([input.reward ?? 0], mask, mask.length);
    return differ(rewards, expected.token_level_rewards);
  }
  const { mask, truncated } = responseMask(input.response_ids ?? [], {
    endIds: input.eos_ids ?? [],
    ...(input.attention_mask === undefined ? {} : { present: input.attention_mask }),
  });
  if (expected.truncated !== undefined && truncated !== expected.truncated) {
    return `expected truncated ${expected.truncated}, got ${truncated}`;
  }
  return differ(mask, expected.response_mask ?? []);
}
