/** Files that were changed behind our back: each is found, named, and nothing that was whole is lost. */
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RlvrError } from "../../src/core/errors.js";
import { type RolloutIndexEntry, readLines, runPaths } from "../../src/core/run.js";
import { evaluate } from "../../src/eval/evaluate.js";
import { openParquet } from "../../src/formats/parquet.js";
import { openRun } from "../../src/report/run-store.js";
import { train } from "../../src/train/train.js";
import { FakeCompleter, FakeVerifier, problemsOf, settingsOf } from "../eval/fakes.js";
import { parquetFiles } from "../fuzz/corpus.js";
import { ArithmeticVerifier, tinyRun, writeFixture } from "../train/fixture.js";
import { traces } from "../train/traces.js";
import { rlvr } from "./command.js";

let root = "";
let fixture = "";
let asides = 0;
let made = "";
let expected: Awaited<ReturnType<typeof traces>>;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "rlvr-corrupt-"));
  fixture = join(root, "fixture");
  await writeFixture(fixture);
  made = join(root, "made");
  await start(made, 3);
  const longer = join(root, "longer");
  await start(longer, 4);
  expected = await traces(longer);
});
afterAll(() => rmSync(root, { recursive: true }));

const start = (dir: string, steps: number, from = fixture) => {
  const overrides = [
    ...[`trainer.total_training_steps=${steps}`, "trainer.save_freq=1", "trainer.test_freq=1"],
  ];
  return train(tinyRun(from, dir, overrides), { verifier: new ArithmeticVerifier() });
};

type Damage = (path: string) => void;
/** Flips the bits of one byte; a negative place counts from the end. */
const flip =
  (at: number): Damage =>
  (path) => {
    const bytes = readFileSync(path);
    bytes[at < 0 ? bytes.length + at : at] ^= 0xff;
    writeFileSync(path, bytes);
  };
const cut =
  (bytes: number): Damage =>
  (path) =>
    truncateSync(path, readFileSync(path).length - bytes);
const remove: Damage = (path) => rmSync(path);
const replace =
  (from: string, to: string): Damage =>
  (path) =>
    writeFileSync(path, readFileSync(path, "utf8").replace(from, to));

async function failure(work: Promise<unknown>): Promise<string> {
  const error = await work.catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(RlvrError);
  return (error as Error).message;
}

const CHECKPOINT = "checkpoints/step_000003";

describe("a run directory", () => {
  test.each([
    ["a metrics line", "metrics.jsonl", flip(1), /metrics\.jsonl:1: line is not JSON/],
    ["a metrics line's step", "metrics.jsonl", replace('"step"', '"stEp"'), /:1: line has no step/],
    ["the index of rollouts", "rollouts/index.jsonl", flip(1), /index\.jsonl:1: line is not JSON/],
    ["run.json", "run.json", flip(0), /run\.json: expected a run directory with a readable/],
    ["run.json, cut", "run.json", cut(200), /run\.json: expected a run directory with a readable/],
    ["weights", `${CHECKPOINT}/actor/model.safetensors`, flip(-1), /SHA-256 differs/],
    ["weights, cut", `${CHECKPOINT}/actor/model.safetensors`, cut(9), /expected \d+ bytes, found/],
    ["no optimizer", `${CHECKPOINT}/actor_optimizer.safetensors`, remove, /the file is missing/],
    ["the state", `${CHECKPOINT}/state.json`, flip(20), /state\.json is not what was saved/],
    ["the manifest", `${CHECKPOINT}/manifest.json`, flip(0), /readable .*manifest\.json/],
    ["its list", `${CHECKPOINT}/manifest.json`, replace('"files"', '"fil"'), /a list of files/],
  ])("%s", async (_, name, damage, message) => {
    const dir = mkdtempSync(join(root, "run-"));
    cpSync(made, dir, { recursive: true });
    const path = join(dir, name);
    damage(path);
    const damaged = await traces(dir).catch(() => null);
    expect(await failure(start(dir, 4))).toMatch(message);
    // Nothing was removed or written on the way to the error.
    expect(await traces(dir).catch(() => null)).toEqual(damaged);
    if (name.startsWith(CHECKPOINT)) {
      renameSync(join(dir, CHECKPOINT), join(root, `aside-${asides++}`));
    } else {
      cpSync(join(made, name), path);
    }
    await start(dir, 4);
    expect(await traces(dir)).toEqual(expected);
  });

  test.each(["metrics.jsonl", "rollouts/index.jsonl", "health.jsonl"])(
    "a torn last line of %s is a write cut short, and no error",
    async (name) => {
      const dir = mkdtempSync(join(root, "run-"));
      cpSync(made, dir, { recursive: true });
      writeFileSync(join(dir, name), '{"step": 3, "ph', { flag: "a" });
      await start(dir, 4);
      expect(await traces(dir)).toEqual(expected);
    },
  );

  test("one rollout; the others stay readable", async () => {
    const dir = mkdtempSync(join(root, "run-"));
    cpSync(made, dir, { recursive: true });
    const index = await readLines<RolloutIndexEntry>(runPaths(dir).rolloutIndex);
    const [first, second] = index.filter(({ step }) => step === 2);
    flip(second.offset)(runPaths(dir).rolloutsOf(2));
    const { rollouts } = openRun(dir);
    await rollouts.refresh();
    expect(await failure(rollouts.read(second))).toMatch(
      `step_000002.jsonl: expected a rollout at byte ${second.offset}`,
    );
    expect(await rollouts.read(first)).toMatchObject({ step: 2, problemId: first.problemId });
  });
});

