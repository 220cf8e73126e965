/**
 * The stage on whole files: what it writes, what it counts, what it refuses. Data of the shared
 * evidence and Python environments are used where they are, and their absence is told.
 */
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openParquet } from "../../src/formats/parquet.js";
import { createParquet } from "../../src/formats/parquet-writer.js";
import { createVerlParquet, type VerlRow } from "../../src/formats/verl-rows.js";
import { prepare, type PrepareOptions } from "../../src/prepare/prepare.js";
import { CHAPTER_TEMPLATE, CHARACTER_METER } from "../../src/prepare/prompt.js";

const run = promisify(execFile);
const data = fileURLToPath(new URL("../../../shared/data/", import.meta.url));
const here = fileURLToPath(new URL(".", import.meta.url));
const venvs = process.env["CODE_RLVR_VENVS"] ?? join(homedir(), ".cache/code-rlvr/venvs");
const pythonOf = (venv: string) => join(venvs, venv, "bin/python");
const withData = existsSync(data) ? test : test.skip;
const withPandas = existsSync(data) && existsSync(pythonOf("data")) ? test : test.skip;
const withVerl = existsSync(data) && existsSync(pythonOf("verl09")) ? test : test.skip;
if (withData === test.skip) console.warn(`skipped: ${data} is absent`);
if (withPandas === test.skip) console.warn("skipped: no environment; run test/venvs.sh data");
if (withVerl === test.skip) console.warn("skipped: no environment; run test/venvs.sh verl09");

const dir = mkdtempSync(join(tmpdir(), "prepare-"));
afterAll(() => rmSync(dir, { recursive: true }));
let folders = 0;

function optionsOf(train: string, changes: Partial<PrepareOptions> = {}): PrepareOptions {
  return {
    train,
    validation: null,
    out: join(dir, `out${folders++}`),
    source: "auto",
    limit: 1000,
    seed: 42,
    maxPromptTokens: 512,
    meter: CHARACTER_METER,
    template: CHAPTER_TEMPLATE,
    maxTests: null,
    maxTestBytes: null,
    dedupe: "near",
    against: [],
    audit: false,
    profile: null,
    hub: { cacheDir: join(dir, "hub"), url: "http://127.0.0.1:9", token: null },
    ...changes,
  };
}

const eurus: Partial<PrepareOptions> = {
  validation: join(data, "eurus_shape_validation.parquet"),
  limit: 200,
};
const eurusTrain = join(data, "eurus_shape_train.parquet");

/** A row in the Eurus shape. */
function row(task: string, changes: Partial<Record<keyof VerlRow, unknown>> = {}): VerlRow {
  const ground_truth = JSON.stringify({ inputs: ["1 2\n"], outputs: ["3\n"] });
  return {
    data_source: "apps",
    prompt: [{ role: "user", content: task }],
    ability: "code",
    reward_model: { style: "rule", ground_truth },
    extra_info: { index: 0, split: "train", problem_id: "" },
    ...changes,
  } as VerlRow;
}

function jsonl(name: string, rows: unknown[]): string {
  const path = join(dir, name);
  writeFileSync(path, rows.map((value) => JSON.stringify(value) + "\n").join(""));
  return path;
}

const truth = (value: unknown) => ({ reward_model: { style: "rule", ground_truth: value } });

