import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { appendLine, runPaths } from "../core/run.js";
import { countOutcomes } from "./outcomes.js";
import { readProblemTags } from "./problem-tags.js";
import { RolloutTable } from "./rollout-table.js";

const folder = mkdtempSync(join(tmpdir(), "outcomes-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Row = [step: number, problemId: string, reward: number, isRight: boolean, tokens: number];
const ROWS: Row[] = [
  [1, "a", 0, false, 10],
  [1, "b", 0.5, false, 30],
  [2, "a", 1, true, 8],
  [4, "b", 1, true, 6],
  [4, "a", 0, false, 50],
];

async function columnsOf(rows: Row[]) {
  const dir = mkdtempSync(join(folder, "run-"));
  mkdirSync(runPaths(dir).rollouts);
  for (const [i, [step, problemId, reward, isRight, responseTokens]] of rows.entries()) {
    appendLine(runPaths(dir).rolloutIndex, {
      ...{ step, group: i, sample: 0, problemId, reward, passRate: reward, format: true },
      ...{ verdict: isRight ? "accepted" : "wrong_answer", responseTokens },
      ...{ offset: i + 1, length: 1 },
    });
  }
  const table = new RolloutTable(dir);
  await table.refresh();
  return table.columns;
}

const all = { from: -Infinity, to: Infinity, points: 100, tags: new Map() };

describe("countOutcomes", () => {
  test("has one stretch for each step with rollouts when there is room", async () => {
    const outcomes = countOutcomes(await columnsOf(ROWS), all);
    expect(outcomes.steps).toEqual([1, 2, 4]);
    expect(outcomes.rewardMean).toEqual([0.25, 1, 0.5]);
    expect(outcomes.rightLength).toEqual([null, 8, 6]);
    expect(outcomes.wrongLength).toEqual([20, null, 50]);
  });

  test("shares each stretch out over bins, the last with its upper border", async () => {
    const { rewardBins, rewardShares } = countOutcomes(await columnsOf(ROWS), all);
    expect([rewardBins.length, rewardBins[0], rewardBins.at(-1)]).toEqual([13, 0, 1]);
    expect(rewardShares[0]).toEqual([0.5, 0, 0.5]);
    expect(rewardShares[6]).toEqual([0.5, 0, 0]);
    expect(rewardShares[11]).toEqual([0, 1, 0.5]);
  });

  test("joins steps into as many stretches as are wanted", async () => {
    const outcomes = countOutcomes(await columnsOf(ROWS), { ...all, points: 2 });
    expect(outcomes.steps).toEqual([1, 3]);
    expect(outcomes.rewardMean).toEqual([0.5, 0.5]);
  });

  test("counts nothing outside the range, both ends included", async () => {
    const columns = await columnsOf(ROWS);
    expect(countOutcomes(columns, { ...all, from: 2, to: 3 }).steps).toEqual([2]);
    expect(countOutcomes(columns, { ...all, from: 3, to: 3 }).steps).toEqual([]);
    expect(countOutcomes(await columnsOf([]), all).steps).toEqual([]);
  });

  test("splits the pass rate by the values of a tag", async () => {
    const tags = new Map([["difficulty", new Map([["a", "hard"], ["b", "easy"]])]]); // prettier-ignore
    const { kindSteps, passRates } = countOutcomes(await columnsOf(ROWS), { ...all, tags });
    expect(kindSteps).toEqual([1, 2, 3, 4]);
    expect(passRates).toEqual([
      {
        tag: "difficulty",
        values: [
          { name: "easy", rates: [0.5, null, null, 1] },
          { name: "hard", rates: [0, 1, null, 0] },
        ],
      },
    ]);
  });
});

describe("readProblemTags", () => {
  test("knows the tags that tell problems apart, and no others", async () => {
    const dir = mkdtempSync(join(folder, "tags-"));
    const lines = [
      { id: "a", source: "x", tags: { difficulty: "hard", split: "train", index: "0" } },
      { id: "b", source: "x", tags: { difficulty: "easy", split: "train", index: "1" } },
    ].map((problem) => JSON.stringify(problem));
    writeFileSync(join(dir, "problems.jsonl"), [...lines, '{"torn'].join("\n"));
    writeFileSync(
      runPaths(dir).config,
      `data:\n  train_files: ${join(dir, "problems.jsonl")}\n  val_files: ${join(dir, "gone.jsonl")}\n`,
    );
    expect(await readProblemTags(dir)).toEqual(
      new Map([["difficulty", new Map([["a", "hard"], ["b", "easy"]])]]), // prettier-ignore
    );
    expect(await readProblemTags(join(dir, "nothing"))).toEqual(new Map());
  });
});
