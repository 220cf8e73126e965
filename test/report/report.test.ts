/** The report: pairing, what it says of noise, what it refuses, and the three files. */
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Evaluation } from "../../src/core/evaluation.js";
import { mcnemarExact } from "../../src/core/statistics.js";
import { compareEvaluations } from "../../src/report/compare.js";
import { type Report, reportPaths, writeReport } from "../../src/report/report.js";
import { conclude } from "../../src/report/sentence.js";
import { problemsOf } from "../eval/fakes.js";
import { sampleEvaluation, sampleRun, withSamples } from "./sample.js";

const fair = { allowDifferent: false };
const temporary = () => mkdtemp(join(tmpdir(), "report-"));

/** An evaluation in which exactly these problems are right. */
function solving(evaluation: Evaluation, solved: readonly number[]): Evaluation {
  const ids = new Set(solved.map((i) => `p${i}`));
  return withSamples(evaluation, ({ problemId }) => {
    const isRight = ids.has(problemId);
    return { verdict: isRight ? "accepted" : "wrong_answer", passRate: isRight ? 1 : 0 };
  });
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

describe("compareEvaluations", () => {
  test("puts every problem into its field of the paired table", async () => {
    const made = await sampleEvaluation("before", 0.5, { problems: problemsOf(10) });
    const before = solving(made, [0, 1, 2]);
    const after = solving(made, [2, 3, 4, 5, 6]);
    const { counts, mcnemar, passAt1, pairs } = compareEvaluations(before, after, fair);
    expect(counts).toEqual({ gained: 4, lost: 2, both: 1, neither: 3 });
    expect(mcnemar).toBe(mcnemarExact(4, 2));
    expect(passAt1.difference).toBeCloseTo(0.2, 12);
    expect(pairs.find(({ problemId }) => problemId === "p0")?.outcome).toBe("lost");
  });

  test("says a difference beyond noise and one within", async () => {
    const made = await sampleEvaluation("x", 0.5, { problems: problemsOf(100) });
    const clear = compareEvaluations(
      solving(made, range(0, 30)),
      solving(made, range(10, 70)),
      fair,
    );
    expect(clear.isBeyondNoise).toBe(true);
    expect(conclude(clear)).toContain("more than chance explains");
    const faint = compareEvaluations(
      solving(made, range(0, 30)),
      solving(made, range(2, 35)),
      fair,
    );
    expect(faint.isBeyondNoise).toBe(false);
    expect(faint.problemsNeeded).toBeGreaterThan(100);
    expect(conclude(faint)).toMatch(/within noise.*about [\d,]+ problems/);
    const same = compareEvaluations(made, made, fair);
    expect(conclude(same)).toContain("no difference");
  });

  test("averages several samples of a problem and leaves McNemar out", async () => {
    const problems = problemsOf(8);
    const before = await sampleEvaluation("before", 0.3, { problems, n: 4 });
    const after = await sampleEvaluation("after", 0.7, { problems, n: 4 });
    const { mcnemar, passAt1 } = compareEvaluations(before, after, fair);
    const rate = ({ info }: Evaluation) => info.passAtK["1"];
    expect(mcnemar).toBeNull();
    expect(passAt1.difference).toBeCloseTo(rate(after) - rate(before), 12);
  });

  test("leaves out problems that only one side has, and broken ones", async () => {
    const before = await sampleEvaluation("before", 0.5, { problems: problemsOf(10) });
    const after = {
      ...before,
      samples: before.samples
        .slice(0, 9)
        .map((sample, i) => (i === 0 ? { ...sample, verdict: "bad_problem" as const } : sample)),
    };
    const { pairs, unpaired } = compareEvaluations(before, after, fair);
    expect(pairs).toHaveLength(8);
    expect(unpaired).toBe(2);
  });

  test("refuses evaluations whose settings differ, and names the settings", async () => {
    const before = await sampleEvaluation("before", 0.5);
    const after = await sampleEvaluation("after", 0.5, { temperature: 0, maxTokens: 2048 });
    expect(() => compareEvaluations(before, after, fair)).toThrow(
      /temperature 1 → 0; maxTokens 1024 → 2048.*--allow-different/,
    );
    const { differingSettings } = compareEvaluations(before, after, { allowDifferent: true });
    expect(differingSettings.map(({ key }) => key)).toEqual(["temperature", "maxTokens"]);
  });

  test("refuses evaluations whose requests had other further keys", async () => {
    const before = await sampleEvaluation("before", 0.5);
    const settings = { ...before.info.settings, extraBody: { repeat_penalty: 1.3 } };
    const after = { ...before, info: { ...before.info, settings } };
    expect(() => compareEvaluations(before, after, fair)).toThrow(
      'extraBody {} → {"repeat_penalty":1.3}',
    );
  });

  test("takes another seed for no difference of settings", async () => {
    const before = await sampleEvaluation("before", 0.5);
    const after = await sampleEvaluation("after", 0.5, { seed: 7 });
    const { differingSettings } = compareEvaluations(before, after, fair);
    expect(differingSettings.map(({ key }) => key)).toEqual(["seed"]);
  });

  test("refuses evaluations without a problem in common", async () => {
    const before = await sampleEvaluation("before", 0.5);
    const after = { ...before, samples: [] };
    expect(() => compareEvaluations(before, after, fair)).toThrow("no scored problem in common");
  });
});

describe("writeReport", () => {
  test("writes JSON with both sides and the ids gained and lost", async () => {
    const dir = await temporary();
    const made = await sampleEvaluation("x", 0.5, { problems: problemsOf(10) });
    const before = solving(made, [0, 1, 2]);
    const report = await writeReport(before, solving(made, [2, 3]), dir);
    const read = JSON.parse(await readFile(reportPaths(dir).json, "utf8")) as Report;
    expect(read).toEqual(report);
    expect(read).toMatchObject({ gained: ["p3"], lost: ["p0", "p1"], both: ["p2"] });
    const { info } = made;
    const side = { pass_rate: info.passRate, format: info.formatRate, n: 10 };
    expect(read.before).toMatchObject(side);
  });

  test("writes a page that loads nothing from elsewhere and runs nothing", async () => {
    const dir = await temporary();
    const before = await sampleEvaluation("before", 0.3);
    const after = await sampleEvaluation("after", 0.7);
    const run = await sampleRun(join(dir, "run"));
    await writeReport(before, after, dir, { runDirs: [run] });
    const page = await readFile(reportPaths(dir).html, "utf8");
    expect(page).not.toMatch(/<script|<link|<img|https?:\/\/|url\(|@import/);
    expect(page).toContain("Verdicts of the rollouts");
    for (const chart of ["Pass rate", "Format", "Response length", "KL to the reference"]) {
      expect(page).toContain(`<figcaption>${chart}`);
    }
    expect(page).not.toMatch(/NaN|undefined|Infinity/);
  });

  test("says the same scores and settings in Markdown and on the page", async () => {
    const dir = await temporary();
    const before = await sampleEvaluation("before", 0.3);
    const after = await sampleEvaluation("after", 0.7, { maxTokens: 2048 });
    await writeReport(before, after, dir, { allowDifferent: true });
    const [markdown, page] = await Promise.all(
      [reportPaths(dir).markdown, reportPaths(dir).html].map((path) => readFile(path, "utf8")),
    );
    const names = [
      ...["pass@1 (95 %)", "format", "problems × samples", "completion tokens"],
      ...["extraBody", "version", "isolation", "wall time", "HumanEval"],
    ];
    for (const name of names) {
      expect(markdown).toContain(`| ${name} |`);
      expect(page).toContain(`<td>${name}</td>`);
    }
    expect(markdown).toContain("| maxTokens | 1024 | 2048 |");
    expect(page).toContain('<td>maxTokens</td><td class="setting down">1024</td>');
  });

  test("shows what a model wrote as text, never as markup", async () => {
    const dir = await temporary();
    const made = await sampleEvaluation("x", 0.5);
    const hostile = withSamples(made, () => ({ program: '</code><script>alert("x")</script>' }));
    await writeReport(hostile, hostile, dir);
    const page = await readFile(reportPaths(dir).html, "utf8");
    expect(page).not.toContain("<script>");
    expect(page).toContain("&lt;script&gt;");
  });

  test("warns of completions cut off and of missing samples", async () => {
    const dir = await temporary();
    const made = await sampleEvaluation("x", 0.5);
    const cut = { ...made, info: { ...made.info, truncated: 30, missing: 2 } };
    const { warnings } = await writeReport(made, cut, dir);
    expect(warnings).toEqual([
      "x is incomplete: 2 samples are missing.",
      expect.stringMatching(/50\.0 % of the completions of x were cut off at 1024 tokens/),
      "both evaluations are of the same weights.",
    ]);
  });
});
