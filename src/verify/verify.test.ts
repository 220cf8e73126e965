/** The whole call: one program per kind of test and verdict, rewards, options. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigError } from "../core/errors.js";
import type { Problem, Tests } from "../core/problem.js";
import { parseGroundTruth } from "../formats/ground-truth.js";
import { auditProblems } from "./audit.js";
import { blockOf } from "./extract.js";
import { createVerifier, defaultVerifierOptions, type Verifier } from "./verify.js";

const problemOf = (tests: Tests, rest: Partial<Problem> = {}): Problem => ({
  id: "p",
  source: "test",
  prompt: [{ role: "user", content: "" }],
  language: "python",
  tests,
  ...rest,
});
const calls = (row: object) => problemOf(parseGroundTruth(JSON.stringify(row)) as Tests);
const ADD = {
  fn_name: "add",
  inputs: [
    [1, 2],
    [5, 5],
  ],
  outputs: [[3], [10]],
};

let verifier: Verifier;
beforeAll(async () => {
  verifier = await createVerifier({ workers: 2 });
});
afterAll(() => verifier.close());

const judge = (program: string, problem: Problem) =>
  verifier.verify({ completion: blockOf(program), problem });

describe("call problems in the shape of Eurus rows", () => {
  test("a right program earns 1, a wrong one less", async () => {
    const right = await judge("def add(a, b): return a + b\n", calls(ADD));
    const half = await judge("def add(a, b): return 3\n", calls(ADD));
    const wrong = await judge("def add(a, b): return a - b\n", calls(ADD));
    expect([right.reward, half.reward, wrong.reward]).toEqual([1, 0.5, 0]);
  });

  test.each([
    ["tuples", "def f(x): return (1, (2, 3))", "[1]", "[1, [2, 3]]", true],
    ["integer keys", "def f(x): return {1: 'a'}", "[1]", '{"1": "a"}', true],
    ["integer keys of arguments", "def f(d): return d[1]", '[{"1": 7}]', "7", true],
    [
      "integers above 2^53",
      "def f(x): return x + 1",
      "[9007199254740993]",
      "9007199254740994",
      true,
    ],
    [
      "the next double",
      "def f(x): return float(x)",
      "[9007199254740993]",
      "9007199254740993",
      false,
    ],
    ["1.0 for 1", "def f(x): return 1.0", "[1]", "1", true],
    ["1.0000001 for 1", "def f(x): return 1.0000001", "[1]", "1", false],
    ["1.0000001 for 1.0", "def f(x): return 1.0000001", "[1]", "1.0", true],
    ["NaN", "def f(x): return x", "[NaN]", "NaN", true],
    ["True for 1", "def f(x): return True", "[1]", "1", false],
    ["text beyond ASCII", "def f(s): return s + '✓'", '["naïve 😀"]', '"naïve 😀✓"', true],
    ["one item for its list", "def f(x): return 5", "[1]", "[5, 6, 7]", false],
  ])("%s", async (_, program, args, expected, isRight) => {
    const problem = problemOf({ kind: "call", entryPoint: "f", cases: [{ args, expected }] });
    expect((await judge(program, problem)).verdict === "accepted").toBe(isRight);
  });

  test("a program that keeps state between calls is judged on each call alone", async () => {
    const program =
      "seen = []\ndef add(a, b):\n    seen.append(1)\n    return a + b if len(seen) < 2 else 0\n";
    expect((await judge(program, calls(ADD))).verdict).toBe("accepted");
  });
});

describe("assert problems", () => {
  const assertion = (...cases: string[]) =>
    problemOf({ kind: "assert", entryPoint: "f", setup: "", cases, programPrefix: "" });

  test("values, callbacks, changed arguments and exceptions travel", async () => {
    const program =
      "def f(g, xs):\n    xs.append(g(2))\n    if not xs: raise KeyError\n    return sorted(xs)\n";
    const problem = assertion(
      "xs = [3]\nassert f(lambda x: x * 10, xs) == [3, 20]\nassert xs == [3, 20]",
      "try:\n    f(None, [1])\nexcept TypeError: pass\nelse: assert False",
    );
    expect(await judge(program, problem)).toMatchObject({ verdict: "accepted", trust: "strong" });
  });

  test("two objects of the program compared with each other are weakly trusted", async () => {
    const program =
      "class P:\n    def __init__(s, v): s.v = v\n    def __eq__(s, o): return s.v == o.v\ndef f(v): return P(v)\n";
    expect(await judge(program, assertion("assert f(1) == f(1)"))).toMatchObject({
      verdict: "accepted",
      trust: "weak",
    });
    expect((await judge(program, assertion("assert f(1) == 1"))).verdict).toBe("wrong_answer");
  });

  test("a test that does not compile is the problem's fault", async () => {
    const result = await judge("def f(): pass\n", assertion("assert f( =="));
    expect(result).toMatchObject({ verdict: "bad_problem", reward: null });
  });
});

describe("checkers", () => {
  const checker = (source: string, protocol: "testlib" | "open-r1" = "testlib") =>
    problemOf({
      kind: "stdio",
      cases: [{ input: "10\n", output: "3 7\n" }],
      checker: { language: "python", source, protocol },
    });
  const SUM =
    "import sys\nn = int(open(sys.argv[1]).read())\na, b = map(int, open(sys.argv[2]).read().split())\nsys.exit(0 if a + b == n else 1)\n";

  test("accept any right answer, reject a wrong one and one that they cannot read", async () => {
    expect((await judge("print(4, 6)\n", checker(SUM))).verdict).toBe("accepted");
    expect((await judge("print(4, 7)\n", checker(SUM))).verdict).toBe("wrong_answer");
    expect((await judge("print('x')\n", checker(SUM))).verdict).toBe("wrong_answer");
    expect((await judge("print(1)\n", checker("print(1)", "open-r1"))).verdict).toBe("accepted");
    expect((await judge("print(1)\n", checker("print(40)", "open-r1"))).verdict).toBe(
      "wrong_answer",
    );
  });

  test("get what the problem gives the program, where that is more than their own least", async () => {
    const hungry = "import sys\nkept = bytearray(700 * 2**20)\nsys.exit(0)\n";
    const problem = checker(hungry);
    expect((await judge("print(4, 6)\n", problem)).verdict).toBe("bad_problem");
    const roomy = { ...problem, limits: { memoryBytes: 2 ** 30 } };
    expect((await judge("print(4, 6)\n", roomy)).verdict).toBe("accepted");
  });
});

describe("rewards and options", () => {
  const two = problemOf({
    kind: "stdio",
    cases: [
      { input: "1\n", output: "1\n" },
      { input: "2\n", output: "9\n" },
    ],
  });

  test.each([
    ["pass_rate", 0.5],
    ["all_or_nothing", 0],
    ["tiered", 0.1 + 0.1 + 0.4],
  ] as const)("%s", async (kind, reward) => {
    const { weights } = defaultVerifierOptions().reward;
    const other = await createVerifier({ workers: 1, reward: { kind, weights } });
    const result = await other.verify({ completion: blockOf("print(input())\n"), problem: two });
    await other.close();
    expect(result.reward).toBeCloseTo(reward, 10);
  });

  test("a format weight above the test weight is refused", async () => {
    const weights = { format: 0.6, compile: 0, tests: 0.4 };
    await expect(createVerifier({ reward: { kind: "tiered", weights } })).rejects.toThrow(
      ConfigError,
    );
    // Only `tiered` pays by weights.
    await (await createVerifier({ workers: 1, reward: { kind: "pass_rate", weights } })).close();
  });

  test("early stop leaves out the tests after the first failure", async () => {
    const other = await createVerifier({ workers: 1, earlyStop: true });
    const result = await other.verify({ completion: blockOf("print(9)\n"), problem: two });
    await other.close();
    expect([result.tests.length, result.passRate]).toEqual([1, 0]);
  });
});

describe("programs over random outputs", () => {
  test(
    "one that prints the expected bytes passes, one changed token fails",
    { timeout: 120_000 },
    async () => {
      const token = fc.oneof(fc.stringMatching(/^[a-z]{1,6}$/), fc.bigInt().map(String));
      const outputs = fc.array(fc.array(token, { minLength: 1, maxLength: 5 }), {
        minLength: 1,
        maxLength: 5,
      });
      await fc.assert(
        fc.asyncProperty(outputs, fc.nat(), async (lines, at) => {
          const text = (rows: string[][]) => rows.map((row) => row.join(" ") + "\n").join("");
          const line = at % lines.length;
          const changed = lines.map((row) => [...row]);
          changed[line][at % changed[line].length] += "1";
          const problem = problemOf({ kind: "stdio", cases: [{ input: "", output: text(lines) }] });
          const print = (rows: string[][]) =>
            `import sys\nsys.stdout.write(${JSON.stringify(text(rows))})\n`;
          const [right, wrong] = await Promise.all([
            judge(print(lines), problem),
            judge(print(changed), problem),
          ]);
          return right.verdict === "accepted" && wrong.verdict === "wrong_answer";
        }),
        { numRuns: 40 },
      );
    },
  );
});

describe("auditProblems", () => {
  test("finds wrong, flaky, contradicting and missing tests, and keeps the rest", async () => {
    const other = await createVerifier({ workers: 2, reuse: false });
    const cases = [
      { input: "1\n", output: "1\n" },
      { input: "2\n", output: "5\n" },
    ];
    const audit = await auditProblems(
      [
        problemOf({ kind: "stdio", cases }, { id: "wrong", solutions: ["print(input())"] }),
        problemOf({ kind: "stdio", cases: [] }, { id: "empty", solutions: ["print(1)"] }),
        problemOf(
          { kind: "stdio", cases: [...cases.slice(0, 1), { input: "1\n", output: "7\n" }] },
          { id: "contradiction", solutions: ["print(input())"] },
        ),
        problemOf(
          { kind: "stdio", cases: [{ input: "1\n", output: "0\n" }] },
          { id: "flaky", solutions: ["import os\nprint(os.urandom(1)[0] % 2)"] },
        ),
        problemOf(
          { kind: "stdio", cases: cases.slice(0, 1) },
          { id: "good", solutions: ["print(1)"] },
        ),
      ],
      other,
    );
    await other.close();
    const found = (id: string) =>
      audit.findings
        .filter(({ problemId }) => problemId === id)
        .map(({ kind, test: at }) => [kind, at]);
    expect(found("wrong")).toEqual([["no_solution_passes", 1]]);
    expect(found("empty")).toEqual([["bad_problem", null]]);
    expect(found("contradiction")).toContainEqual(["contradicting_tests", 0]);
    expect(found("good")).toEqual([]);
    expect(audit.cleaned.map(({ id }) => id)).toContain("wrong");
    expect(audit.cleaned.find(({ id }) => id === "wrong")?.tests).toMatchObject({
      cases: cases.slice(0, 1),
    });
  });
});
