/** docs/FORMATS.md and what a run really writes. */
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { train } from "../../src/train/train.js";
import { ArithmeticVerifier, tinyRun, writeFixture } from "../train/fixture.js";
import { inProject } from "./project.js";

const page = readFileSync(inProject("docs/FORMATS.md"), "utf8");
let root = "";
let run = "";

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "rlvr-formats-"));
  await writeFixture(join(root, "fixture"));
  run = join(root, "run");
  await train(tinyRun(join(root, "fixture"), run), { verifier: new ArithmeticVerifier() });
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** The keys of a JSON file's only or first record. */
async function keysOf(file: string): Promise<string[]> {
  const text = await readFile(join(run, file), "utf8");
  const record = file.endsWith(".jsonl") ? text.split("\n")[0] : text;
  return Object.keys(JSON.parse(record) as object);
}

describe("docs/FORMATS.md", () => {
  test.each(["run.json", "metrics.jsonl", "rollouts/step_000001.jsonl"])(
    "names every key of %s",
    async (file) => {
      expect((await keysOf(file)).filter((key) => !page.includes(`\`${key}\``))).toEqual([]);
    },
  );

  test("names everything that stands in a run directory", () => {
    const names = readdirSync(run, { withFileTypes: true }).map((entry) =>
      entry.isDirectory() ? `${entry.name}/` : entry.name,
    );
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !page.includes(`\`${name}`))).toEqual([]);
  });
});
