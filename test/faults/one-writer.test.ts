/** A run directory that others hold, that cannot be written, or whose clock goes backwards. */
import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { readLines, runPaths, type MetricsRecord } from "../../src/core/run.js";
import { openRun } from "../../src/report/run-store.js";
import { lockRun } from "../../src/core/run-lock.js";
import { train } from "../../src/train/train.js";
import { ArithmeticVerifier, tinyRun, writeFixture } from "../train/fixture.js";
import { traces } from "../train/traces.js";
import { canMount, mountTiny } from "./tiny-disk.js";

const script = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const node = (path: string, ...words: string[]) =>
  spawn(process.execPath, ["--import", "tsx", script(path), ...words], {
    stdio: ["pipe", "pipe", "inherit"],
  });

let root = "";
let fixture = "";
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "rlvr-writers-"));
  fixture = join(root, "fixture");
  await writeFixture(fixture);
});
afterAll(() => rmSync(root, { recursive: true }));

const start = (dir: string, overrides: string[] = []) =>
  train(tinyRun(fixture, dir, overrides), { verifier: new ArithmeticVerifier() });

describe("a run directory opened by two processes", () => {
  test("is refused to the second, by the first one's id, and free once that is dead", async () => {
    const dir = join(root, "busy");
    const first = node(
      "../train/child.ts",
      fixture,
      dir,
      "never",
      "trainer.total_training_steps=999",
    );
    const ended = new Promise((resolve) => first.once("exit", resolve));
    await vi.waitUntil(() => existsSync(runPaths(dir).lock), { timeout: 50_000 });
    await expect(start(dir)).rejects.toThrow(`is being written by process ${first.pid}`);
    first.kill("SIGKILL");
    await ended;
    expect(existsSync(runPaths(dir).lock)).toBe(true);
    expect((await start(dir)).status).toBe("finished");
    expect(existsSync(runPaths(dir).lock)).toBe(false);
  });

  test("goes to one of four that come at once, although a dead one had it", async () => {
    const [dir, go] = [join(root, "race"), join(root, "go")];
    mkdirSync(dir);
    writeFileSync(runPaths(dir).lock, JSON.stringify({ pid: 2 ** 22 + 1, startedAt: "1" }));
    const children = Array.from({ length: 4 }, () => node("lock-child.ts", dir, go));
    const lines = children.map(linesOf);
    for (const next of lines) expect(await next()).toBe("ready");
    writeFileSync(go, "");
    const said = await Promise.all(lines.map((next) => next()));
    const winner = children[said.indexOf("held")];
    expect(said.filter((line) => line === "held")).toHaveLength(1);
    for (const line of said.filter((line) => line !== "held")) {
      expect(line).toBe(`${dir} is being written by process ${winner.pid}; wait for it or stop it`);
    }
    for (const child of children) child.stdin?.end();
  });

  test("is free when the id belongs to a later process", () => {
    const dir = join(root, "reused");
    mkdirSync(dir);
    writeFileSync(runPaths(dir).lock, JSON.stringify({ pid: process.pid, startedAt: "1" }));
    lockRun(dir)();
  });

  test("given back leaves an empty directory as it was found: there, or not there", () => {
    const [found, made] = [join(root, "found"), join(root, "made")];
    mkdirSync(found);
    for (const dir of [found, made]) lockRun(dir)();
    expect(readdirSync(found)).toEqual([]);
    expect(existsSync(made)).toBe(false);
  });
});

function linesOf(child: ChildProcess): () => Promise<string> {
  const lines = createInterface(child.stdout!)[Symbol.asyncIterator]();
  return async () => String((await lines.next()).value);
}

const isPossible = canMount();
if (!isPossible) console.warn("skipped: a read-only directory; only root may mount one");

describe.skipIf(!isPossible)("a read-only run directory", () => {
  test("is refused before anything, and goes on when it can be written", async () => {
    const disk = mountTiny(join(root, "protected"), 16 * 2 ** 20);
    try {
      await start(disk.dir, ["trainer.save_freq=1"]);
      const before = await traces(disk.dir);
      disk.protect();
      const more = ["trainer.save_freq=1", "trainer.total_training_steps=3"];
      await expect(start(disk.dir, more)).rejects.toThrow(/run\.lock: cannot write: EROFS/);
      expect(await traces(disk.dir)).toEqual(before);
      disk.unprotect();
      expect((await start(disk.dir, more)).step).toBe(3);
    } finally {
      disk.unmount();
    }
  });
});

describe("a clock that jumps", () => {
  afterEach(() => void vi.restoreAllMocks());

  test("changes nothing but the times", async () => {
    const often = ["trainer.save_freq=2", "trainer.test_freq=1"];
    const overrides = [...often, "trainer.total_training_steps=4"];
    const still = join(root, "still");
    await start(still, overrides);
    const jumps = join(root, "jumps");
    const now = Date.now();
    let looks = 0;
    // An hour back at each look, and a day ahead at each third.
    vi.spyOn(Date, "now").mockImplementation(() => now + (++looks % 3 === 0 ? 24 : -looks) * 36e5);
    await start(jumps, [...often, "trainer.total_training_steps=2"]);
    await start(jumps, overrides);
    vi.restoreAllMocks();
    expect(await traces(jumps)).toEqual(await traces(still));
    const records = await readLines<MetricsRecord>(runPaths(jumps).metrics);
    const times = records.map(({ time }) => time);
    expect(times).not.toEqual([...times].sort((a, b) => a - b));
    const { metrics, refresh } = openRun(jumps);
    await refresh();
    const { steps } = metrics.series({ phase: "train", names: ["actor/pg_loss"], points: 100 });
    expect([...steps]).toEqual([1, 2, 3, 4]);
    expect(readFileSync(runPaths(jumps).info, "utf8")).toContain('"finished"');
  });
});
