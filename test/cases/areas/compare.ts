/** Cases of comparing outputs. */
import { COMPARE_MODES } from "../../../src/core/problem.js";
import { compareOutput, resolveRule } from "../../../src/verify/compare.js";
import type { Case } from "../case.js";

/** Runs one case. */
export async function run(testCase: Case): Promise<string | null> {
  const { expected_output, actual_output, mode } = testCase.input;
  const lines = Array.isArray(expected_output) ? expected_output : [expected_output];
  const known = COMPARE_MODES.find((name) => name === mode);
  const compared = compareOutput(
    Buffer.from(lines.join("\n")),
    Buffer.from(String(actual_output)),
    resolveRule(known === undefined ? {} : { mode: known }, ""),
  );
  const { equal } = testCase.expected as { equal: boolean };
  return compared.isEqual === equal ? null : `expected ${equal}, got ${JSON.stringify(compared)}`;
}
