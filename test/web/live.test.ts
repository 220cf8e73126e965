/**
 * The dashboard beside a run that really trains: the starter model with learning rates ten times
 * too high, a quarter of the batch, in a process of its own.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Problem } from "../../src/core/problem.js";
import { type RolloutIndexEntry, readLines, runPaths } from "../../src/core/run.js";
import {
  buildPages,
  chromiumPath,
  openBrowser,
  openJudge,
  serveRuns,
  TOKEN,
} from "./open-dashboard.js";
import { writeSyntheticRun } from "./synthetic-run.js";

const reason = chromiumPath === null ? " (skipped: no chromium on the PATH)" : "";
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const STEPS = 12;
const TRAIN = [
  ...["train", "--preset", "starter-lr-too-high", "--no-eval"],
  ...["data.train_batch_size=24", "actor_rollout_ref.actor.ppo_mini_batch_size=12"],
  "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=12",
  ...["trainer.val_before_train=false", "trainer.test_freq=-1", "trainer.save_freq=-1"],
  `trainer.total_training_steps=${STEPS}`,
];
/** Refetches of all curves; at one in two seconds an hour has 1,800. */
const REFETCHES = process.env["CODE_RLVR_SLOW"] === undefined ? 200 : 1800;
/** More than this, in MiB, and something is kept from refetch to refetch. */
const MOST_GROWTH = 1;
const WAIT = { timeout: 120_000 };

describe.skipIf(chromiumPath === null)(`the dashboard beside a training run${reason}`, () => {
  const runs = mkdtempSync(join(tmpdir(), "rlvr-live-"));
  const dir = join(runs, "ill");
  let pages: string;
  let judge: Awaited<ReturnType<typeof openJudge>>;
  let service: Awaited<ReturnType<typeof serveRuns>>;
  let browser: Browser;
  let page: Page;
  let training: ChildProcess;
  const errors: string[] = [];

  beforeAll(async () => {
    pages = await buildPages();
    judge = await openJudge();
    service = await serveRuns({ runs, pages }, judge);
    browser = await openBrowser();
    page = await browser.newPage();
    page.on("pageerror", (error) => errors.push(error.message));
    await page.goto(`${service.url}/#/?token=${TOKEN}`);
  });
  afterAll(async () => {
    training.kill("SIGKILL");
    await browser.close();
    await service.close();
    await judge.close();
    rmSync(runs, { recursive: true });
    rmSync(pages, { recursive: true });
  });

  const isTraining = () => training.exitCode === null;
  const words = () => page.locator('.chart[aria-label="KL"] .plot').getAttribute("aria-label");

  test(
    "finds the run by itself, moves its curves and warns while it trains",
    { timeout: 180_000 },
    async () => {
      await page.getByText("No runs here yet").waitFor();
      training = startTraining(dir);
      await page.getByRole("link", { name: "ill" }).click(WAIT);
      await page.locator(".chart canvas").first().waitFor(WAIT);
      const first = await words();
      await expect.poll(words, WAIT).not.toBe(first);
      expect(isTraining()).toBe(true);
      await page.getByText("the policy runs away from the reference").waitFor(WAIT);
      await page.locator(".health").getByText("over 0.3").waitFor();
      expect(isTraining()).toBe(true);
    },
  );

  test(
    "goes on after the service was restarted, to the run's end",
    { timeout: 180_000 },
    async () => {
      const port = Number(new URL(service.url).port);
      await service.close();
      await page.getByText("not connected").waitFor(WAIT);
      service = await serveRuns({ runs, pages, port }, judge);
      await page.getByText(`step ${STEPS} of ${STEPS}`).waitFor(WAIT);
      await page.getByText("finished").waitFor(WAIT);
      await page.getByText("not connected").waitFor({ ...WAIT, state: "detached" });
      expect(training.exitCode ?? 0).toBe(0);
    },
  );

  test(
    "finds the wrong answers, and shows what they printed beside what was expected",
    { timeout: 60_000 },
    async () => {
      const index = await readLines<RolloutIndexEntry>(runPaths(dir).rolloutIndex);
      expect(index.length).toBe(24 * STEPS);
      const wrong = index.filter(({ verdict }) => verdict === "wrong_answer");
      await page.getByRole("link", { name: "Rollouts" }).click();
      await page.getByLabel("wrong answer").check();
      await page.getByText(`${wrong.length} rollouts`, { exact: true }).waitFor();
      const { problemId, step, group } = wrong[wrong.length - 1];
      await page.goto(`${service.url}/#/run/ill/rollouts?step=${step}&group=${group}`);
      await page.getByRole("button", { name: "Run again" }).click();
      const failed = page.locator('[aria-label="Tests"] details[open]');
      await failed.locator(".verdict-wrong_answer").waitFor(WAIT);
      const { cases } = await testsOf(problemId);
      const number = /\d+/.exec((await failed.locator("summary").textContent()) ?? "")?.[0];
      const output = cases[Number(number) - 1];
      const shown = await failed.locator(".diff pre div:not(.right)").allTextContents();
      expect(
        shown
          .map((line) => line.slice(2))
          .join("\n")
          .trim(),
      ).toBe(output.trim());
      expect(await failed.locator(".diff pre .right").count()).toBeGreaterThan(0);
    },
  );

  test(
    `keeps nothing over ${REFETCHES} refetches of every curve`,
    { timeout: 600_000 },
    async () => {
      writeSyntheticRun(runs, "long", { steps: 2000, rolloutsPerStep: 1, recordsEvery: 1000 });
      await page.goto(`${service.url}/#/run/long`);
      await page.locator(".chart canvas").first().waitFor();
      await refetch(page, 60);
      const before = await heapMb(page);
      await refetch(page, REFETCHES);
      expect((await heapMb(page)) - before).toBeLessThan(MOST_GROWTH);
    },
  );

  test("had no error in the page", () => {
    expect(errors).toEqual([]);
  });
});

function startTraining(dir: string): ChildProcess {
  const main = join(ROOT, "src/cli/main.ts");
  return spawn(process.execPath, ["--import", "tsx", main, ...TRAIN, "--out", dir], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "inherit"],
  });
}

/** What a problem's tests expect, in their order. */
async function testsOf(problemId: string): Promise<{ cases: string[] }> {
  const problems = await readLines<Problem>(join(ROOT, "starter/data/train.jsonl"));
  const tests = problems.find(({ id }) => id === problemId)?.tests;
  if (tests?.kind === "stdio") return { cases: tests.cases.map(({ output }) => output) };
  if (tests?.kind === "call") return { cases: tests.cases.map(({ expected }) => expected) };
  throw new Error(`no tests of ${problemId}`);
}

/** Moves the smoothing to and fro: every move fetches all series anew and draws them in new words. */
async function refetch(page: Page, turns: number): Promise<void> {
  await page.evaluate(`(async () => {
    const slider = document.querySelector('input[type="range"]');
    const charts = document.querySelector(".charts");
    for (let turn = 0; turn < ${turns}; turn++) {
      const drawn = new Promise((resolve) => {
        const observer = new MutationObserver(() => { observer.disconnect(); resolve(); });
        observer.observe(charts, { attributes: true, subtree: true, attributeFilter: ["aria-label"] });
      });
      slider.value = String(0.02 * (1 + (turn % 40)));
      slider.dispatchEvent(new Event("change", { bubbles: true }));
      await drawn;
    }
  })()`);
}

/** The page's heap after a collection. */
async function heapMb(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 2 ** 20;
}
