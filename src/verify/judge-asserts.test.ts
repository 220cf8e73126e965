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
