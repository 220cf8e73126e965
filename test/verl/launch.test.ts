/** A stand-in for veRL, as a real process, drives the launcher through every way a run can go. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { resolveConfig } from "../../src/config/resolve.js";
import { LaunchError, SandboxError } from "../../src/core/errors.js";
import { type MetricsRecord, readLines, readRunInfo, runPaths } from "../../src/core/run.js";
import type { Rollout } from "../../src/core/rollout.js";
import { toVerlRow } from "../../src/formats/verl-rows.js";
import { type Problem, problemSchema } from "../../src/core/problem.js";
import { startLocal } from "../../src/launch/job.js";
import {
  launch,
  type LaunchEvent,
  type LaunchOptions,
  prepareData,
} from "../../src/launch/launch.js";
import { planLaunch } from "../../src/launch/plan.js";
import { probeMachine } from "../../src/launch/probe.js";
import { HealthMonitor } from "../../src/train/health.js";

const FAKE = fileURLToPath(new URL("./fake_verl.py", import.meta.url));

let dir = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "launch-"));
  const wrapper = `#!/bin/sh\nexport FAKE_PYTHON=${join(dir, "python")}\nexec python3 ${FAKE} "$@"\n`;
  writeFileSync(join(dir, "python"), wrapper);
  chmodSync(join(dir, "python"), 0o755);
});
afterEach(() => {
  delete process.env.FAKE_VERL;
  rmSync(dir, { recursive: true, force: true });
});

const problem: Problem = problemSchema.parse({
  id: "sum/1",
  source: "apps",
  prompt: [{ role: "user", content: "Print the sum." }],
  tests: { kind: "stdio", cases: [{ input: "1 2\n", output: "3\n" }] },
});

interface Settings {
  fake?: Record<string, unknown>;
  overrides?: string[];
  options?: Partial<LaunchOptions>;
}

/** Runs one launch with the stand-in. */
async function run({ fake = {}, overrides = [], options = {} }: Settings) {
  const { ground_truth: gts } = toVerlRow(problem).reward_model;
  const rows = [1, 2, 3, 4].map((n) => ({ output: `\`\`\`python\nprint(${n})\n\`\`\``, gts }));
  process.env.FAKE_VERL = JSON.stringify({ rows, ...fake });
  const lines = Array.from({ length: 128 }, (_, index) => {
    // A prompt that several problems share tells none of them.
    const content = index === 0 ? problem.prompt[0].content : `Print the sum of line ${index + 1}.`;
    const own = { id: `sum/${index + 1}`, prompt: [{ role: "user", content }] };
    return JSON.stringify({ ...problem, ...own }) + "\n";
  });
  writeFileSync(join(dir, "train.jsonl"), lines.join(""));
  const resolved = resolveConfig({
    preset: "qwen2.5-coder-0.5b-1gpu",
    overrides: [
      `launch.python=${join(dir, "python")}`,
      `data.train_files=${join(dir, "train.jsonl")}`,
      `data.val_files=${join(dir, "train.jsonl")}`,
      "trainer.total_training_steps=4",
      ...overrides,
    ],
  });
  const python = resolved.config.launch.python;
  const machine = await probeMachine(python, { files: [FAKE], disk: dir });
  const out = join(dir, "run");
  const plan = planLaunch(resolved, {
    dir: out,
    name: "test",
    rewardShim: FAKE,
    token: null,
    python: machine.python,
    knownKeys: machine.knownKeys,
  });
  const { train } = await prepareData(plan);
  const events: LaunchEvent[] = [];
  const { onEvent } = options;
  const summary = await launch(plan, resolved, {
    start: (onLine) =>
      Promise.resolve(
        startLocal(
          { command: plan.command, onLine },
          { environment: process.env, patienceMs: 2000 },
        ),
      ),
    problems: train.problems,
    trainRows: train.rows,
    judge: async (completion) => {
      const isRight = completion.includes("print(3)");
      const verdict = isRight ? "accepted" : "wrong_answer";
      return { program: "", format: true, verdicts: [verdict], verdict, passRate: Number(isRight) };
    },
    observe: () => [],
    signal: new AbortController().signal,
    isolation: null,
    pollMs: 50,
    ...options,
    onEvent: (event) => {
      events.push(event);
      onEvent?.(event);
    },
  });
  const metrics = await readLines<MetricsRecord>(runPaths(out).metrics);
  return { summary, events, metrics, out, plan };
}

