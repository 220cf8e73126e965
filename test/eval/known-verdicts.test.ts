/**
 * Whole evaluations of completions whose verdicts others have established, through the judge.
 *
 * The data lies beside the checkout. All of it takes minutes, so by default every tenth problem is
 * taken; CODE_RLVR_SLOW=1 takes all.
 */
import { existsSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadBenchmark } from "../../src/eval/benchmarks/table.js";
import { evaluate } from "../../src/eval/evaluate.js";
import { fileCompleter } from "../../src/eval/file-completer.js";
import { meanPassAtK } from "../../src/eval/pass-at-k.js";
import { readRows, type Row } from "../../src/eval/rows.js";
import { judgeAnswer } from "../../src/verify/answer.js";
import { blockOf } from "../../src/verify/extract.js";
import { createVerifier, type Verifier } from "../../src/verify/verify.js";
import { settingsOf } from "./fakes.js";

const DATA = fileURLToPath(new URL("../../../shared/data/", import.meta.url));
const dataOf = (name: string) => join(DATA, name);
const isAbsent = !existsSync(DATA);
const isWhole = process.env.CODE_RLVR_SLOW === "1";
const none = { style: null, limit: null, split: null, from: null, to: null, release: null };
const TIMEOUT = 600_000;

describe.skipIf(isAbsent)(`completions of known verdict (${DATA} is absent: skipped)`, () => {
  let verifier: Verifier;
  beforeAll(async () => {
    verifier = await createVerifier();
  });
  afterAll(() => verifier.close());

  test(
    "HumanEval samples score the pass@1 and pass@10 that their verdicts say",
    async () => {
      const samples = dataOf("humaneval_codegen16b_samples.jsonl.gz");
      const completer = await fileCompleter(samples);
      const { problems, style } = await loadBenchmark("humaneval", {
        ...none,
        style: "human-eval",
        paths: [dataOf("HumanEval.jsonl.gz")],
      });
      const given = problems.filter(({ id }) => completer.countOf(id) > 0);
      const taken = isWhole ? given : given.filter((_, i) => i % 10 === 0);
      const settings = settingsOf({ style, benchmark: "humaneval", n: 20 });
      const { info } = await evaluate({ completer, problems: taken, verifier, settings });
      const known = await countsOf(samples, new Set(taken.map(({ id }) => id)));
      expect(info.missing).toBe(0);
      expect(info.passAtK["1"]).toBe(meanPassAtK(known, 1));
      expect(info.passAtK["10"]).toBe(meanPassAtK(known, 10));
      if (isWhole) expect(info.verdicts.accepted).toBe(388);
    },
    TIMEOUT,
  );

  test(
    "MBPP's references pass their own tests",
    async () => {
      const path = join(await mkdtemp(join(tmpdir(), "mbpp-")), "references.jsonl");
      const rows = await readRows(dataOf("mbpp.jsonl"));
      const lines = rows.map((row) => ({
        task_id: row["task_id"],
        completion: blockOf(String(row["code"])),
      }));
      await writeFile(path, lines.map((line) => JSON.stringify(line) + "\n").join(""));
      const { problems, style } = await loadBenchmark("mbpp", {
        ...none,
        split: "all",
        paths: [dataOf("mbpp.jsonl")],
      });
      const taken = isWhole ? problems : problems.filter((_, i) => i % 10 === 0);
      const { info } = await evaluate({
        completer: await fileCompleter(path),
        problems: taken,
        verifier,
        settings: settingsOf({ style, benchmark: "mbpp" }),
      });
      expect(info.verdicts).toEqual({ accepted: taken.length });
    },
    TIMEOUT,
  );

  test("GSM8K's labelled answers are judged as they are labelled, all 2,640", async () => {
    const rows = await readRows(dataOf("gsm8k_model_solutions.jsonl.gz"));
    const models = ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"];
    const labelled = rows.flatMap((row) =>
      models.map((model) => ({
        ...(row[model] as { is_correct: boolean; solution: string }),
        truth: String(row["ground_truth"]),
      })),
    );
    const disagreements = labelled.filter(
      ({ solution, truth, is_correct }) =>
        judgeAnswer(solution, truth, "flexible").isCorrect !== is_correct,
    );
    expect(labelled).toHaveLength(2640);
    expect(disagreements).toEqual([]);
  });
});

/** Samples and right ones per problem, in the file's order. */
async function countsOf(path: string, ids: ReadonlySet<string>) {
  const counts = new Map<string, { n: number; c: number }>();
  for (const row of await readRows(path)) {
    const { task_id: id, passed } = row as Row & { task_id: string; passed: boolean };
    if (!ids.has(id)) continue;
    const { n, c } = counts.get(id) ?? { n: 0, c: 0 };
    counts.set(id, { n: n + 1, c: c + Number(passed) });
  }
  return [...counts.values()];
}
