/** Benchmarks: rows to problems, prompt styles, and what narrows them. Every row is our own. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { problemSchema } from "../../src/core/problem.js";
import { BENCHMARKS, findBenchmark, loadBenchmark } from "../../src/eval/benchmarks/table.js";
import { fileCompleter } from "../../src/eval/file-completer.js";
import { EXTRACT_RULES } from "../../src/eval/style.js";

const none = { style: null, limit: null, split: null, from: null, to: null, release: null };

async function fileOf(rows: readonly unknown[]): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), "rows-")), "rows.jsonl");
  await writeFile(path, rows.map((row) => JSON.stringify(row) + "\n").join(""));
  return path;
}

const HUMANEVAL = {
  task_id: "HumanEval/900",
  prompt: 'def add(a, b):\n    """Add."""\n',
  entry_point: "add",
  canonical_solution: "    return a + b\n",
  test: "def check(candidate):\n    assert candidate(1, 2) == 3\n",
};
const MBPP = [2, 3, 4, 11, 601].map((id) => ({
  task_id: id,
  text: `Write task ${id}.`,
  code: `def f${id}(x):\r\n  return x`,
  test_list: [`assert f${id}(1) == 1 `, `assert f${id}(2) == 2`],
  test_setup_code: "",
  challenge_test_list: [],
}));
const GSM8K = { question: "What is 40 + 2?", answer: "40 + 2 = <<40+2=42>>42\n#### 42" };

/** Python's pickle of a short text, protocol 4. */
function packed(text: string): string {
  const bytes = Buffer.from(text);
  const pickle = Buffer.concat([
    Buffer.from([0x80, 4, 0x8c, bytes.length]),
    bytes,
    Buffer.from([0x94, 0x2e]),
  ]);
  return deflateSync(pickle).toString("base64");
}

function lcbRow(id: string, date: string, changes: Record<string, unknown> = {}) {
  return {
    question_id: id,
    question_title: `Title ${id}`,
    question_content: "Double the number.",
    platform: "atcoder",
    contest_id: "c",
    contest_date: `${date}T00:00:00`,
    starter_code: "",
    difficulty: "easy",
    public_test_cases: '[{"input": "1\\n", "output": "2\\n", "testtype": "stdin"}]',
    private_test_cases: packed('[{"input": "2\\n", "output": "4\\n", "testtype": "stdin"}]'),
    metadata: "{}",
    ...changes,
  };
}

const FILES = {
  humaneval: [HUMANEVAL],
  mbpp: MBPP,
  "mbpp-sanitized": MBPP,
  livecodebench: [lcbRow("a", "2024-01-01")],
  gsm8k: [GSM8K],
};