describe("launch", () => {
  test("follows a run that succeeds into our run directory", async () => {
    const { summary, metrics, out } = await run({});
    expect(summary).toMatchObject({ status: "finished", lastStep: 4, failure: null });
    expect(summary.end.code).toBe(0);
    expect(metrics.map(({ step, phase }) => `${step} ${phase}`)).toEqual([
      ...["0 val", "1 train", "2 train", "2 val", "3 train", "4 train", "4 val"],
    ]);
    expect(metrics[3].metrics["val-core/apps/acc/mean@1"]).toBeCloseTo(0.2);
    const { metrics: last } = metrics[5];
    expect(last["critic/score/mean"]).toBeCloseTo(0.4);
    expect(last["reward/score"]).toBeCloseTo(0.4);
    expect(last["reward/pass_rate"]).toBeCloseTo(0.25);
    expect(last["verdict/accepted"]).toBeCloseTo(0.25);
    expect(last.kl).toBeCloseTo(0.004);
    const rollouts = await readLines<Rollout>(runPaths(out).rolloutsOf(3));
    expect(rollouts.map(({ group, sample }) => [group, sample])).toEqual([
      ...[
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
      ],
    ]);
    expect(rollouts[2]).toMatchObject({ problemId: "sum/1", verdict: "accepted", reward: 0.3 });
    expect(rollouts[0].prompt).toEqual(problem.prompt);
    const info = await readRunInfo(out);
    expect(info).toMatchObject({ engine: "verl", status: "finished", totalSteps: 4, pid: null });
    expect(summary.checkpoints.map((path) => path.split("/").at(-1))).toEqual([
      "global_step_2",
      "global_step_4",
    ]);
  });

  test("a dump that comes after its metrics is waited for, and no record is told twice", async () => {
    const { metrics } = await run({ fake: { late: 0.3 } });
    expect(metrics.map(({ step, phase }) => `${step} ${phase}`)).toEqual([
      ...["0 val", "1 train", "2 train", "2 val", "3 train", "4 train", "4 val"],
    ]);
    expect(metrics[3].metrics["reward/score"]).toBeCloseTo(0.2);
  });

  test("a crash after some steps is told with its cause, and the same launch goes on", async () => {
    const first = await run({ fake: { crash_after: 3 } });
    expect(first.summary).toMatchObject({ status: "failed", lastStep: 3 });
    expect(first.summary.end.code).toBe(1);
    expect(first.summary.failure?.what).toMatch(/GPU ran out of memory/);
    const second = await run({});
    expect(second.events.find(({ kind }) => kind === "started")).toMatchObject({ resumedFrom: 2 });
    expect(second.summary.status).toBe("finished");
    // Step 3 of the first launch was beyond its checkpoint: it was done again, not told twice.
    expect(second.metrics.map(({ step, phase }) => `${step} ${phase}`)).toEqual([
      ...["0 val", "1 train", "2 train", "2 val", "3 train", "4 train", "4 val"],
    ]);
    expect(second.plan.paths.metricsFile).toMatch(/metrics-2\.jsonl$/);
  });

  test("dumps of steps that are done again are gone before veRL starts", async () => {
    const first = await run({ fake: { crash_after: 5, save_freq: 3, steps: 8 } });
    const { rollouts, validation } = first.plan.paths;
    const dumps = () => [rollouts, validation].map((folder) => readdirSync(folder).sort());
    expect(dumps()[0]).toHaveLength(5);
    let found: string[][] = [];
    const onEvent = ({ kind }: LaunchEvent) => void (kind === "started" && (found = dumps()));
    await run({ fake: { save_freq: 3 }, options: { onEvent } });
    expect(found).toEqual([["1.jsonl", "2.jsonl", "3.jsonl"], ["2.jsonl"]]);
    await run({ overrides: ["trainer.resume_mode=disable"], options: { onEvent } });
    expect(found).toEqual([[], []]);
  });

  test("a lost node is told as one", async () => {
    const { summary } = await run({ fake: { lose_node_after: 2 } });
    expect(summary.failure?.what).toMatch(/node of the cluster was lost/);
  });

  test("a start that fails tells the last lines and the cure", async () => {
    const start_error = "ModuleNotFoundError: No module named 'transfer_queue'";
    const { summary, metrics } = await run({ fake: { start_error } });
    expect(summary).toMatchObject({ status: "failed", lastStep: null });
    expect(summary.failure?.cure).toMatch(/pip install 'TransferQueue/);
    expect(summary.tail.join()).toContain("transfer_queue");
    expect(metrics).toEqual([]);
  });

  test("an exit code that is not 0 is a failure, even after the last step", async () => {
    const { summary } = await run({ fake: { exit: 7 } });
    expect(summary).toMatchObject({ status: "failed", lastStep: 4, end: { code: 7 } });
  });

  test("Ctrl-C stops the job, and no process is left", async () => {
    const stop = new AbortController();
    const onEvent = (event: LaunchEvent) => {
      if (event.kind === "record" && event.record.step === 2) stop.abort();
    };
    const { summary, events, out } = await run({
      fake: { hang_after: 2 },
      options: { signal: stop.signal, onEvent },
    });
    expect(summary.status).toBe("interrupted");
    expect((await readRunInfo(out)).status).toBe("interrupted");
    const started = events.find((event) => event.kind === "started");
    expect(() => process.kill(-Number(started?.job), 0)).toThrow(/ESRCH/);
  });

  describe("what cannot be followed is stopped, and the run has failed", () => {
    /** Launches what would train on for ever; answers the error, and whether a process is left. */
    async function failing(options: Partial<LaunchOptions>, fake: Record<string, unknown> = {}) {
      let pid = 0;
      const onEvent = (event: LaunchEvent) => {
        if (event.kind === "started") pid = Number(event.job);
        options.onEvent?.(event);
      };
      const error = await run({
        fake: { hang_after: 2, ...fake },
        options: { ...options, onEvent },
      }).then(
        () => null,
        (error: unknown) => error as Error,
      );
      expect(() => process.kill(-pid, 0)).toThrow(/ESRCH/);
      expect(await readRunInfo(join(dir, "run"))).toMatchObject({ status: "failed", pid: null });
      return error;
    }

    test("a judge that fails", async () => {
      const judge = () => Promise.reject(new SandboxError("sandbox: the server is gone"));
      expect(await failing({ judge })).toMatchObject({
        name: "SandboxError",
        message: "sandbox: the server is gone",
      });
    });

    test("a disk on which no metrics can be written", async () => {
      const onEvent = ({ kind }: LaunchEvent) => {
        if (kind === "started") mkdirSync(runPaths(join(dir, "run")).metrics);
      };
      const error = await failing({ onEvent });
      expect(error).toMatchObject({ name: "DataError" });
      expect(error?.message).toMatch(/metrics\.jsonl: cannot write: EISDIR/);
    });

    test("a disk on which veRL's lines cannot be written", async () => {
      const onEvent = ({ kind }: LaunchEvent) => {
        if (kind === "started") mkdirSync(join(runPaths(join(dir, "run")).logs, "verl-1.log"));
      };
      const error = await failing({ onEvent });
      expect(error?.message).toMatch(/verl-1\.log: cannot write: EISDIR/);
    });

    test("a program that does not start", async () => {
      const start = (onLine: (line: string) => void) => {
        const command = { words: [join(dir, "nothing")], environment: {} };
        return Promise.resolve(startLocal({ command, onLine }, { environment: process.env }));
      };
      const launched = run({ options: { start } });
      await expect(launched).rejects.toThrow(/cannot start .*nothing/);
      expect((await readRunInfo(join(dir, "run"))).status).toBe("failed");
    });

    test("and one that cannot be stopped is named, with what had happened", async () => {
      const gone = () => Promise.reject(new LaunchError("ray: no answer"));
      const endless = { id: "raysubmit_1", ended: new Promise<never>(() => {}), stop: gone };
      const stop = new AbortController();
      const asked = run({
        options: {
          ...{ start: () => Promise.resolve(endless), signal: stop.signal },
          onEvent: ({ kind }) => void (kind === "started" && setTimeout(() => stop.abort(), 100)),
        },
      });
      await expect(asked).rejects.toThrow(
        /ray: no answer; then veRL could not be stopped and may still train: .*ray job stop raysubmit_1/,
      );
      expect((await readRunInfo(join(dir, "run"))).status).toBe("failed");
    });
  });

  test("a run that falls silent is told to hang, once", async () => {
    const stop = new AbortController();
    const { events } = await run({
      fake: { hang_after: 1 },
      options: {
        signal: stop.signal,
        quietMs: 300,
        onEvent: (event) => {
          if (event.kind === "notice") setTimeout(() => stop.abort(), 400);
        },
      },
    });
    const notices = events.filter(({ kind }) => kind === "notice");
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatchObject({ message: expect.stringMatching(/may hang/) as string });
  });

  test.each([false, true])("a loss that is not a number stops the run (bare: %s)", async (bare) => {
    const monitor = new HealthMonitor({ repeatEvery: 10, stopOn: ["nan"] });
    const { summary, events, out } = await run({
      fake: { nan_at: 2, bare_nan: bare, pause: 0.3, steps: 20 },
      options: { observe: (record) => monitor.observe(record) },
    });
    expect(
      events.some((event) => event.kind === "health" && event.event.severity === "fatal"),
    ).toBe(true);
    expect(summary.status).toBe("failed");
    expect(summary.lastStep).toBeLessThan(20);
    expect(readFileSync(runPaths(out).health, "utf8")).toContain('"severity":"fatal"');
  });

  test("samples that no service could judge count, and too many stop the run", async () => {
    const monitor = new HealthMonitor({ repeatEvery: 10, stopOn: ["infra_errors"] });
    // Four completions are in the dump of a step; those of a validation are not counted.
    const lost = { "1": ["validation"], "3": ["train", "validation"] };
    const { summary, metrics } = await run({
      fake: { lost, pause: 0.3, steps: 20 },
      options: { observe: (record) => monitor.observe(record) },
    });
    const shares = metrics
      .filter(({ phase }) => phase === "train")
      .map(({ metrics: { "reward/infra_error": share } }) => share);
    expect(shares.slice(0, 3)).toEqual([0, 0, 1 / 5]);
    expect(summary).toMatchObject({ status: "failed", failure: null });
    expect(summary.lastStep).toBeLessThan(20);
    const again = await run({ fake: { steps: 4 } });
    expect(again.metrics.at(-2)?.metrics["reward/infra_error"]).toBe(0);
  });

  test("a release without a file logger is followed by its console", async () => {
    // That release dumps no ground truths.
    const decoded = "system\n\nuser\nPrint the sum.\nassistant\n";
    const { summary, metrics, plan, out } = await run({
      fake: { versions: { verl: "0.5.0", numpy: "1.26.4" }, input: decoded },
    });
    expect(plan.command.words.join(" ")).not.toContain("file]");
    expect(summary.status).toBe("finished");
    expect(metrics.at(-2)?.metrics["critic/score/mean"]).toBeCloseTo(0.4);
    expect(metrics.at(-2)?.metrics["reward/pass_rate"]).toBeCloseTo(0.25);
    expect(await readLines<Rollout>(runPaths(out).rolloutsOf(4))).toHaveLength(4);
  });
});
