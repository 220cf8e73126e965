/** A project that uses the package: every door of it, with types. */
import { createVerifier, defaultVerifierOptions, type Problem, VERDICT_KINDS } from "code-rlvr";
import { evaluate } from "code-rlvr/eval";
import { mergeCheckpoint } from "code-rlvr/merge";
import { prepare } from "code-rlvr/prepare";
import { writeReport } from "code-rlvr/report";
import { startService } from "code-rlvr/service";
import { train } from "code-rlvr/train";
import { createVerifier as sameVerifier, type VerifyResult } from "code-rlvr/verify";

const problem: Problem = {
  id: "sum",
  source: "mine",
  prompt: [{ role: "user", content: "Print the sum of two numbers." }],
  language: "python",
  tests: { kind: "stdio", cases: [{ input: "1 2\n", output: "3\n" }] },
};
const verifier = await createVerifier(defaultVerifierOptions());
const completion = "```python\nprint(sum(map(int, input().split())))\n```";
const result: VerifyResult = await verifier.verify({ completion, problem });
await verifier.close();
const doors = { evaluate, mergeCheckpoint, prepare, writeReport, startService, train };
const isOneModule = createVerifier === sameVerifier;
console.log(
  JSON.stringify({
    verdict: result.verdict,
    isOneModule,
    kinds: VERDICT_KINDS.length,
    doors: Object.values(doors).map((door) => typeof door),
  }),
);