describe("prepare", () => {
  withPandas(
    "leaves out what an independent pandas script leaves out, and writes veRL's types",
    async () => {
      const options = optionsOf(eurusTrain, eurus);
      const { splits } = await prepare(options);
      const { stdout } = await run(pythonOf("data"), [
        join(here, "check_prepared.py"),
        eurusTrain,
        eurus.validation as string,
        options.out,
      ]);
      const found = JSON.parse(stdout) as Record<string, unknown>;
      const { not_sampled: left = 0, ...dropped } = splits.train?.dropped ?? {};
      expect({ train: dropped, validation: splits.validation?.dropped }).toEqual(found["expected"]);
      const kept = Object.values(dropped).reduce((sum, count) => sum + count, 0);
      expect(631 - kept - left).toBe(200);
      expect(found["equal"]).toBe(true);
      expect(found["rows"]).toBe(200);
      expect(found["schema"]).toEqual([
        "data_source: string",
        "prompt: list<element: struct<role: string, content: string>>",
        "ability: string",
        "reward_model: struct<style: string, ground_truth: string>",
        "extra_info: struct<index: int64, split: string, problem_id: string>",
      ]);
    },
  );

  withVerl(
    "writes files in whose every prompt veRL's own data set shows the task",
    async () => {
      const options = optionsOf(eurusTrain, eurus);
      const { splits } = await prepare(options);
      const { stdout } = await run(pythonOf("verl09"), [join(here, "check_verl.py"), options.out]);
      const rows = 200 + (splits.validation?.written ?? 0);
      const last = stdout.trim().split("\n").at(-1) ?? "";
      expect(JSON.parse(last)).toEqual({ rows, seen: rows, plain: true });
    },
    300_000,
  );

  withData("gives the same bytes twice, from parquet and from JSON lines", async () => {
    const read = async (train: string, validation: string) => {
      const options = optionsOf(train, { validation, limit: 200 });
      await prepare(options);
      const names = readdirSync(options.out).sort();
      return names.map((name) => [name, readFileSync(join(options.out, name), "latin1")]);
    };
    const first = await read(eurusTrain, join(data, "eurus_shape_validation.parquet"));
    const second = await read(eurusTrain, join(data, "eurus_shape_validation.parquet"));
    expect(second).toEqual(first);
    const lines = await read(
      join(data, "eurus_shape_train.jsonl"),
      join(data, "eurus_shape_validation.jsonl"),
    );
    const problems = (files: string[][]) =>
      files.filter(([name]) => /\d\.(jsonl|parquet)$/.test(name));
    expect(problems(lines)).toEqual(problems(first));
  });

  withData(
    "draws a smaller sample from within a larger one, and another by another seed",
    async () => {
      const ids = async (limit: number, seed: number) => {
        const options = optionsOf(eurusTrain, { limit, seed });
        await prepare(options);
        const text = readFileSync(join(options.out, `train${limit}.jsonl`), "utf8");
        return text
          .trim()
          .split("\n")
          .map((line) => (JSON.parse(line) as { id: string }).id);
      };
      const large = await ids(100, 1);
      expect(large.slice(0, 40)).toEqual(await ids(40, 1));
      expect(new Set(await ids(100, 2))).not.toEqual(new Set(large));
    },
  );

  test("counts one reason for each row that is no good", async () => {
    const cut = `${"1 2 3 ".repeat(40)}...`;
    const rows = [
      row("good"),
      row("mathematics", { ability: "math" }),
      row("null truth", truth(null)),
      row("text truth", truth("forty-two")),
      row("no tests", truth('{"inputs": [], "outputs": []}')),
      row("unequal", truth('{"inputs": ["1", "2"], "outputs": ["1"]}')),
      row("cut off", truth(JSON.stringify({ inputs: ["5"], outputs: [cut] }))),
      row("x".repeat(1843)),
      row("  GOOD! "),
      row(""),
    ];
    const { splits } = await prepare(optionsOf(jsonl("reasons.jsonl", rows)));
    expect(splits.train?.dropped).toEqual({
      not_code: 1,
      no_statement: 1,
      null_ground_truth: 1,
      unparsable_ground_truth: 1,
      no_tests: 1,
      unequal_tests: 1,
      truncated_output: 1,
      prompt_too_long: 1,
      duplicate: 1,
    });
    expect(splits.train?.written).toBe(1);
  });

  test("keeps a prompt of exactly the limit and no longer one", async () => {
    // The template's own characters are 44 and 162.
    const rows = [row("x".repeat(2048 - 206)), row("y".repeat(2048 - 205)), row("é💡".repeat(921))];
    const { splits } = await prepare(optionsOf(jsonl("limit.jsonl", rows)));
    expect(splits.train).toMatchObject({
      written: 2,
      dropped: { prompt_too_long: 1 },
      prompt_tokens: { min: 512, max: 512 },
    });
  });

  test("keeps calls as calls, with numbers as they were written", async () => {
    const call = '{"fn_name": "f", "inputs": [[9007199254740993, 1.0]], "outputs": [[NaN]]}';
    const options = optionsOf(jsonl("call.jsonl", [row("call f", truth(call))]));
    await prepare(options);
    const file = await openParquet(join(options.out, "train1.parquet"));
    for await (const { rows } of file.read()) {
      const { ground_truth } = rows[0].value["reward_model"] as { ground_truth: string };
      expect(ground_truth).toContain('"inputs": [[9007199254740993, 1.0]], "outputs": [[NaN]]');
      expect(ground_truth).toContain('"fn_name": "f"');
    }
    await file.close();
  });

  test("caps tests by a draw that depends on seed and problem alone", async () => {
    const inputs = Array.from({ length: 50 }, (_, index) => `${index}\n`);
    const many = (name: string) => row(name, truth(JSON.stringify({ inputs, outputs: inputs })));
    const inputsOf = async (rows: VerlRow[], index: number) => {
      const options = optionsOf(jsonl("caps.jsonl", rows), { maxTests: 5, dedupe: "off" });
      await prepare(options);
      const name = `train${rows.length}.jsonl`;
      const lines = readFileSync(join(options.out, name), "utf8").trim().split("\n");
      const problems = lines.map(
        (line) =>
          JSON.parse(line) as {
            prompt: { content: string }[];
            tests: { cases: { input: string }[] };
          },
      );
      const problem = problems.find(({ prompt }) => prompt[1].content.endsWith(`task ${index}`));
      return problem?.tests.cases.map(({ input }) => Number(input));
    };
    const alone = await inputsOf([many("task 1")], 1);
    expect(alone).toHaveLength(5);
    expect(alone).toEqual([...(alone ?? [])].sort((a, b) => a - b));
    expect(await inputsOf([many("task 0"), many("task 1")], 1)).toEqual(alone);
  });

  test("holds training rows against validation, and near copies against each other", async () => {
    const letters = "abcdefghijklmnop";
    const words = Array.from({ length: 200 }, (_, i) => `${letters[i % 16]}x${letters[i >> 4]}`);
    const copy = [...words];
    copy[100] = "changed";
    const train = jsonl("near.jsonl", [row("In both"), row(words.join(" ")), row(copy.join("\n"))]);
    const validation = jsonl("near-validation.jsonl", [row("in   both.")]);
    const { splits } = await prepare(optionsOf(train, { validation }));
    expect(splits.train?.dropped).toEqual({ duplicate_of_validation: 1, near_duplicate: 1 });
  });
});

