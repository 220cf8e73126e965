import { describe, expect, test } from "vitest";
import type { RawRow, SourceRow } from "../source.js";
import { stripAnswerInstructions } from "./eurus.js";
import { splitPytest } from "./pytest-file.js";
import { detectSource } from "./table.js";

const at = { path: "rows.jsonl", line: 3 };
const read = (row: RawRow) => {
  const source = detectSource(row, at.path);
  return { name: source.name, result: source.read(row, at) };
};
const draftOf = (result: SourceRow) => {
  if ("drop" in result) throw new Error(result.drop.reason);
  return result.draft;
};

describe("a row of", () => {
  test("APPS is stdio, or calls where input_output names a function", () => {
    const row = {
      problem_id: 4,
      question: "Add.",
      solutions: '["print(1)"]',
      input_output: '{"inputs": [["1", "2"]], "outputs": ["3\\n"]}',
      starter_code: "",
    };
    const { name, result } = read(row);
    expect(name).toBe("apps");
    expect(draftOf(result)).toMatchObject({
      id: "apps/4",
      tests: { kind: "stdio", cases: [{ input: "1\n2", output: "3\n" }] },
      solutions: ["print(1)"],
    });
    const call = { ...row, input_output: '{"fn_name": "f", "inputs": [[1]], "outputs": [[2]]}' };
    expect(draftOf(read(call).result).tests).toMatchObject({ kind: "call", entryPoint: "f" });
    expect(read({ ...row, input_output: "" }).result).toEqual({
      drop: { reason: "null_ground_truth" },
    });
  });

  test("TACO brings its limits", () => {
    const { name, result } = read({
      question: "Add.",
      input_output: '{"inputs": ["1"], "outputs": ["1"]}',
      source: "codeforces",
      difficulty: "EASY",
      time_limit: "1.5 seconds",
      memory_limit: "256.0 megabytes",
    });
    expect(name).toBe("taco");
    expect(draftOf(result).limits).toEqual({ timeMs: 1500, memoryBytes: 2 ** 28 });
  });

  test("CodeContests joins its three lists of tests and keeps Python solutions", () => {
    const row = {
      name: "1_A. Sum",
      description: "Add.",
      public_tests: { input: ["1"], output: ["1"] },
      private_tests: { input: [], output: [] },
      generated_tests: { input: ["2"], output: ["2"] },
      source: 2,
      solutions: { language: [2, 3], solution: ["int main…", "print(1)"] },
      time_limit: { seconds: 2, nanos: 500_000_000 },
      memory_limit_bytes: 1000,
      input_file: "",
      output_file: "",
    };
    expect(draftOf(read(row).result)).toMatchObject({
      tests: { cases: [{ input: "1" }, { input: "2" }] },
      solutions: ["print(1)"],
      limits: { timeMs: 2500, memoryBytes: 1000 },
      tags: { platform: "codeforces" },
    });
    expect(read({ ...row, input_file: "in.txt" }).result).toMatchObject({
      drop: { reason: "unsupported" },
    });
  });

  test("LiveCodeBench gives one argument a line", () => {
    const tests = [{ input: '[1, 2]\n"x"', output: "3", testtype: "functional" }];
    const { name, result } = read({
      question_content: "Add.",
      question_id: "2777",
      platform: "leetcode",
      contest_date: "2023-05-07T00:00:00",
      starter_code: "class Solution:",
      difficulty: "easy",
      public_test_cases: JSON.stringify(tests),
      private_test_cases: "[]",
      metadata: '{"func_name": "add"}',
    });
    expect(name).toBe("livecodebench");
    expect(draftOf(result).tests).toEqual({
      kind: "call",
      entryPoint: "add",
      cases: [{ args: '[[1, 2], "x"]', expected: "3" }],
    });
  });

  test("HumanEval and MBPP become asserts", () => {
    const humaneval = read({
      task_id: "HumanEval/0",
      prompt: "def f(x):\n",
      entry_point: "f",
      canonical_solution: "    return x\n",
      test: "def check(candidate):\n    assert candidate(1) == 1\n",
    });
    expect(humaneval.name).toBe("humaneval");
    expect(draftOf(humaneval.result).tests).toMatchObject({ programPrefix: "def f(x):\n" });
    const mbpp = read({
      task_id: 11,
      text: "Give x.",
      code: "import math\r\ndef g(x): return x\r\ndef f(x): return g(x)",
      test_list: ["assert f(1) == 1"],
      test_setup_code: "",
      challenge_test_list: [],
    });
    expect(mbpp.name).toBe("mbpp");
    expect(draftOf(mbpp.result)).toMatchObject({
      id: "mbpp/11",
      split: "test",
      tests: { kind: "assert", entryPoint: "f" },
    });
  });

  test.each([
    ["assert add(1, 2) == 3", "add"],
    ["assert abs(area(1) - 3.14159) < 1e-6", "area"],
    ["assert isinstance(f(3), int)", "f"],
    ["assert math.isclose(mean([1]), 1)", "mean"],
    ["assert not (sorted(top(2)) == [1])", "top"],
    ["assert LIMIT == 3", null],
  ])("AceCode's %s tests %s", (assertion, entryPoint) => {
    const { result } = read({ id: "1", question: "Do it.", test_cases: [assertion] });
    expect(draftOf(result).tests).toMatchObject({ kind: "assert", entryPoint });
  });

  test("KodCode is its test functions, or left out with what they need", () => {
    const row = {
      question_id: "1",
      question: "Halve.",
      solution: "def half(x): return x / 2",
      test: "from solution import half\n\ndef test_a():\n    assert half(2) == 1\n",
    };
    const { name, result } = read(row);
    expect(name).toBe("kodcode");
    expect(draftOf(result).tests).toMatchObject({ kind: "assert", entryPoint: "half", setup: "" });
    const test = "@pytest.fixture\ndef x(): return 1\n\ndef test_a(x):\n    assert half(x)\n";
    expect(read({ ...row, test }).result).toEqual({
      drop: { reason: "unsupported", detail: "pytest.fixture" },
    });
  });

  test("GSM8K is its stated number", () => {
    const { result } = read({ question: "How many?", answer: "<<1000+1=1001>>\n#### 1,001" });
    expect(draftOf(result).tests).toEqual({ kind: "answer", answer: "1001" });
  });
});

