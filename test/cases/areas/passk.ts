/** pass@k: lists of n and c and one k → the mean estimate, null where it cannot be had. */
import { meanPassAtK } from "../../../src/eval/pass-at-k.js";
import type { Case } from "../case.js";

/** Runs one case. */
export async function run({ input, expected }: Case): Promise<string | null> {
  const { n, c, k } = input as { n: number[]; c: number[]; k: number };
  const counts = n.map((samples, i) => ({ n: samples, c: c[i] }));
  const value = meanPassAtK(counts, k);
  const { value: wanted, accept = [wanted] } = expected as {
    value: number | null;
    accept?: (number | null)[];
  };
  const isRight = accept.some((right) =>
    right === null || value === null ? right === value : Math.abs(right - value) < 1e-12,
  );
  return isRight ? null : `expected ${wanted}, got ${value}`;
}
