/**
 * kill -9 at random moments of the starter run: whatever the process was at, the next one goes on, and
 * the final weights are those of a run that was left alone.
 *
 *     CODE_RLVR_KILLS=50      kills in all, several in each run; CODE_RLVR_SLOW=1 asks for 50
 *     CODE_RLVR_KILL_SEED=7   other moments
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { randomStream } from "../../src/core/random.js";
import { readLines, runPaths } from "../../src/core/run.js";
import { listCheckpoints } from "../../src/train/checkpoint.js";
import { traces } from "../train/traces.js";

const { CODE_RLVR_KILLS, CODE_RLVR_KILL_SEED, CODE_RLVR_SLOW } = process.env;
const KILLS = Number(CODE_RLVR_KILLS ?? (CODE_RLVR_SLOW === undefined ? 4 : 50));
const SEED = Number(CODE_RLVR_KILL_SEED ?? 1);
const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const root = mkdtempSync(join(tmpdir(), "rlvr-kills-"));
afterAll(() => rmSync(root, { recursive: true }));

/** The starter run with its real model, data and sandbox: fewer steps, and a checkpoint after each. */
const SHORT = [
  ...["--preset", "starter", "--no-eval", "trainer.total_training_steps=6", "trainer.save_freq=1"],
  ...["trainer.test_freq=2", "trainer.max_actor_ckpt_to_keep=null", "data.val_max_samples=8"],
  ...["data.train_batch_size=16", "actor_rollout_ref.actor.ppo_mini_batch_size=8"],
  ...["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8", "embedded.threads=1"],
  ...["verifier.workers=1", "health.preflight_samples=0"],
  // A busy machine must not change a verdict.
  ...["verifier.time_limit_ms=4000", "verifier.wall_limit_ms=60000"],
];

/**
 * When a process is killed: a time after it started, or after it wrote so many lines of metrics; none
 * is when everything is loaded. So a slow machine changes how often a moment comes, not where it lies.
 */
interface Moment {
  lines: number | "start";
  ms: number;
}

/** Runs until the end, or until it is killed; says which, and when it began to train. */
function start(dir: string, moment: Moment | null): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const args = ["--import", "tsx", MAIN, "train", ...SHORT, "--out", dir];
    const began = performance.now();
    const before = writtenAt(dir);
    let trainingAt: number | null = null;
    let linesThen = 0;
    let from: number | null = moment?.lines === "start" ? began : null;
    const look = setInterval(() => {
      const now = performance.now();
      if (trainingAt === null && writtenAt(dir) !== before) {
        trainingAt = now;
        linesThen = linesOf(dir);
      }
      const isTraining = trainingAt !== null && typeof moment?.lines === "number";
      if (from === null && isTraining && linesOf(dir) - linesThen >= Number(moment.lines))
        from = now;
      if (from !== null && now - from >= Number(moment?.ms)) child.kill(9);
    }, 3);
    const child = execFile(process.execPath, args, (error, _, stderr) => {
      clearInterval(look);
      const now = performance.now();
      const times = { wholeMs: now - began, trainingMs: now - (trainingAt ?? now) };
      if (error === null) resolve({ end: "finished", ...times });
      else if (child.signalCode === "SIGKILL") resolve({ end: "killed", ...times });
      else reject(new Error(stderr));
    });
  });
}

interface Ended {
  end: "finished" | "killed";
  wholeMs: number;
  trainingMs: number;
}

function linesOf(dir: string): number {
  const { metrics } = runPaths(dir);
  return existsSync(metrics) ? readFileSync(metrics, "utf8").split("\n").length - 1 : 0;
}

/** A process writes run.json when everything is loaded. */
function writtenAt(dir: string): number {
  return statSync(runPaths(dir).info, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Steps that a process which was killed had left behind. */
async function progress(dir: string): Promise<string> {
  const lines = await readLines(runPaths(dir).metrics);
  return `${lines.length} lines, checkpoints ${(await listCheckpoints(dir)).join(" ") || "none"}`;
}

test(
  `${KILLS} kills of the starter run leave its weights as they are`,
  { timeout: 60_000 * (KILLS + 5) },
  async () => {
    const undisturbed = join(root, "undisturbed");
    const { end, wholeMs, trainingMs } = await start(undisturbed, null);
    expect(end).toBe("finished");
    const expected = await traces(undisturbed);
    expect(expected.steps).toEqual([1, 2, 3, 4, 5, 6]);
    console.log(`kills: seed ${SEED}, ${KILLS} kills, a whole run takes ${Math.round(wholeMs)} ms`);
    const random = randomStream(SEED, "kills");
    let kills = 0;
    for (let run = 1; kills < KILLS; run++) {
      const dir = join(root, `run-${run}`);
      for (;;) {
        // Most moments lie in the training: loading takes longer, and writes nothing.
        const lines = random.next() < 0.15 ? "start" : random.integer(3);
        const stepMs = trainingMs / expected.steps.length;
        const ms = Math.round(random.next() * (lines === "start" ? wholeMs - trainingMs : stepMs));
        const { end } = await start(dir, kills < KILLS ? { lines, ms } : null);
        if (end === "finished") break;
        kills++;
        console.log(
          `kill ${kills}: run ${run}, ${ms} ms after ${lines === "start" ? lines : `${lines} lines`}, ${await progress(dir)}`,
        );
      }
      const found = await traces(dir);
      expect(found.checkpoint).toEqual(expected.checkpoint);
      expect(found.steps).toEqual(expected.steps);
      rmSync(dir, { recursive: true });
    }
  },
);