describe("splitPytest", () => {
  const split = (file: string) => {
    const result = splitPytest(file);
    if ("unsupported" in result) throw new Error(result.unsupported);
    return result;
  };

  test("makes one test of each function, with what they share before them", () => {
    const { setup, cases } = split(
      "import pytest\nfrom solution import f\n\nBIG = 10\n\ndef test_a():\n    assert f(1) == 1\n\ndef test_b():\n    assert f(BIG) == 10\n",
    );
    expect(setup).toBe("BIG = 10");
    expect(cases).toEqual([
      "def test_a():\n    assert f(1) == 1\n\ntest_a()",
      "def test_b():\n    assert f(BIG) == 10\n\ntest_b()",
    ]);
  });

  test("takes away imports of the solution over several lines and inside of functions", () => {
    const { setup, cases } = split(
      "from solution import (\n    f,\n    g,\n)\n\ndef test_a():\n    from solution import f\n    assert f(1) == 1\n",
    );
    expect(setup).toBe("");
    expect(cases).toEqual(["def test_a():\n    pass\n    assert f(1) == 1\n\ntest_a()"]);
  });

  test("gives the set-up what stands for pytest's raises and approx, and only where they are used", () => {
    const { setup } = split(
      "from pytest import approx\n\ndef test_a():\n    assert f(1) == approx(1)\n",
    );
    expect(setup).toMatch(/^class pytest:$/m);
    expect(setup).toMatch(/^approx = pytest\.approx$/m);
    expect(setup).not.toContain("raises = pytest.raises\n");
  });

  test("leaves out what runs the file by itself", () => {
    const { setup } = split(
      'def test_a():\n    assert f(1)\n\nif __name__ == "__main__":\n    pytest.main()\n',
    );
    expect(setup).toBe("");
  });

  test.each([
    ['@pytest.mark.parametrize("x", [1])\ndef test_a(x):\n    assert x\n', "pytest.mark"],
    ["from pytest import fixture\n\ndef test_a():\n    assert 1\n", "pytest.fixture"],
    ["import pytest as pt\n\ndef test_a():\n    assert 1\n", "import pytest as pt"],
    ["import solution\n\ndef test_a():\n    assert solution.f(1)\n", "import solution"],
    [
      "from solution import f as g\n\ndef test_a():\n    assert g(1)\n",
      "from solution import f as g",
    ],
    [
      "def test_a():\n    with pytest.raises(OwnError):\n        f(1)\n",
      "pytest.raises(OwnError):",
    ],
    ["def test_a():\n    pytest.raises(ValueError, f, 1)\n", "pytest.raises(ValueError, f, 1)"],
    [
      "def test_a():\n    with pytest.raises(ValueError) as e:\n        f(1)\n    assert e.value.code == 1\n",
      "value.code of an exception",
    ],
  ])("says what no program could pass: %j", (file, unsupported) => {
    expect(splitPytest(file)).toEqual({ unsupported });
  });

  test("takes a variable that is called solution for what it is", () => {
    const file = "def test_a():\n    solution = Solution()\n    assert solution.f(1) == 1\n";
    expect(split(file).cases).toHaveLength(1);
  });
});

describe("stripAnswerInstructions", () => {
  test("takes PRIME's ending off, and only at the end", () => {
    const ending =
      "\n\nWrite Python code to solve the problem. Present the code in \n```python\nYour code\n```\nat the end.";
    expect(stripAnswerInstructions(`Add.${ending}`)).toBe("Add.");
    expect(stripAnswerInstructions(`Add.${ending} Or not.`)).toContain("Present the code");
  });
});