describe("prepare against benchmarks", () => {
  withData("warns of a test split in training, which --against leaves out", async () => {
    const mbpp = join(data, "mbpp.jsonl");
    const { splits, warnings } = await prepare(optionsOf(mbpp, { limit: null, dedupe: "off" }));
    expect(splits.train).toMatchObject({ rows: 974, written: 973 });
    expect(warnings).toEqual([
      expect.stringMatching(
        /^train: \d+ of 973 problems are of their data set's test split; leave/,
      ),
    ]);
    const against = await prepare(
      optionsOf(mbpp, { limit: null, dedupe: "off", against: [`mbpp=${mbpp}`] }),
    );
    expect(against.warnings).toEqual([]);
    expect(against.splits.train?.written).toBeGreaterThan(400);
  });

  withData("finds MBPP's test set in a training file, and none of its training set", async () => {
    const rows = readFileSync(join(data, "mbpp.jsonl"), "utf8").trim().split("\n");
    const parsed = rows.map((line) => JSON.parse(line) as { task_id: number; text: string });
    const tests = parsed.filter(({ task_id: id }) => id > 10 && id <= 510);
    const train = jsonl(
      "mbpp-test-rows.jsonl",
      tests.map(({ text }) => row(text)),
    );
    const against = [
      `mbpp=${join(data, "mbpp.jsonl")}`,
      `humaneval=${join(data, "HumanEval.jsonl.gz")}`,
    ];
    const { splits, benchmarks } = await prepare(
      optionsOf(train, { against, dedupe: "off", limit: null }),
    );
    expect(benchmarks[0]).toMatchObject({ name: "mbpp", problems: 500 });
    const { found } = benchmarks[0];
    expect(Object.values(found).reduce((sum, count) => sum + count, 0)).toBe(500);
    expect(found.hash).toBeGreaterThan(490);
    expect(splits.train?.written).toBe(0);
  });

  withData(
    "finds a HumanEval task with other names, other spacing and in other words",
    async () => {
      const planted = [
        // HumanEval/0: names changed, comment style changed, lines broken elsewhere.
        "def anyPairNear(xs, eps):\n  # Check if in given list of numbers,\n  # are any two numbers closer to each other\n  # than given threshold.\n  >>> anyPairNear([1.0, 2.0, 3.0], 0.5)\n  False",
        // HumanEval/23, in other words, with the tests of the benchmark.
        "How many characters does a text have? Print the number.",
        "Count the ways to fold a strip of stamps, which is in no benchmark here.",
      ];
      const tests = { inputs: ["x y z 12 34 5", "asdasnakj 7 8 9"], outputs: ["1 2 3", "9 8 7"] };
      const benchmark = jsonl("own-benchmark.jsonl", [
        {
          task_id: "Own/1",
          prompt: "def strlen(s):\n",
          entry_point: "strlen",
          test: "def check(candidate):\n    assert candidate('x y z 12 34 5') == '1 2 3'\n    assert candidate('asdasnakj 7 8 9') == '9 8 7'\n",
        },
      ]);
      const train = jsonl("planted.jsonl", [
        row(planted[0]),
        row(planted[1], truth(JSON.stringify(tests))),
        row(planted[2]),
      ]);
      const against = [`humaneval=${join(data, "HumanEval.jsonl.gz")}`, benchmark];
      const options = optionsOf(train, { against });
      const { benchmarks, splits } = await prepare(options);
      expect(benchmarks.map(({ found }) => found)).toEqual([{ ngram: 1 }, { tests: 1 }]);
      expect(splits.train).toMatchObject({ written: 1, dropped: { contaminated: 2 } });
      const dropped = readFileSync(join(options.out, "dropped.jsonl"), "utf8");
      expect(dropped).toContain('"detail":"humaneval/0 by ngram"');
      expect(dropped).toContain('"detail":"own/1 by tests"');
    },
  );
});

