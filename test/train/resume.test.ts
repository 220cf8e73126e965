/** N steps, killed anywhere, resumed: the same bytes as one run that was left alone. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runPaths } from "../../src/core/run.js";
import { listCheckpoints } from "../../src/train/checkpoint.js";
import { train } from "../../src/train/train.js";
import { ArithmeticVerifier, TINY_GRPO, tinyRun, writeFixture } from "./fixture.js";
import { traces } from "./traces.js";

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));
let root: string;
let fixture: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "rlvr-resume-"));
  fixture = join(root, "fixture");
  await writeFixture(fixture);
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Six steps are two epochs; a checkpoint and a validation every second or third step. */
const settings = (saveFreq: number) => [
  "trainer.total_training_steps=6",
  `trainer.save_freq=${saveFreq}`,
  "trainer.test_freq=3",
  "actor_rollout_ref.actor.shuffle=true",
  "algorithm.kl_ctrl.type=adaptive",
  "algorithm.kl_ctrl.horizon=100",
  "actor_rollout_ref.actor.optim.lr_scheduler_type=cosine",
];

function runChild(out: string, kill: string, overrides: string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ["--import", "tsx", CHILD, fixture, out, kill, ...overrides],
      (error, stdout, stderr) => {
        if (error !== null && error.signal !== "SIGKILL") throw new Error(stderr);
        resolve(error === null ? stdout : null);
      },
    );
  });
}

const reference = new Map<string, Awaited<ReturnType<typeof traces>>>();

async function undisturbed(name: string, overrides: string[]) {
  const known = reference.get(name);
  if (known !== undefined) return known;
  const dir = join(root, name);
  await train(tinyRun(fixture, dir, overrides), { verifier: new ArithmeticVerifier() });
  const made = await traces(dir);
  reference.set(name, made);
  return made;
}

describe.each([
  ["PPO", []],
  ["GRPO", TINY_GRPO],
  ["LoRA", ["actor_rollout_ref.model.lora_rank=4"]],
])("a killed %s run", (algorithm, overrides) => {
  test.each([
    ["between two checkpoints", "metrics:5", 2],
    ["at the border of an epoch", "metrics:3", 3],
    ["before a step's metrics are written", "rollouts:4", 2],
    ["while a checkpoint is being written", "partial:4", 2],
    ["after the last step, before its checkpoint", "metrics:6", 2],
    ["before the first checkpoint", "metrics:1", 2],
  ])("%s goes on to the same bytes", async (_, kill, saveFreq) => {
    const all = [...settings(saveFreq), ...overrides];
    const expected = await undisturbed(`${algorithm}-${saveFreq}`, all);
    const dir = join(root, `${algorithm}-${kill.replace(":", "-")}`);
    expect(await runChild(dir, kill, all), "the child was killed").toBeNull();
    const before = await listCheckpoints(dir);
    expect(before).not.toContain(6);
    if (kill === "partial:4") expect(before).not.toContain(4);
    const summary = await train(tinyRun(fixture, dir, all), { verifier: new ArithmeticVerifier() });
    expect(summary.status).toBe("finished");
    expect(await traces(dir)).toEqual(expected);
  });

  test("in two parts, N then M, equals N + M", async () => {
    const all = [
      ...settings(3),
      ...overrides,
      "actor_rollout_ref.actor.optim.lr_scheduler_type=constant",
    ];
    const expected = await undisturbed(`${algorithm}-constant`, all);
    const dir = join(root, `${algorithm}-parts`);
    const half = [...all, "trainer.total_training_steps=3"];
    await train(tinyRun(fixture, dir, half), { verifier: new ArithmeticVerifier() });
    const notices: string[] = [];
    await train(tinyRun(fixture, dir, all), {
      verifier: new ArithmeticVerifier(),
      onEvent: (event) => event.kind === "notice" && notices.push(event.message),
    });
    expect(await traces(dir)).toEqual(expected);
    expect(notices).toContain(
      "changed since the checkpoint: trainer.total_training_steps: was 3, is 6",
    );
  });
});

describe("going back within a run directory", () => {
  const start = (dir: string, overrides: string[]) =>
    train(tinyRun(fixture, dir, ["trainer.save_freq=1", ...overrides]), {
      verifier: new ArithmeticVerifier(),
    });

  test("leaves the later checkpoints aside, and keeps what is saved from there", async () => {
    const dir = join(root, "back");
    await start(dir, ["trainer.total_training_steps=4", "trainer.max_actor_ckpt_to_keep=null"]);
    const back = await start(dir, [
      "trainer.resume_mode=resume_path",
      `trainer.resume_from_path=${runPaths(dir).checkpointOf(1)}`,
      "trainer.total_training_steps=2",
      "trainer.max_actor_ckpt_to_keep=2",
    ]);
    expect(back.modelDir).toBe(join(runPaths(dir).checkpointOf(2), "actor"));
    expect(existsSync(String(back.modelDir))).toBe(true);
    expect(await listCheckpoints(dir)).toEqual([1, 2]);
    expect(existsSync(`${runPaths(dir).checkpointOf(4)}.abandoned`)).toBe(true);
    expect((await readFile(runPaths(dir).latest, "utf8")).trim()).toBe("step_000002");

    await start(dir, ["trainer.total_training_steps=3"]);
    const lines = await readFile(runPaths(dir).metrics, "utf8");
    const steps = lines.match(/"step":\d+,"phase":"train"/g)?.map((word) => /\d+/.exec(word)?.[0]);
    expect(steps).toEqual(["1", "2", "3"]);
  });
});

