import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Rollout } from "../core/rollout.js";
import { runPaths, writeRollouts } from "../core/run.js";
import type { VerdictKind } from "../core/verdict.js";
import { RolloutTable } from "./rollout-table.js";

const run = mkdtempSync(join(tmpdir(), "rollouts-"));
afterAll(() => rmSync(run, { recursive: true }));

const rollout = (
  step: number,
  sample: number,
  verdict: VerdictKind,
  completion: string,
): Rollout => ({
  ...{ step, group: 0, sample, problemId: `p${sample}`, prompt: [], completion, finish: "stop" },
  ...{ promptTokens: 1, responseTokens: completion.length, tokens: [], logprobs: [] },
  ...{ advantages: null, program: null, format: verdict !== "no_program", verdicts: [verdict] },
  ...{ verdict, passRate: 0, reward: verdict === "accepted" ? 1 : 0 },
});

beforeAll(async () => {
  mkdirSync(runPaths(run).rollouts);
  await writeRollouts(run, 1, [
    rollout(1, 0, "accepted", "größer"),
    rollout(1, 1, "no_program", "hm"),
  ]);
  await writeRollouts(run, 2, [
    rollout(2, 0, "accepted", "print"),
    rollout(2, 1, "wrong_answer", "x = 1"),
  ]);
});

const find = async (query: Partial<Parameters<RolloutTable["find"]>[0]>) => {
  const table = new RolloutTable(run);
  await table.refresh();
  const page = await table.find({ skip: 0, limit: 10, ...query });
  return { ...page, names: page.entries.map(({ step, sample }) => `${step}/${sample}`) };
};

describe("RolloutTable", () => {
  test("answers the newest first, in pages", async () => {
    expect(await find({ limit: 3 })).toMatchObject({ total: 4, names: ["2/1", "2/0", "1/1"] });
    expect(await find({ limit: 3, skip: 3 })).toMatchObject({ names: ["1/0"] });
  });

  test.each([
    [{ verdicts: ["accepted"] as const }, ["2/0", "1/0"]],
    [{ stepTo: 1 }, ["1/1", "1/0"]],
    [{ rewardTo: 0.5, stepFrom: 2 }, ["2/1"]],
    [{ tokensFrom: 5, tokensTo: 5 }, ["2/1", "2/0"]],
    [{ format: false }, ["1/1"]],
    [{ problemId: "p1" }, ["2/1", "1/1"]],
    [{ problemId: "unknown" }, []],
    [{ text: "öß" }, ["1/0"]],
    [{ text: "p", order: "oldest" as const }, ["2/0"]],
  ])("finds %j", async (query, names) => {
    expect((await find(query)).names).toEqual(names);
  });

  test("reads the very record, counting bytes and not letters", async () => {
    const table = new RolloutTable(run);
    await table.refresh();
    const { entries } = await table.find({ skip: 0, limit: 10, order: "oldest" });
    const completions = await Promise.all(
      entries.map(async (entry) => (await table.read(entry)).completion),
    );
    expect(completions).toEqual(["größer", "hm", "print", "x = 1"]);
  });

  test("sees what is appended later", async () => {
    const table = new RolloutTable(run);
    await table.refresh();
    const before = table.length;
    appendFileSync(runPaths(run).rolloutIndex, '{"step":3,"torn');
    await table.refresh();
    expect(table.length).toBe(before);
  });
});
