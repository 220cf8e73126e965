/**
 * A full disk at each kind of write: one error that names the file, everything that was whole stays
 * readable, and once there is space again the work goes on to the same bytes.
 */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { DataError } from "../../src/core/errors.js";
import { readLines, runPaths } from "../../src/core/run.js";
import { evaluate } from "../../src/eval/evaluate.js";
import { listCheckpoints, readCheckpoint } from "../../src/train/checkpoint.js";
import { type TrainEvent, train } from "../../src/train/train.js";
import { FakeCompleter, FakeVerifier, problemsOf, settingsOf } from "../eval/fakes.js";
import { sampleEvaluation } from "../report/sample.js";
import { ArithmeticVerifier, tinyRun, writeFixture } from "../train/fixture.js";
import { traces } from "../train/traces.js";
import { rlvr } from "./command.js";
import { type TinyDisk, canMount, mountTiny } from "./tiny-disk.js";

const FSDP = fileURLToPath(new URL("../fixtures/fsdp/cpu_fsdp2_ws2", import.meta.url));
const isPossible = canMount();
if (!isPossible) console.warn("skipped: full disks; only root may mount a tiny one");

let root = "";
let disk: TinyDisk | null = null;
beforeAll(() => void (root = mkdtempSync(join(tmpdir(), "rlvr-full-"))));
afterEach(() => {
  disk?.unmount();
  disk = null;
});
afterAll(() => rmSync(root, { recursive: true }));

const FULL = /cannot write: ENOSPC: no space left on device/;
const isStarted = (event: TrainEvent) => event.kind === "started";
const afterStep = (step: number) => (event: TrainEvent) =>
  event.kind === "metrics" && event.record.phase === "train" && event.record.step === step;
const OVERRIDES = [
  "trainer.total_training_steps=3",
  "trainer.save_freq=1",
  "trainer.log_val_generations=2",
  "trainer.test_freq=2",
  'trainer.logger=["console","tensorboard"]',
];

describe.skipIf(!isPossible)("training on a full disk", () => {
  let fixture = "";
  let expected: Awaited<ReturnType<typeof traces>>;
  beforeAll(async () => {
    fixture = join(root, "fixture");
    await writeFixture(fixture);
    expected = await traces(await run(join(root, "undisturbed")));
  });

  async function run(dir: string, onEvent: (event: TrainEvent) => void = () => undefined) {
    const verifier = new ArithmeticVerifier();
    await train(tinyRun(fixture, dir, OVERRIDES), { verifier, onEvent });
    return dir;
  }

  test.each([
    ["a metrics line", "", isStarted, 8192, "metrics.jsonl"],
    ["the generations of a validation", "validation", isStarted, 0, "validation/step_0.jsonl"],
    ["a rollout file", "rollouts", isStarted, 0, "rollouts/step_000001.jsonl"],
    ["a part of a rollout file", "rollouts", afterStep(1), 4096, "rollouts/step_000002.jsonl"],
    ["a checkpoint", "checkpoints", isStarted, 0, "/actor/"],
    ["a part of a checkpoint", "checkpoints", afterStep(2), 120_000, "model.safetensors"],
    ["a curve for TensorBoard", "tensorboard", isStarted, 0, "tfevents"],
  ])("%s", async (_, folder, when, spare, name) => {
    const dir = mkdtempSync(join(root, "run-"));
    const tiny = (disk = mountTiny(join(dir, folder)));
    const fill = (event: TrainEvent) => when(event) && tiny.fill(spare);
    const error = await run(dir, fill).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(DataError);
    expect((error as Error).message).toMatch(FULL);
    expect((error as DataError).path).toContain(name);
    expect((error as DataError).path.startsWith(dir)).toBe(true);
    await everythingIsWhole(dir);
    tiny.free();
    expect(await traces(await run(dir))).toEqual(expected);
  });

  test("the directory itself, before anything is written", async () => {
    const tiny = (disk = mountTiny(join(root, "at-once")));
    tiny.fill();
    await expect(run(tiny.dir)).rejects.toThrow(/run\.lock: cannot write: ENOSPC/);
    expect(readdirSync(tiny.dir)).toEqual([".balloon"]);
  });
});

/** Every line parses and every checkpoint is what its manifest says. */
async function everythingIsWhole(dir: string): Promise<void> {
  const paths = runPaths(dir);
  const files = readdirSync(paths.rollouts).map((name) => join(paths.rollouts, name));
  for (const path of [
    paths.metrics,
    paths.health,
    ...files.filter((name) => /jsonl$/.test(name)),
  ]) {
    if (existsSync(path)) expect(readFileSync(path, "utf8")).toMatch(/^$|\n$/);
    await readLines(path);
  }
  for (const step of await listCheckpoints(dir)) await readCheckpoint(paths.checkpointOf(step));
}

