/** What may be the entry point of a call problem, and what a program finds when it starts. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Problem } from "../core/problem.js";
import { blockOf } from "./extract.js";
import { createVerifier, type Verifier } from "./verify.js";

let verifier: Verifier;
beforeAll(async () => {
  verifier = await createVerifier({ workers: 1 });
});
afterAll(() => verifier.close());

const judge = async (program: string, entryPoint: string, args: string, expected: string) => {
  const problem: Problem = {
    id: "p",
    source: "test",
    prompt: [{ role: "user", content: "" }],
    language: "python",
    tests: { kind: "call", entryPoint, cases: [{ args, expected }] },
  };
  return (await verifier.verify({ completion: blockOf(program), problem })).verdict;
};

describe("the entry point", () => {
  test.each([
    ...["merge", "count", "gcd", "lcm", "factorial", "product", "permutations", "combinations"],
    ...["accumulate", "digits", "time", "Set"],
  ])("is the program's own %s, not that of the prelude", async (name) => {
    const method = `class Solution:\n    def ${name}(self, xs): return [len(xs)]\n`;
    expect(await judge(method, name, "[[[1, 3], [2, 6]]]", "[2]")).toBe("accepted");
    const plain = `def ${name}(xs): return [len(xs)]\n`;
    expect(await judge(plain, name, "[[[1, 3], [2, 6]]]", "[2]")).toBe("accepted");
  });

  test("is a method of Solution before a helper of the same name", async () => {
    const program =
      "from heapq import merge\nclass Solution:\n    def merge(self, a, b): return list(merge(b, a))[::-1]\n";
    expect(await judge(program, "merge", "[[1, 3], [2]]", "[3, 2, 1]")).toBe("accepted");
  });

  test("is never what the prelude offers", async () => {
    const wrong = "class Solution:\n    def gcd(self, a, b): return 0\n";
    expect(await judge(wrong, "gcd", "[12, 18]", "6")).toBe("wrong_answer");
    expect(await judge("gcd", "gcd", "[12, 18]", "6")).toBe("runtime_error");
  });

  test("may be what the program imports or assigns", async () => {
    expect(await judge("from math import gcd", "gcd", "[12, 18]", "6")).toBe("accepted");
    expect(await judge("f = lambda a, b: gcd(a, b)", "f", "[12, 18]", "6")).toBe("accepted");
  });
});

test("a search of a large grid may recurse as deep as other harnesses allow", async () => {
  const program = `class Solution:
    def area(self, n):
        seen = set()
        def visit(i, j):
            if not (0 <= i < n and 0 <= j < n) or (i, j) in seen: return
            seen.add((i, j))
            visit(i + 1, j); visit(i - 1, j); visit(i, j + 1); visit(i, j - 1)
        visit(0, 0)
        return len(seen)
`;
  expect(await judge(program, "area", "[60]", "3600")).toBe("accepted");
  const cached = "@cache\ndef f(n): return 0 if n == 0 else 1 + max(map(f, [n - 1]))\n";
  expect(await judge(cached, "f", "[15000]", "15000")).toBe("accepted");
  expect(await judge("def f(n): return f(n + 1)", "f", "[1]", "1")).toBe("runtime_error");
});
