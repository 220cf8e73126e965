/** Whose fault a failure is, where tests are code, and how far a pass can be trusted. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Problem } from "../core/problem.js";
import { blockOf } from "./extract.js";
import { createVerifier, type Verifier } from "./verify.js";

let verifier: Verifier;
beforeAll(async () => {
  verifier = await createVerifier({ workers: 1 });
});
afterAll(() => verifier.close());

const judge = (
  program: string,
  cases: string[],
  { setup = "", entryPoint = "f" }: { setup?: string; entryPoint?: string | null } = {},
) => {
  const problem: Problem = {
    id: "p",
    source: "test",
    prompt: [{ role: "user", content: "" }],
    language: "python",
    tests: { kind: "assert", entryPoint, setup, cases, programPrefix: "" },
  };
  return verifier.verify({ completion: blockOf(program), problem });
};

describe("a failure is the program's", () => {
  const root = { setup: "root = Node(1)" };

  test.each([
    ["the set-up needs a class that it lacks", "def f(n): return 1", "f(root) == 1", root],
    [
      "its class takes no argument",
      "class Node:\n    def __init__(s): pass\ndef f(n): return 1",
      "f(root) == 1",
      root,
    ],
    ["its class is a number", "Node = 5\ndef f(n): return 1", "f(root) == 1", root],
    ["the set-up cannot use its value", "def f(n): return 'a'", "f(1)", { setup: "x = f(1) + 1" }],
    ["the set-up evaluates its text", "def f(n): return '(('", "f(1)", { setup: "eval(f(2))" }],
  ])("where %s", async (_, program, condition, options) => {
    const result = await judge(program, [`assert ${condition}`], options);
    expect(result).toMatchObject({ verdict: "runtime_error", reward: 0, fault: null });
  });

  test.each(["eval(f(2)) == 5", "__import__('ast').literal_eval(f(2)) == 5"])(
    "where its text is no expression: %s",
    async (condition) => {
      const result = await judge("def f(x): return '(('", [`assert ${condition}`]);
      expect(result).toMatchObject({ verdict: "wrong_answer", reward: 0, fault: null });
    },
  );
});

describe("a failure is the problem's", () => {
  const program = "def f(x): return x";

  test.each([
    ["a test that does not compile", "assert f( ==", ""],
    ["a set-up that does not compile", "assert f(1) == 1", "x = ("],
    ["a set-up that fails before it asks the program", "assert f(1) == 1", "[][1]"],
    ["a set-up that ends", "assert f(1) == 1", "raise SystemExit(0)"],
  ])("%s", async (_, code, setup) => {
    const result = await judge(program, [code], { setup });
    expect(result).toMatchObject({ verdict: "bad_problem", reward: null });
  });
});

describe("names of the program beside the entry point", () => {
  const LYING = "def f(n): return 0\n";
  const CLASS_OF_TRUE = "allclose = staticmethod(lambda *a, **k: True)";

  test.each([
    ["isclose", "def isclose(*a, **k): return True", "isclose(f(2), 1.4142)"],
    ["a module", `class math:\n    is${CLASS_OF_TRUE.slice(3)}`, "math.isclose(f(2), 1.4)"],
    ["a built-in", "def abs(x): return 0", "abs(f(2) - 1.4) < 1e-6"],
  ])("never replace %s of the library", async (_, helper, condition) => {
    const result = await judge(LYING + helper, [`assert ${condition}`]);
    expect(result.verdict).toBe("wrong_answer");
  });

  test("give no strong pass to a class that plays numpy", async () => {
    const result = await judge(`${LYING}class np:\n    ${CLASS_OF_TRUE}`, [
      "assert np.allclose(f(2), [1.4142])",
    ]);
    expect([result.verdict, result.trust]).not.toEqual(["accepted", "strong"]);
  });

  test.each([
    ["def almost_equal(a, b): return True", "almost_equal(f(1), 2)"],
    ["from operator import ne as almost_equal", "almost_equal(f(1), 2)"],
    [
      "class ne: pass\nalmost_equal = lambda a, b: True\nalmost_equal.__module__ = 'operator'\nalmost_equal.__qualname__ = 'ne'",
      "almost_equal(f(1), 2)",
    ],
    ["LIMIT = 0", "f(1) == LIMIT"],
  ])("make a pass weak: %s", async (helper, condition) => {
    for (const entryPoint of ["f", null]) {
      const result = await judge(LYING + helper, [`assert ${condition}`], { entryPoint });
      expect(result).toMatchObject({ verdict: "accepted", trust: "weak" });
    }
  });

  test("make a pass weak where the set-up uses them", async () => {
    const result = await judge(
      "class Node:\n    def __init__(s, v): s.v = v\ndef f(n): return n.v",
      ["assert f(root) == 1"],
      { setup: "root = Node(1)" },
    );
    expect(result).toMatchObject({ verdict: "accepted", trust: "weak" });
  });

  test.each([
    ["def result(*a): return True", "result = f(1)\nassert result == 0"],
    ["def push(x): return x", "xs = []\nxs.append(f(1))\nassert xs.count(0) == 1"],
    ["import math, numbers\ncount = 5", "assert math.floor(f(1)) == 0 and [0].count(f(1)) == 1"],
    ["from datetime import datetime", "assert datetime(2020, 1, 1).hour == f(1)"],
    ["from collections import Counter", "assert Counter([f(1)]) == Counter({0: 1})"],
  ])("do not weaken a pass that does without them: %s", async (helper, code) => {
    const result = await judge(LYING + helper, [code]);
    expect(result).toMatchObject({ verdict: "accepted", trust: "strong" });
  });

  test("are the entry point where the problem names none and the test uses one", async () => {
    const result = await judge(LYING, ["assert f(1) == 0"], { entryPoint: null });
    expect(result).toMatchObject({ verdict: "accepted", trust: "strong" });
  });
});