describe("prepare refuses, and leaves nothing behind,", () => {
  async function expectRefusal(options: PrepareOptions, message: RegExp) {
    await expect(prepare(options)).rejects.toThrow(message);
    expect(existsSync(options.out) ? readdirSync(options.out) : []).toEqual([]);
  }

  test("a file that is missing", async () => {
    await expectRefusal(optionsOf(join(dir, "none.parquet")), /none\.parquet: no such file/);
  });

  test("a parquet file that was cut short, in its data or its footer", async () => {
    const whole = join(dir, "whole.parquet");
    const writer = createVerlParquet(whole);
    for (let index = 0; index < 3000; index++)
      writer.write(row(`task ${index} ${"x".repeat(500)}`));
    writer.finish();
    writer.close();
    const cut = join(dir, "cut.parquet");
    cpSync(whole, cut);
    truncateSync(cut, 100_000);
    await expectRefusal(optionsOf(cut), /cut\.parquet: is not a whole parquet file/);
    const holed = readFileSync(whole);
    holed.fill(0xa5, 20_000, 60_000);
    writeFileSync(join(dir, "holed.parquet"), holed);
    await expectRefusal(
      optionsOf(join(dir, "holed.parquet")),
      /holed\.parquet:? ?(:\d+: |cannot decode rows \d+ to \d+|.*UTF-8)/,
    );
  });

  test.each<[string, unknown, RegExp]>([
    [
      "a prompt that is plain text",
      { prompt: "Add two numbers." },
      /:2: prompt must be a list of chat messages, found a string/,
    ],
    [
      "a prompt of another shape than the rows before",
      { prompt: [{ from: "human", value: "x" }] },
      /:2: message 1 of prompt must have a known role/,
    ],
    [
      "a ground truth column of another type",
      { reward_model: 7 },
      /:2: reward_model must be an object, found a number/,
    ],
    [
      "a source that is no text",
      { data_source: null },
      /:2: data_source must be text, found nothing/,
    ],
  ])("%s", async (name, changes, message) => {
    const path = jsonl(`${name}.jsonl`, [row("one"), row("two", changes as Partial<VerlRow>)]);
    await expectRefusal(optionsOf(path), message);
  });

  test("a parquet file whose columns are of no known data set", async () => {
    const path = join(dir, "columns.parquet");
    const writer = createParquet<object>(path, [
      { name: "schema", num_children: 1 },
      { name: "text", type: "BYTE_ARRAY", repetition_type: "OPTIONAL", converted_type: "UTF8" },
    ]);
    writer.write({ text: "x" }, 1);
    writer.finish();
    writer.close();
    await expectRefusal(
      optionsOf(path),
      /columns are of no known data set: found text; known are eurus/,
    );
  });

  test("text that is not UTF-8, with its row", async () => {
    const path = join(dir, "latin.parquet");
    const writer = createParquet<object>(path, [
      { name: "schema", num_children: 3 },
      // Written without a text annotation, so that any bytes go in; then annotated.
      ...["data_source", "prompt", "reward_model"].map((name) => ({
        name,
        type: "BYTE_ARRAY" as const,
        repetition_type: "OPTIONAL" as const,
        logical_type: { type: "STRING" as const },
      })),
    ]);
    const bytes = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
    const good = {
      data_source: bytes("apps"),
      prompt: bytes('[{"role":"user","content":"x"}]'),
      reward_model: bytes('{"ground_truth":"x"}'),
    };
    writer.write(good, 1);
    writer.write({ ...good, data_source: bytes("caf\xe9") }, 1);
    writer.finish();
    writer.close();
    await expectRefusal(optionsOf(path), /latin\.parquet:2: data_source is not valid UTF-8/);
  });

  test("a disk that is full", async () => {
    // A limit on file size stands for the full disk: writing fails midway just the same.
    const rows = Array.from({ length: 400 }, (_, index) =>
      row(`task ${index} ${"word ".repeat(index % 100)}`),
    );
    const train = jsonl("big.jsonl", rows);
    const out = join(dir, "full");
    const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
    const command = `trap '' XFSZ; ulimit -f 8; exec "$0" --import tsx "$1" prepare "$2" --out "$3"`;
    const result = await run("bash", ["-c", command, process.execPath, main, train, out]).catch(
      (error: { code: number; stderr: string }) => error,
    );
    expect(result).toMatchObject({ code: 2 });
    expect(result.stderr).toMatch(/rlvr: .*full.*: cannot write: EFBIG/);
    expect(existsSync(out)).toBe(false);
  });

  test("an interruption", async () => {
    const controller = new AbortController();
    controller.abort();
    const path = jsonl("interrupted.jsonl", [row("one")]);
    await expectRefusal(optionsOf(path, { signal: controller.signal }), /abort/);
  });

  test("and keeps what an earlier run had written there", async () => {
    const good = optionsOf(jsonl("first.jsonl", [row("one")]));
    await prepare(good);
    const before = readFileSync(join(good.out, "manifest.json"), "utf8");
    const bad = jsonl("second.jsonl", [row("two"), row("three", { prompt: "plain" })]);
    await expect(prepare({ ...good, train: bad })).rejects.toThrow(/second\.jsonl:2/);
    expect(readFileSync(join(good.out, "manifest.json"), "utf8")).toBe(before);
    expect(readdirSync(good.out).filter((name) => name.startsWith("."))).toEqual([]);
  });
});

