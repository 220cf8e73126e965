/** Aggregation of token losses: masks, truncation, padding rows and the modes. */
import { type LossAggregation, aggregate, lossWeights } from "../../../src/train/loss.js";
import type { Case } from "../case.js";
import { differ } from "./numbers.js";

interface Input {
  token_loss: number[][];
  mask: number[][];
  agg: LossAggregation | LossAggregation[];
  truncated?: boolean[];
  mask_truncated?: boolean;
  is_pad_row?: boolean[];
}

/** Runs one case. */
export async function run({ input: raw, expected: rawExpected }: Case): Promise<string | null> {
  const input = raw as unknown as Input;
  const expected = rawExpected as Record<string, number>;
  const isOut = (row: number) =>
    input.is_pad_row?.[row] === true ||
    (input.mask_truncated === true && input.truncated?.[row] === true);
  const mask = Uint8Array.from(
    input.mask.flatMap((bits, row) => bits.map((bit) => (isOut(row) ? 0 : bit))),
  );
  const losses = Float32Array.from(input.token_loss.flat());
  for (const mode of [input.agg].flat()) {
    const loss = aggregate(losses, lossWeights(mask, input.mask[0].length, mode));
    const wrong = differ([loss], [expected[mode] ?? expected.loss]);
    if (wrong !== null) return `${mode}: ${wrong}`;
  }
  return null;
}
