import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { DataError } from "../core/errors.js";
import { appendLine, type RunInfo, runPaths } from "../core/run.js";
import { RunStore, type RunSummary } from "./run-store.js";

const root = mkdtempSync(join(tmpdir(), "runs-"));
afterAll(() => rmSync(root, { recursive: true }));

const INFO: RunInfo = {
  ...{ format: 1, name: "run", preset: "starter", engine: "embedded", seed: 42 },
  ...{ startedAt: "2026-01-01T00:00:00.000Z", version: "0.1.0", isolation: "full" },
  ...{ totalSteps: 2, status: "finished", pid: null },
};
const record = (step: number) => ({ step, phase: "train", time: step, metrics: { a: step } });

describe("RunStore", () => {
  let dir: string;
  let name: string;
  let store: RunStore;
  let runs = 0;
  beforeEach(() => {
    name = `run-${runs++}`;
    dir = join(root, name);
    mkdirSync(runPaths(dir).rollouts, { recursive: true });
    writeFileSync(runPaths(dir).info, JSON.stringify(INFO));
    appendLine(runPaths(dir).metrics, record(1));
    appendLine(runPaths(dir).metrics, record(2));
    store = new RunStore(root);
  });

  test("has nothing to say of a whole run", async () => {
    expect(await store.summary(name)).toMatchObject({ status: "finished", step: 2, problems: [] });
  });

  test("shows the steps around torn lines of metrics, and counts the lines", async () => {
    appendFileSync(runPaths(dir).metrics, '{"step":3,"phase":"tr\n[]\n');
    appendLine(runPaths(dir).metrics, record(4));
    appendFileSync(runPaths(dir).metrics, '{"step":5,"pha');
    const { step, problems } = await store.summary(name);
    expect(step).toBe(4);
    expect(problems).toEqual(["2 lines of metrics.jsonl are not metrics and are left out"]);
  });

  test("says which other files of an opened run have torn lines", async () => {
    appendFileSync(runPaths(dir).health, '{"step":3,"ru\n');
    appendFileSync(runPaths(dir).rolloutIndex, "\u0000\u0000\n");
    const run = store.open(name);
    await run.refresh();
    await run.rollouts.refresh();
    expect((await store.summary(name)).problems).toEqual([
      "1 lines of health.jsonl are not health events and are left out",
      "1 lines of rollouts/index.jsonl are not entries of rollouts and are left out",
    ]);
  });

  test("says that a run which has ended has no metrics", async () => {
    rmSync(runPaths(dir).metrics);
    const { step, problems } = await store.summary(name);
    expect(step).toBe(0);
    expect(problems).toEqual(["there is no metrics.jsonl, though the run is finished"]);
  });

  test.each([
    ["missing", () => rmSync(runPaths(dir).info)],
    ["empty", () => writeFileSync(runPaths(dir).info, "")],
    ["cut short", () => writeFileSync(runPaths(dir).info, '{"format":1,"na')],
  ])("shows the steps of a run whose run.json is %s", async (_, spoil) => {
    spoil();
    const { status, step, problems } = await store.summary(name);
    expect({ status, step }).toEqual({ status: "unreadable", step: 2 });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("expected a run directory with a readable run.json");
  });

  test.each([
    ["lacks all but its status", { status: "finished" }, "format"],
    ["starts at a number", { ...INFO, startedAt: 5 }, "startedAt"],
    ["starts at no time", { ...INFO, startedAt: "yesterday" }, "startedAt"],
    ["counts its steps in words", { ...INFO, totalSteps: "six" }, "totalSteps"],
    ["is null", null, ""],
  ])("lists a run whose run.json %s beside the others", async (_, info, field) => {
    writeFileSync(runPaths(dir).info, JSON.stringify(info));
    const runs = await store.list();
    expect(runs.length).toBeGreaterThan(1);
    const { status, problems } = runs.find((run) => run.name === name) as RunSummary;
    expect(status).toBe("unreadable");
    expect(problems[0]).toMatch(new RegExp(`readable run.json; ${field}`));
  });

  test.each([
    ["metrics.jsonl", (): string => runPaths(dir).metrics],
    ["health.jsonl", (): string => runPaths(dir).health],
  ])("lists a run whose %s cannot be read, and says so", async (file, path) => {
    rmSync(path(), { force: true });
    mkdirSync(path());
    writeFileSync(join(path(), "long"), "x");
    const { problems } = (await store.list()).find((run) => run.name === name) as RunSummary;
    expect(problems).toEqual([expect.stringMatching(`${file}: expected a file to read: EISDIR`)]);
    const run = store.open(name);
    await run.refresh();
    expect(run.unreadable()).toHaveLength(1);
  });

  test("leaves out a health line that is no event", async () => {
    writeFileSync(runPaths(dir).health, 'null\n{"step":1}\n');
    const run = store.open(name);
    await run.refresh();
    expect(run.health).toEqual([]);
    expect((await store.summary(name)).problems).toEqual([
      "2 lines of health.jsonl are not health events and are left out",
    ]);
  });

  test("a folder of runs that is not there is an error with its cure", async () => {
    await expect(RunStore.at(join(root, "no-such"))).rejects.toThrow(/no-such.*make an empty one/);
    await expect(RunStore.at(root)).resolves.toBeInstanceOf(RunStore);
  });

  test("names a checkpoint whose writing was cut short, and not one being written", async () => {
    mkdirSync(runPaths(dir).checkpointOf(1), { recursive: true });
    writeFileSync(join(runPaths(dir).checkpointOf(1), "manifest.json"), "{}");
    mkdirSync(runPaths(dir).checkpointOf(2), { recursive: true });
    mkdirSync(join(runPaths(dir).checkpoints, ".step_000003.partial"));
    expect((await store.summary(name)).problems).toEqual([
      "checkpoint step_000002 has no manifest: its writing was cut short",
    ]);
  });

  test("goes without the rates of a report that is no JSON", async () => {
    mkdirSync(runPaths(dir).report);
    writeFileSync(join(runPaths(dir).report, "report.json"), "{");
    expect(await store.summary(name)).toMatchObject({ before: null, after: null, step: 2 });
  });

  test("lists another tool's folder as unreadable, and files not at all", async () => {
    mkdirSync(join(root, "other-tool"), { recursive: true });
    writeFileSync(join(root, "other-tool", "events.out.tfevents"), "x");
    writeFileSync(join(root, "notes.txt"), "x");
    const found = (await store.list()).filter((run) => !run.name.startsWith("run-"));
    expect(found.map((run) => [run.name, run.status])).toEqual([["other-tool", "unreadable"]]);
  });

  test("reads a record that is not where the index says as an error with its place", async () => {
    const entry = {
      ...{ step: 1, group: 0, sample: 0, problemId: "p", verdict: "accepted", reward: 1 },
      ...{ passRate: 1, format: true, responseTokens: 3, offset: 0, length: 40 },
    };
    appendLine(runPaths(dir).rolloutIndex, entry);
    const { rollouts } = store.open(name);
    await rollouts.refresh();
    const { entries } = await rollouts.find({ skip: 0, limit: 1 });
    await expect(rollouts.read(entries[0])).rejects.toThrow(/step_000001.jsonl.*byte 0/);
    writeFileSync(runPaths(dir).rolloutsOf(1), '{"step":1,"gro');
    await expect(rollouts.read(entries[0])).rejects.toThrow(DataError);
  });

  test("opens nothing outside its folder", () => {
    expect(() => store.open("../elsewhere")).toThrow("expected the name of a run");
  });
});