describe("what a run starts from", () => {
  test.each([
    ["a problem", "train.jsonl", flip(0), /train\.jsonl:1: line is not (JSON|valid UTF-8)/],
    ["the header of the weights", "model/model.safetensors", flip(9), /model\.safetensors: /],
    ["its length", "model/model.safetensors", flip(7), /model\.safetensors: the header claims/],
    ["weights, cut", "model/model.safetensors", cut(5), /model\.safetensors: the header describes/],
    ["no weights", "model/model.safetensors", remove, /expected the weights model\.safetensors/],
    ["the model's shape", "model/config.json", flip(0), /config\.json: expected JSON/],
    ["the tokenizer", "model/tokenizer.json", flip(0), /tokenizer\.json: expected JSON/],
  ])("%s", async (_, name, damage, message) => {
    const broken = mkdtempSync(join(root, "fixture-"));
    cpSync(fixture, broken, { recursive: true });
    damage(join(broken, name));
    const dir = join(broken, "run");
    expect(await failure(start(dir, 1, broken))).toMatch(message);
  });
});

describe("other files", () => {
  test.each([
    ["cut", cut(10)],
    ["footer", flip(-20)],
    ["length of the footer", flip(-6)],
    ["page header", flip(4)],
  ])("a parquet file: %s", async (_, damage) => {
    const path = join(root, "rows.parquet");
    writeFileSync(path, parquetFiles()[0]);
    damage(path);
    const read = async () => {
      const table = await openParquet(path);
      try {
        for await (const { rows } of table.read()) expect(rows[0].value).toBeDefined();
      } finally {
        await table.close();
      }
    };
    expect(await failure(read())).toMatch(/rows\.parquet: (is not a whole parquet|cannot decode)/);
  });

  test("the cache of generations", async () => {
    const outDir = join(root, "evaluation");
    const run = () =>
      evaluate({
        completer: new FakeCompleter(() => "right"),
        ...{ problems: problemsOf(3), verifier: new FakeVerifier() },
        settings: settingsOf({ outDir }),
      });
    await run();
    const path = join(outDir, "generations.jsonl");
    const whole = readFileSync(path);
    flip(0)(path);
    const damaged = readFileSync(path);
    expect(await failure(run())).toMatch(/generations\.jsonl:1: line is not JSON/);
    expect(readFileSync(path)).toEqual(damaged);
    writeFileSync(path, whole);
    expect((await run()).info).toMatchObject({ status: "complete", passRate: 1 });
  });

  test("a config file, on the command line", async () => {
    const path = join(root, "run.yaml");
    writeFileSync(path, "trainer:\n  total_training_steps: [1\n");
    const { code, stderr } = await rlvr("train", path, "--dry-run");
    expect(stderr).toMatch(/^rlvr: .*run\.yaml: not readable as YAML: /);
    expect(stderr).not.toMatch(/bug in rlvr/);
    expect(code).toBe(2);
  });
});
