/** What the dashboard shows of a run's evaluations: the report's own pairs. */
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Evaluation, evaluationPaths } from "../../src/core/evaluation.js";
import { runPaths } from "../../src/core/run.js";
import { compareEvaluations } from "../../src/report/compare.js";
import { readEvaluations, readPairs } from "../../src/report/run-evaluations.js";
import { problemsOf } from "../eval/fakes.js";
import { sampleEvaluation, withSamples } from "./sample.js";

async function runOf(evaluations: Record<string, Evaluation>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "run-"));
  for (const [name, { info, samples }] of Object.entries(evaluations)) {
    const paths = evaluationPaths(join(runPaths(dir).eval, name));
    await mkdir(join(runPaths(dir).eval, name), { recursive: true });
    await writeFile(paths.info, JSON.stringify(info));
    await writeFile(paths.results, samples.map((line) => JSON.stringify(line) + "\n").join(""));
  }
  return dir;
}

describe("readPairs", () => {
  test("pairs as the report does: by more than half of the samples, without broken problems", async () => {
    const problems = problemsOf(20);
    const before = await sampleEvaluation("before", 0.45, { problems, n: 5 });
    const after = withSamples(
      await sampleEvaluation("after", 0.6, { problems, n: 5 }),
      ({ problemId }) => (problemId === "p0" ? { verdict: "bad_problem" } : {}),
    );
    const run = await runOf({ before, after });
    const pairs = await readPairs(run, { before: "before", after: "after" });
    const report = compareEvaluations(before, after, { allowDifferent: false });
    expect(pairs.map(({ problemId, outcome }) => [problemId, outcome])).toEqual(
      report.pairs.map(({ problemId, outcome }) => [problemId, outcome]),
    );
    expect(pairs).toHaveLength(19);
    // Sample 0 alone would say otherwise of some.
    const first = (evaluation: Evaluation, id: string) =>
      evaluation.samples.find(({ problemId, sample }) => problemId === id && sample === 0)?.verdict;
    expect(
      pairs.some(
        ({ problemId, outcome }) =>
          (outcome === "gained" || outcome === "both") !== (first(after, problemId) === "accepted"),
      ),
    ).toBe(true);
    for (const { outcome, after: side } of pairs) {
      expect(side.samples).toBe(5);
      if (outcome === "gained") expect(side.shown.verdict).toBe("accepted");
    }
  });

  test("opens only what the run lists", async () => {
    const run = await runOf({ before: await sampleEvaluation("before", 0.5) });
    const outside = readPairs(join(run, "eval"), { before: "../eval/before", after: "before" });
    await expect(outside).rejects.toThrow("(none), got ../eval/before");
    const absent = readPairs(run, { before: "before", after: "after" });
    await expect(absent).rejects.toThrow("an evaluation of the run (before), got after");
  });
});

describe("readEvaluations", () => {
  test("lists scores in the order in which they were made, and names what cannot be read", async () => {
    const made = await sampleEvaluation("x", 0.5, { problems: problemsOf(3) });
    const at = (startedAt: string) => ({ ...made, info: { ...made.info, startedAt } });
    const run = await runOf({ a: at("2026-01-02"), b: at("2026-01-01") });
    await mkdir(join(runPaths(run).eval, "torn"));
    const { evaluations, problems } = await readEvaluations(run);
    expect(evaluations.map(({ name }) => name)).toEqual(["b", "a"]);
    expect(problems).toEqual([expect.stringContaining("torn")]);
  });
});
