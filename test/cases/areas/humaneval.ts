/** Cases of HumanEval: completions of a base model and chat answers, through the verifier. */
import type { Problem } from "../../../src/core/problem.js";
import { joinPrefix, truncateAtStops } from "../../../src/verify/prefix.js";
import { createVerifier, type Verifier } from "../../../src/verify/verify.js";
import type { Case } from "../case.js";

let verifier: Promise<Verifier> | null = null;

/** Ends the verifier. */
export async function close(): Promise<void> {
  await (await verifier)?.close();
  verifier = null;
}

/** Runs one case. */
export async function run(testCase: Case): Promise<string | null> {
  const input = testCase.input as Record<string, string> & { stop: string[] };
  const expected = testCase.expected as { passed: boolean; program_prefix?: string };
  const { prompt, response, test, entry_point, style } = input;
  const completion = style === "completion" ? truncateAtStops(response, input.stop) : response;
  const problem: Problem = {
    id: testCase.id,
    source: "humaneval",
    prompt: [{ role: "user", content: prompt }],
    language: "python",
    tests: {
      kind: "assert",
      entryPoint: entry_point,
      setup: "",
      cases: [test],
      programPrefix: prompt,
    },
  };
  verifier ??= createVerifier({ workers: 1 });
  const result = await (await verifier).verify({ completion, problem });
  if ((result.verdict === "accepted") !== expected.passed) {
    return `expected passed ${expected.passed}: ${JSON.stringify(result)}`;
  }
  const program = joinPrefix(prompt, result.extraction.program ?? "", entry_point);
  const wanted = expected.program_prefix;
  if (wanted !== undefined && program.trimEnd() !== wanted.trimEnd()) {
    return `expected the program ${JSON.stringify(wanted)}, got ${JSON.stringify(program)}`;
  }
  return null;
}
