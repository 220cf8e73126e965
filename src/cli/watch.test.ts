/** `rlvr watch --json`. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "rlvr-watch-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const words = ["--import", "tsx", MAIN, "watch", dir, "--json"];

test("--json prints the newest value of each metric; an empty directory is refused", () => {
  const refused = spawnSync(process.execPath, words, { encoding: "utf8" });
  expect(refused.status).toBe(2);
  expect(refused.stderr).toMatch(/expected a run directory/);
  const lines = [
    { step: 1, phase: "train", time: 1, metrics: { "reward/score": 0.1, "actor/entropy": 0.5 } },
    { step: 2, phase: "train", time: 2, metrics: { "reward/score": 0.2 } },
    { step: 2, phase: "val", time: 3, metrics: { "reward/score": 0.3 } },
  ];
  writeFileSync(
    join(dir, "metrics.jsonl"),
    lines.map((line) => JSON.stringify(line) + "\n").join(""),
  );
  expect(JSON.parse(execFileSync(process.execPath, words, { encoding: "utf8" }))).toEqual({
    run: null,
    status: null,
    step: 2,
    metrics: {
      train: { "reward/score": 0.2, "actor/entropy": 0.5 },
      val: { "reward/score": 0.3 },
    },
    health: [],
  });

  // It says that it runs, its process has ended, and nothing was written for a minute.
  const { pid } = spawnSync("true");
  const past = new Date(Date.now() - 60_000);
  const run = { format: 1, name: "gone", preset: null, engine: "embedded", seed: 1, totalSteps: 9 };
  const state = { startedAt: past.toISOString(), version: "0", isolation: null, status: "running" };
  writeFileSync(join(dir, "run.json"), JSON.stringify({ ...run, ...state, pid }));
  utimesSync(join(dir, "metrics.jsonl"), past, past);
  const gone = JSON.parse(execFileSync(process.execPath, words, { encoding: "utf8" })) as object;
  expect(gone).toMatchObject({ run: { status: "running" }, status: "stale" });
});