describe("the best by validation", () => {
  test("has a checkpoint, whenever it came", async () => {
    const dir = join(root, "best");
    // The third validation, after step 4, is the best.
    let asked = 0;
    const verifier = new ArithmeticVerifier(({ maxTests }) => {
      if (maxTests !== null) return {};
      const reward = Math.floor(asked++ / 8) === 2 ? 1 : 0.25;
      return { passRate: reward, reward };
    });
    const steps = ["trainer.total_training_steps=9", "trainer.test_freq=2", "trainer.save_freq=3"];
    const all = [...steps, "trainer.max_actor_ckpt_to_keep=1"];
    const summary = await train(tinyRun(fixture, dir, all), { verifier });
    expect(summary.best?.step).toBe(4);
    expect(await listCheckpoints(dir)).toEqual([4, 9]);
    expect((await readFile(runPaths(dir).best, "utf8")).trim()).toBe("step_000004");
  });
});

describe("weights that are no longer finite", () => {
  test("take the place of no good checkpoint", async () => {
    const dir = join(root, "infinite");
    const notices: string[] = [];
    const all = [
      ...["trainer.total_training_steps=3", "trainer.save_freq=1", "health.stop_on=[]"],
      ...["actor_rollout_ref.actor.optim.lr=1e39", "trainer.val_before_train=false"],
      ...["trainer.test_freq=-1", "actor_rollout_ref.actor.optim.lr_warmup_steps=1"],
    ];
    await train(tinyRun(fixture, dir, all), {
      verifier: new ArithmeticVerifier(),
      onEvent: (event) => event.kind === "notice" && notices.push(event.message),
    });
    expect(await listCheckpoints(dir)).toEqual([1]);
    expect(notices.join("\n")).toContain("step 2 is not saved: its weights are no longer finite");
  });
});

describe("resuming", () => {
  const start = (dir: string, overrides: string[] = [], force = false) =>
    train(tinyRun(fixture, dir, overrides), { verifier: new ArithmeticVerifier(), force });

  test("says so when nothing is left to do", async () => {
    const dir = join(root, "done");
    await start(dir);
    const again = await start(dir);
    expect(again.status).toBe("nothing_to_do");
    expect(again.modelDir).toContain("step_000002");
  });

  test("asked to stop, finishes the step, saves, and goes on to the same bytes", async () => {
    const all = settings(2);
    const expected = await undisturbed("PPO-2", all);
    const dir = join(root, "stopped");
    const stdout = await runChild(dir, "abort:3", all);
    expect(JSON.parse(stdout ?? "")).toMatchObject({ status: "interrupted", step: 3 });
    expect(await listCheckpoints(dir)).toEqual([2, 3]);
    await start(dir, all);
    const found = await traces(dir);
    expect(found.metrics).toBe(expected.metrics);
    expect(found.checkpoint).toEqual(expected.checkpoint);
  });

  test("refuses a checkpoint of another run, and lists what differs", async () => {
    const dir = join(root, "drift");
    await start(dir);
    await expect(start(dir, ["seed=7", "trainer.total_training_steps=3"])).rejects.toThrow(
      /belongs to another run[\s\S]*seed: was 42, is 7/,
    );
    const forced = await start(dir, ["seed=7", "trainer.total_training_steps=3"], true);
    expect(forced.step).toBe(3);
  });

  test("refuses to write over a run", async () => {
    const dir = join(root, "over");
    await start(dir);
    await expect(start(dir, ["trainer.resume_mode=disable"])).rejects.toThrow(
      "already holds a run",
    );
  });

  test("refuses a checkpoint that is not what was saved", async () => {
    const dir = join(root, "broken");
    await start(dir);
    const path = join(runPaths(dir).checkpointOf(2), "actor", "model.safetensors");
    const bytes = await readFile(path);
    bytes[bytes.length - 1] ^= 1;
    const { writeFile } = await import("node:fs/promises");
    await writeFile(path, bytes);
    await expect(start(dir, ["trainer.total_training_steps=3"])).rejects.toThrow(
      "actor/model.safetensors is not what was saved",
    );
  });

  test("keeps the newest checkpoints and the best one", async () => {
    const dir = join(root, "rotation");
    await start(dir, [
      "trainer.total_training_steps=5",
      "trainer.save_freq=1",
      "trainer.test_freq=1",
      "trainer.max_actor_ckpt_to_keep=2",
    ]);
    const best = (await readFile(runPaths(dir).best, "utf8")).trim();
    const kept = await listCheckpoints(dir);
    expect(kept.slice(-2)).toEqual([4, 5]);
    expect(kept.length).toBe(["step_000004", "step_000005"].includes(best) ? 2 : 3);
    expect((await readFile(runPaths(dir).latest, "utf8")).trim()).toBe("step_000005");
  });
});