describe("the table of benchmarks", () => {
  test.each([
    ["live_code_bench", "livecodebench"],
    ["livecodebench", "livecodebench"],
    ["openai_humaneval", "humaneval"],
    ["HumanEval", "humaneval"],
    ["mbpp_sanitized", "mbpp-sanitized"],
  ])("knows %s", (name, expected) => {
    expect(findBenchmark(name).name).toBe(expected);
  });

  test("refuses a name it does not know with those it knows", () => {
    expect(() => findBenchmark("humanevil")).toThrow(/humaneval, mbpp, .* got humanevil/);
  });

  const styled = Object.entries(FILES).flatMap(([name, rows]) =>
    findBenchmark(name).styles.map(({ name: style }) => ({ name, style, rows })),
  );
  test.each(styled)("$name in style $style gives problems of the schema", async (row) => {
    const paths = [await fileOf(row.rows)];
    const { problems, style } = await loadBenchmark(row.name, {
      ...none,
      paths,
      style: row.style,
      split: row.name.startsWith("mbpp") ? "all" : null,
    });
    expect(problems).toHaveLength(row.rows.length);
    for (const problem of problems) expect(problemSchema.parse(problem)).toEqual(problem);
    if (style.kind === "completion") expect(problems[0].prompt).toHaveLength(1);
  });

  test("names every benchmark and style once", () => {
    const names = BENCHMARKS.flatMap(({ name, aliases }) => [name, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("loadBenchmark", () => {
  test("takes the split of MBPP by the task's number", async () => {
    const paths = [await fileOf(MBPP)];
    const idsOf = async (split: string | null) =>
      (await loadBenchmark("mbpp", { ...none, paths, split })).problems.map(({ id }) => id);
    expect(await idsOf(null)).toEqual(["Mbpp/11"]);
    expect(await idsOf("train")).toEqual(["Mbpp/601"]);
    await expect(idsOf("dev")).rejects.toThrow("splits prompt, test, validation, train, all");
  });

  test("shows MBPP's three examples as the harness does", async () => {
    const paths = [await fileOf(MBPP)];
    const { problems } = await loadBenchmark("mbpp", { ...none, paths, style: "evalscope" });
    const [{ content }] = problems[0].prompt;
    expect(content.match(/\[DONE\]\n/g)).toHaveLength(3);
    expect(content).toContain("assert f2(1) == 1\nassert f2(2) == 2\n[BEGIN]\ndef f2(x):\r\n");
    expect(content.endsWith("assert f11(2) == 2\n[BEGIN]\n")).toBe(true);
  });

  test("takes LiveCodeBench's window by day and says it", async () => {
    const days = ["2024-07-31", "2024-08-01", "2024-11-30", "2024-12-01"];
    const paths = [await fileOf(days.map((day, i) => lcbRow(`q${i}`, day)))];
    const window = { from: "2024-08-01", to: "2024-11-30" };
    const loaded = await loadBenchmark("live_code_bench", { ...none, paths, ...window });
    expect(loaded.problems.map(({ id }) => id)).toEqual(["q1", "q2"]);
    expect(loaded.window).toBe("all 2024-08-01..2024-11-30");
    const wrong = loadBenchmark("lcb", { ...none, paths, from: "August" });
    await expect(wrong).rejects.toThrow("YYYY-MM-DD");
  });

  test("takes a release of LiveCodeBench as the first rows of the files", async () => {
    const paths = [
      await fileOf(Array.from({ length: 420 }, (_, i) => lcbRow(`q${i}`, "2024-01-01"))),
    ];
    const { problems } = await loadBenchmark("lcb", { ...none, paths, release: "v1" });
    expect(problems).toHaveLength(400);
    await expect(loadBenchmark("lcb", { ...none, paths, release: "v9" })).rejects.toThrow("v1, v2");
  });

  test("reads LiveCodeBench's tests, plain and packed, with six seconds each", async () => {
    const functional = lcbRow("f", "2024-01-01", {
      starter_code: "class Solution:\n    def add(self, a: int, b: List[int]) -> int:\n",
      public_test_cases: '[{"input": "1\\n[2, 3]", "output": "6", "testtype": "functional"}]',
      private_test_cases: "[]",
      metadata: '{"func_name": "add"}',
    });
    const paths = [await fileOf([lcbRow("s", "2024-01-01"), functional])];
    const { problems } = await loadBenchmark("livecodebench", { ...none, paths });
    expect(problems[0].tests).toEqual({
      kind: "stdio",
      cases: [
        { input: "1\n", output: "2\n" },
        { input: "2\n", output: "4\n" },
      ],
    });
    expect(problems[1].tests).toEqual({
      kind: "call",
      entryPoint: "add",
      cases: [{ args: "[1,[2, 3]]", expected: "6" }],
    });
    expect(problems.map(({ limits }) => limits)).toEqual([{ timeMs: 6000 }, { timeMs: 6000 }]);
    expect(problems[0].tags).toMatchObject({ difficulty: "easy", platform: "atcoder" });
  });

  test("takes LiveCodeBench's empty metadata for none, and names the row of any other", async () => {
    const load = async (...rows: object[]) =>
      loadBenchmark("lcb", { ...none, paths: [await fileOf(rows)] });
    for (const metadata of ["", " ", "null", "{}", null]) {
      const { problems } = await load(lcbRow("a", "2024-01-01", { metadata }));
      expect(problems[0].tests.kind).toBe("stdio");
    }
    const sound = lcbRow("a", "2024-01-01");
    for (const metadata of ["{", "[]", "3", '{"func_name": 3}', 3]) {
      await expect(load(sound, lcbRow("b", "2024-01-01", { metadata }))).rejects.toThrow(
        /rows\.jsonl:2: not a row of livecodebench: metadata/,
      );
    }
    const tests = '[{"input": "1", "output": "2", "testtype": "functional"}]';
    const nameless = { public_test_cases: tests, private_test_cases: "[]", metadata: "" };
    await expect(load(lcbRow("f", "2024-01-01", nameless))).rejects.toThrow(
      "f: expected the function's name in metadata.func_name",
    );
  });

  test("names the row and field that is not the benchmark's", async () => {
    const paths = [await fileOf([HUMANEVAL, { ...HUMANEVAL, entry_point: 3 }])];
    await expect(loadBenchmark("humaneval", { ...none, paths })).rejects.toThrow(
      /rows\.jsonl:2: not a row of humaneval: entry_point/,
    );
  });

  test("names the row of a JSON list that is no object", async () => {
    const path = join(await mkdtemp(join(tmpdir(), "rows-")), "rows.json");
    for (const [text, message] of [
      [JSON.stringify([HUMANEVAL, null]), "rows.json:2: expected an object, found nothing"],
      [JSON.stringify([[HUMANEVAL]]), "rows.json:1: expected an object, found a list"],
      ['"rows"', "rows.json: expected a JSON list of rows, found a string"],
    ]) {
      await writeFile(path, text);
      await expect(loadBenchmark("humaneval", { ...none, paths: [path] })).rejects.toThrow(message);
      await expect(fileCompleter(path)).rejects.toThrow(message);
    }
  });

  test("refuses an unknown style, an id that comes twice, and an empty choice", async () => {
    const paths = [await fileOf([HUMANEVAL, HUMANEVAL])];
    const load = (changes: object) => loadBenchmark("humaneval", { ...none, paths, ...changes });
    await expect(load({ style: "chatty" })).rejects.toThrow("styles chat, completion");
    await expect(load({})).rejects.toThrow("HumanEval/900 stands in the files twice");
    const late = [await fileOf([lcbRow("a", "2024-01-01")])];
    await expect(
      loadBenchmark("lcb", { ...none, paths: late, from: "2025-01-01" }),
    ).rejects.toThrow("no problem");
  });
});

describe("EXTRACT_RULES", () => {
  const problem = problemSchema.parse({
    id: "x",
    source: "x",
    prompt: [{ role: "user", content: "x" }],
    tests: { kind: "assert", entryPoint: "f", setup: "", cases: ["x"], programPrefix: "PRE\n" },
  });
  const answer = "Text\n```python\nfirst\n```\nmore\n```\nsecond\n```\nend";

  test.each([
    ["append", "    return 1", "PRE\n    return 1"],
    ["first_block_append", answer, "PRE\nfirst\n"],
    ["first_block_append", "no block", "PRE\nno block"],
    ["to_fence_append", "    return 1\n```\nDone.", "PRE\n    return 1\n"],
    ["prefilled_block", "def f(): pass\n```\nDone.", "def f(): pass\n"],
    ["last_fences", answer, "second"],
    ["last_fences", "only ```one", null],
    ["mbpp_block", "```python\ndef f(): pass\nassert f()\n```[DONE] x", "def f(): pass"],
    ["mbpp_block", "def f(): pass\nif __name__ == 1: f()", "def f(): pass\n"],
  ] as const)("%s keeps the harness's rule", (rule, completion, program) => {
    expect(EXTRACT_RULES[rule](completion, problem)).toBe(program);
  });
});