describe.skipIf(!isPossible)("commands on a full disk", () => {
  test("prepare: the parquet", async () => {
    const rows = Array.from({ length: 300 }, (_, i) => ({
      ...{ id: `p${i}`, source: "test", language: "python" },
      prompt: [
        { role: "user", content: `Add ${i} and the number given, then print it ${i} times.` },
      ],
      tests: { kind: "stdio", cases: [{ input: "1\n".repeat(200), output: `${i}\n`.repeat(200) }] },
    }));
    const source = join(root, "rows.jsonl");
    writeFileSync(source, rows.map((row) => JSON.stringify(row) + "\n").join(""));
    const tiny = (disk = mountTiny(join(root, "prepared"), 256 * 1024));
    const words = ["prepare", source, "--out", tiny.dir, "--max-prompt-tokens", "4000"];
    await failsNaming(words, tiny, /\.(parquet|jsonl): /);
    tiny.unmount();
    disk = mountTiny(tiny.dir);
    expect(await rlvr(...words)).toMatchObject({ code: 0 });
  });

  test("merge: the model", async () => {
    const actor = join(root, "actor");
    cpSync(FSDP, actor, { recursive: true });
    cpSync(join(FSDP, "ref"), join(actor, "huggingface"), { recursive: true });
    const tiny = (disk = mountTiny(join(root, "merged"), 64 * 1024));
    tiny.fill(4096);
    const words = ["merge", actor, "--out", join(tiny.dir, "model")];
    await failsNaming(words, tiny, /model\.safetensors: /);
    tiny.free();
    expect(await rlvr(...words)).toMatchObject({ code: 0 });
  });

  test("report: its files", async () => {
    const evaluations = [];
    for (const [name, skill] of [
      ["a", 0.2],
      ["b", 0.8],
    ] as const) {
      const outDir = join(root, `eval-${name}`);
      await sampleEvaluation(name, skill, { outDir });
      evaluations.push(outDir);
    }
    const tiny = (disk = mountTiny(join(root, "reported"), 64 * 1024));
    tiny.fill(4096);
    const words = ["report", ...evaluations, "--out", join(tiny.dir, "report")];
    await failsNaming(words, tiny, /report\.\w+: /);
    tiny.free();
    expect(await rlvr(...words)).toMatchObject({ code: 0 });
  });

  test("eval: the cache of generations", async () => {
    const tiny = (disk = mountTiny(join(root, "evaluated")));
    const outDir = join(tiny.dir, "eval");
    let asked = 0;
    class Careful extends FakeCompleter {
      override async complete(...[requests, onCompletion]: Parameters<FakeCompleter["complete"]>) {
        for (const [index] of requests.entries()) {
          if (++asked === 10) tiny.fill();
          const text = `right ${"x".repeat(500)}`;
          await onCompletion(index, { text, finish: "stop", promptTokens: 1, completionTokens: 1 });
        }
        return { faults: {}, lastFault: null };
      }
    }
    const settings = settingsOf({ outDir });
    const run = () =>
      evaluate({
        ...{ completer: new Careful(() => null), problems: problemsOf(40), settings },
        verifier: new FakeVerifier(),
      });
    await expect(run()).rejects.toThrow(/(generations|results)\.jsonl: cannot write: ENOSPC/);
    const known = await readLines(join(outDir, "generations.jsonl"));
    expect(known.length).toBeGreaterThanOrEqual(9);
    tiny.free();
    const before = asked;
    expect((await run()).info).toMatchObject({ status: "complete", passRate: 1 });
    // What was kept is not asked for again.
    expect(asked - before).toBe(40 - known.length);
  });
});

/** Runs a command that must end on one line that names the file, and leave nothing half done. */
async function failsNaming(words: string[], tiny: TinyDisk, name: RegExp): Promise<void> {
  const before = readdirSync(tiny.dir);
  const { code, stderr } = await rlvr(...words);
  const said = stderr.split("\n").filter((line) => line.startsWith("rlvr: "));
  expect(said).toEqual([expect.stringMatching(FULL)]);
  expect(said[0]).toMatch(name);
  expect(said[0]).toContain(tiny.dir);
  expect(code).not.toBe(0);
  const left = readdirSync(tiny.dir, { recursive: true }).map(String);
  expect(left.filter((file) => /partial|\.tmp|\.prepare/.test(file))).toEqual([]);
  expect(before.every((file) => left.includes(file))).toBe(true);
}
