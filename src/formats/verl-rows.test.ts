import { describe, expect, test } from "vitest";
import type { Problem, Tests } from "../core/problem.js";
import { parseGroundTruth, parseGroundTruthRow } from "./ground-truth.js";
import { groundTruthOf, toVerlRow } from "./verl-rows.js";

const problemWith = (tests: Tests): Problem => ({
  id: "apps/7",
  source: "apps",
  prompt: [{ role: "user", content: "Add." }],
  tests,
  language: "python",
  tags: { split: "train", index: "7" },
});

const TESTS: Tests[] = [
  { kind: "stdio", cases: [{ input: "1 2\n", output: '"3"\ud800\n' }] },
  {
    kind: "call",
    entryPoint: "add",
    cases: [
      { args: "[9007199254740993, 1.0]", expected: "NaN" },
      { args: '[[1], {"a": null}]', expected: "[[2]]" },
    ],
  },
  {
    kind: "assert",
    entryPoint: "add",
    setup: "import math",
    cases: ["assert add(1, 2) == 3"],
    programPrefix: "def add(a, b):\n",
  },
];

describe("groundTruthOf", () => {
  test.each(TESTS)("is read back as the same tests: $kind", (tests) => {
    expect(parseGroundTruth(groundTruthOf(problemWith(tests)))).toEqual(tests);
  });

  test("is the bare answer where a number is asked for", () => {
    expect(groundTruthOf(problemWith({ kind: "answer", answer: "72" }))).toBe("72");
  });

  test("carries the problem's id, limits and comparison", () => {
    const problem: Problem = {
      ...problemWith(TESTS[0]),
      limits: { timeMs: 2000 },
      compare: { ignoreCase: "words" },
    };
    expect(JSON.parse(groundTruthOf(problem))).toMatchObject({
      problem_id: "apps/7",
      limits: { timeMs: 2000 },
      compare: { ignoreCase: "words" },
    });
  });
});

describe("parseGroundTruthRow", () => {
  test("reads back all that decides a verdict: checker, limits, comparison, language", () => {
    const problem: Problem = {
      ...problemWith({
        kind: "stdio",
        cases: [{ input: "1", output: "1" }],
        checker: { language: "python", source: "exit(0)", protocol: "testlib" },
      }),
      limits: { timeMs: 2000, memoryBytes: 2 ** 28 },
      compare: { mode: "lines", tolerance: 1e-3 },
      language: "cpp",
    };
    const { tests, limits, compare, language } = problem;
    const problemId = problem.id;
    const row = { tests, problemId, limits, compare, language };
    expect(parseGroundTruthRow(groundTruthOf(problem))).toEqual(row);
  });

  test("reads back further right values of calls", () => {
    const cases = [
      { args: "[1]", expected: "[1]", alternatives: ["1", "1.0"] },
      { args: "[2]", expected: "[2]" },
    ];
    const tests: Tests = { kind: "call", entryPoint: "f", cases };
    expect(parseGroundTruth(groundTruthOf(problemWith(tests)))).toEqual(tests);
  });

  test.each([
    ["limits", { timeMs: -1 }],
    ["compare", { mode: "vibes" }],
    ["checker", "exit(0)"],
  ])("a %s that does not fit is a bad row, not one without it", (name, value) => {
    const row = JSON.stringify({ inputs: ["1"], outputs: ["1"], [name]: value });
    expect(parseGroundTruthRow(row)).toMatchObject({ bad: expect.stringContaining(name) });
  });

  test("says nothing of what the row leaves out or has as null", () => {
    const row = { inputs: ["1"], outputs: ["1"], limits: null };
    expect(Object.keys(parseGroundTruthRow(JSON.stringify(row)))).toEqual(["tests"]);
  });
});

describe("toVerlRow", () => {
  test("puts index, split and id of the problem into extra_info", () => {
    expect(toVerlRow(problemWith(TESTS[0]))).toMatchObject({
      data_source: "apps",
      ability: "code",
      extra_info: { index: 7, split: "train", problem_id: "apps/7" },
    });
  });
});