describe("prepare from the hub", () => {
  let server: Server;
  let url = "";
  let cut: number | null = null;
  const asked: string[] = [];
  const body = Buffer.from(JSON.stringify(row("from the hub")) + "\n");

  beforeAll(async () => {
    server = createServer((request, response) => {
      const path = request.url ?? "";
      asked.push(`${path} ${request.headers.range ?? ""}`);
      if (path.startsWith("/api/datasets/own/code/tree/")) {
        return response.end(
          JSON.stringify([{ type: "file", path: "data/train.jsonl", size: body.length, oid: "1" }]),
        );
      }
      if (path.startsWith("/api/datasets/own/code")) {
        return response.end(
          JSON.stringify({
            _id: "1",
            id: "own/code",
            sha: "abc123",
            private: false,
            gated: false,
            downloads: 0,
            likes: 0,
            lastModified: "2026-01-01T00:00:00Z",
          }),
        );
      }
      if (!path.startsWith("/datasets/own/code/resolve/abc123/data/train.jsonl")) {
        response.statusCode = 404;
        return response.end();
      }
      const [, first, last] = /bytes=(\d+)-(\d+)?/.exec(request.headers.range ?? "") ?? [];
      const start = Number(first ?? 0);
      const end = Math.min(Number(last ?? body.length - 1), body.length - 1) + 1;
      response.statusCode = first === undefined ? 200 : 206;
      response.setHeader("etag", '"1"');
      response.setHeader("content-range", `bytes ${start}-${end - 1}/${body.length}`);
      response.setHeader("content-length", end - start);
      if (cut === null || end - start < 10) return response.end(body.subarray(start, end));
      response.write(body.subarray(start, start + cut));
      cut = null;
      setTimeout(() => response.destroy(), 50);
      return response;
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  });
  afterAll(() => server.close());

  test("pins the revision, and goes on with a download that broke off", async () => {
    const hub = { cacheDir: join(dir, "hub"), url, token: null };
    cut = 40;
    const options = optionsOf("own/code", { hub });
    await expect(prepare(options)).rejects.toThrow(
      /own\/code cannot be fetched .*goes on when asked again/s,
    );
    const { inputs, splits } = await prepare(options);
    expect(inputs[0]).toMatchObject({ path: "own/code", revision: "abc123", bytes: body.length });
    expect(splits.train?.written).toBe(1);
    expect(asked.some((line) => /train\.jsonl bytes=40-/.test(line))).toBe(true);
  });

  test("says what to do without a network, and that a data set is not there", async () => {
    const offline = optionsOf("own/code2", {
      hub: { cacheDir: dir, url: "http://127.0.0.1:9", token: null },
    });
    await expect(prepare(offline)).rejects.toThrow(
      /cannot be fetched from http:\/\/127.0.0.1:9.*give the path of the file/s,
    );
    const missing = optionsOf("own/other", { hub: { cacheDir: dir, url, token: null } });
    await expect(prepare(missing)).rejects.toThrow(/own\/other does not exist/);
  });
});

const SUM_IN_JAVASCRIPT =
  'const words = require("fs").readFileSync(0, "utf8").split(" ");\nconsole.log(Number(words[0]) + Number(words[1]));\n';

describe("prepare by trial", () => {
  test("leaves out problems whose reference fails, and those outside the band of pass rates", async () => {
    const own = (id: string, solution: string, language = "python") => ({
      id,
      source: "own",
      language,
      prompt: [{ role: "user", content: `${id}: add two numbers` }],
      tests: {
        kind: "stdio",
        cases: [
          { input: "1 2\n", output: "3\n" },
          { input: "5 5\n", output: "10\n" },
        ],
      },
      solutions: [solution],
    });
    const right = "print(sum(map(int, input().split())))";
    const train = jsonl("trial.jsonl", [
      own("good", right),
      own("broken", "print(3)"),
      own("easy", right),
      own("hard", right),
      own("script", SUM_IN_JAVASCRIPT, "javascript"),
    ]);
    const fence = (program: string) => `\`\`\`python\n${program}\n\`\`\``;
    const [pass, fail] = [fence(right), fence("print(0)")];
    const completions = jsonl("completions.jsonl", [
      { problem_id: "good", completions: [pass, fail] },
      { problem_id: "broken", completions: [pass, fail] },
      { problem_id: "easy", completions: [pass, pass] },
      { problem_id: "hard", completion: fail },
      { problem_id: "script", completion: fail },
    ]);
    const options = optionsOf(train, {
      dedupe: "off",
      audit: true,
      profile: { path: completions, min: 0.2, max: 0.8 },
    });
    const { splits, trials } = await prepare(options);
    expect(splits.train?.dropped).toEqual({ audit_failed: 1, too_easy: 1, too_hard: 2 });
    expect(trials).toMatchObject({ audited: 4, without_solution: 0 });
    const line = readFileSync(join(options.out, "train1.jsonl"), "utf8");
    expect(JSON.parse(line)).toMatchObject({ id: "good", tags: { pass_rate: "0.500" } });
  });

  // Completions alternate so that every fourth problem lies in the band, whatever its place.
  const byFourth = (count: number) => {
    const right = "print(sum(map(int, input().split())))";
    const numbers = Array.from({ length: count }, (_, index) => index);
    const train = jsonl(
      `fourths${count}.jsonl`,
      numbers.map((index) => ({
        id: `p${index}`,
        source: "own",
        prompt: [{ role: "user", content: `p${index}: add two numbers` }],
        tests: { kind: "stdio", cases: [{ input: "1 2\n", output: "3\n" }] },
      })),
    );
    const [pass, fail] = [right, "print(0)"].map((program) => `\`\`\`python\n${program}\n\`\`\``);
    const path = jsonl(
      `fourths${count}-completions.jsonl`,
      numbers.map((index) => ({
        problem_id: `p${index}`,
        completions: index % 4 === 0 ? [pass, fail] : [fail],
      })),
    );
    return optionsOf(train, { dedupe: "off", profile: { path, min: 0.2, max: 0.8 } });
  };
  const idsOf = (out: string, name: string) =>
    readFileSync(join(out, name), "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { id: string }).id);

  test("goes on with further rows until the limit is reached", async () => {
    const all = { ...byFourth(60), limit: null };
    expect((await prepare(all)).splits.train).toMatchObject({ written: 15 });
    const some = { ...byFourth(60), limit: 12 };
    const { splits, warnings } = await prepare(some);
    const { dropped = {}, written } = splits.train ?? {};
    expect(written).toBe(12);
    expect(warnings).toEqual([]);
    expect((dropped.too_hard ?? 0) + (dropped.not_sampled ?? 0)).toBe(60 - 12);
    // The same order of the draw, cut earlier.
    expect(idsOf(some.out, "train12.jsonl")).toEqual(idsOf(all.out, "train15.jsonl").slice(0, 12));
  });

  test("says so where the rows end before the limit is reached", async () => {
    const options = { ...byFourth(60), limit: 20 };
    const { splits, warnings } = await prepare(options);
    expect(splits.train).toMatchObject({ written: 15, dropped: { too_hard: 45 } });
    expect(warnings).toEqual([expect.stringMatching(/limit is 20 problems.*15 of 60/)]);
  });
});
