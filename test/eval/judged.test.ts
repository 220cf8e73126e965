/** Benchmarks through the real judge: each kind of tests, each way to find a program. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadBenchmark } from "../../src/eval/benchmarks/table.js";
import { evaluate } from "../../src/eval/evaluate.js";
import { createVerifier, type Verifier } from "../../src/verify/verify.js";
import { FakeCompleter, settingsOf } from "./fakes.js";

const none = { limit: null, split: null, from: null, to: null, release: null };
let verifier: Verifier;
beforeAll(async () => {
  verifier = await createVerifier();
});
afterAll(() => verifier.close());

/** Judges one answer to one row. */
async function judge(benchmark: string, style: string | null, row: object, answer: string) {
  const path = join(await mkdtemp(join(tmpdir(), "judged-")), "row.jsonl");
  await writeFile(path, JSON.stringify(row) + "\n");
  const loaded = await loadBenchmark(benchmark, { ...none, style, paths: [path] });
  const { samples } = await evaluate({
    completer: new FakeCompleter(() => answer),
    problems: loaded.problems,
    verifier,
    settings: settingsOf({ style: loaded.style, benchmark }),
  });
  return samples[0];
}

const lcb = (changes: object) => ({
  question_id: "q",
  question_title: "t",
  question_content: "c",
  platform: "atcoder",
  contest_date: "2024-01-01T00:00:00",
  difficulty: "easy",
  public_test_cases: '[{"input": "2 3\\n", "output": "5\\n", "testtype": "stdin"}]',
  ...changes,
});
const functional = lcb({
  starter_code: "class Solution:\n    def add(self, a: int, b: List[int]) -> int:\n",
  public_test_cases: '[{"input": "1\\n[2, 3]", "output": "6", "testtype": "functional"}]',
  metadata: '{"func_name": "add"}',
});
const SUM = "```python\nprint(sum(map(int, input().split())))\n```";
const METHOD =
  "```python\nclass Solution:\n    def add(self, a, b):\n        return a + sum(b)\n```";
const HUMANEVAL = {
  task_id: "HumanEval/900",
  prompt: 'from math import tau\n\n\ndef twice(x):\n    """Double it."""\n',
  entry_point: "twice",
  test: "def check(candidate):\n    assert candidate(2) == 4\n",
};
const GSM8K = { question: "What is 1,200 + 34?", answer: "1200 + 34 = 1234\n#### 1,234" };

describe("LiveCodeBench", () => {
  test.each([
    ["chat", lcb({}), SUM, "accepted"],
    ["livecodebench", lcb({}), SUM, "accepted"],
    ["evalscope", lcb({}), SUM, "accepted"],
    ["livecodebench", lcb({}), SUM.replace("sum", "max"), "wrong_answer"],
    ["livecodebench", lcb({}), "no fence at all", "no_program"],
    ["chat", functional, METHOD, "accepted"],
    ["livecodebench", functional, METHOD, "accepted"],
    ["livecodebench", functional, METHOD.replace("a + ", ""), "wrong_answer"],
    // The block after the program is what the harness takes, and this style keeps it so.
    ["livecodebench", lcb({}), `${SUM}\nOutput:\n\`\`\`\n5 x\n\`\`\``, "compile_error"],
    ["chat", lcb({}), `${SUM}\nOutput:\n\`\`\`\n5 x\n\`\`\``, "accepted"],
  ])("style %s judges a row and its answer", async (style, row, answer, verdict) => {
    expect((await judge("livecodebench", style, row, answer)).verdict).toBe(verdict);
  });
});

describe("HumanEval", () => {
  const BODY = "    return 2 * x\n";
  const WHOLE = "```python\ndef twice(x):\n    return 2 * x\n```";
  test.each([
    ["human-eval", BODY, "accepted", false],
    ["completion", BODY, "accepted", false],
    ["completion", "    return 2 * x\n\ndef other(): pass", "accepted", false],
    ["chat", WHOLE, "accepted", true],
    ["evalscope", WHOLE, "accepted", true],
    ["evalscope", "I think:\n    return 2 * x", "compile_error", false],
    ["evalplus", "def twice(x):\n    return 2 * x", "accepted", false],
    ["lm-eval-instruct", "    return 2 * x\n```\nDone.", "accepted", false],
    ["lm-eval", "    return 3 * x", "wrong_answer", false],
    ["human-eval", "    import sys; sys.exit(0)", "runtime_error", false],
  ])("style %s reads %j", async (style, answer, verdict, format) => {
    expect(await judge("humaneval", style, HUMANEVAL, answer)).toMatchObject({ verdict, format });
  });
});

describe("GSM8K", () => {
  test.each([
    ["It is 1200 + 34.\n#### 1,234", "accepted", true],
    ["The answer is $1234.00.", "accepted", false],
    ["#### 1235", "wrong_answer", false],
    ["I do not know.", "no_program", false],
  ])("scores %j flexibly and strictly", async (answer, verdict, strict) => {
    expect(await judge("gsm8k", null, GSM8K, answer)).toMatchObject({ verdict, strict });
  });
});
