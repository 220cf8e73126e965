/**
 * Programs that answer differently in a process that has run other tests, to be paid for the better
 * of two answers. Each test must count once: as it ends in a process of its own.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tests } from "../../src/core/problem.js";
import { blockOf } from "../../src/verify/extract.js";
import { openPlainSandbox } from "../../src/verify/plain-sandbox.js";
import { createVerifier, type Verifier } from "../../src/verify/verify.js";
import { problemOf } from "./hostile-program.js";

const ANSWERS = ["NO", "YES", "NO", "NO", "YES"];
const STDIO: Tests = {
  kind: "stdio",
  cases: ANSWERS.map((output, i) => ({ input: `${i}\n`, output })),
};
const CHECKED: Tests = {
  ...STDIO,
  checker: {
    language: "python",
    protocol: "testlib",
    source:
      "import sys\nsys.exit(open(sys.argv[2]).read().split() != open(sys.argv[3]).read().split())",
  },
};
const CALLS: Tests = {
  kind: "call",
  entryPoint: "f",
  cases: ANSWERS.map((answer, i) => ({ args: `[${i}]`, expected: `"${answer}"` })),
};
const KEYED: Tests = {
  kind: "call",
  entryPoint: "f",
  cases: ANSWERS.map((answer, i) => ({ args: `[{"${i}": 1}]`, expected: `"${answer}"` })),
};
const ASSERTS: Tests = {
  kind: "assert",
  entryPoint: "f",
  setup: "",
  cases: ANSWERS.map((answer, i) => `assert f(${i}) == "${answer}"`),
  programPrefix: "",
};

const PRINTS = 'import math\nprint("YES" if hasattr(math, "seen") else "NO")\nmath.seen = True\n';
const RETURNS = 'n = 0\ndef f(x):\n    global n\n    n += 1\n    return "YES" if n > 1 else "NO"\n';
const BY_KEY = 'def f(d): return "YES" if type(list(d)[0]) is int else "NO"\n';
const BY_KEY_AND_STATE = `n = 0
def f(d):
    global n
    n += 1
    return ("YES" if n > 1 else "NO") if type(list(d)[0]) is int else ("NO" if n > 1 else "YES")
`;

const ATTACKS: [string, string, Tests, number][] = [
  ["printed", PRINTS, STDIO, 3 / 5],
  ["printed, judged by a checker", PRINTS, CHECKED, 3 / 5],
  ["returned", RETURNS, CALLS, 3 / 5],
  ["asserted", RETURNS, ASSERTS, 3 / 5],
  ["chosen by the type of keys", BY_KEY, KEYED, 2 / 5],
  ["chosen by the type of keys and what ran before", BY_KEY_AND_STATE, KEYED, 3 / 5],
];

/** Spoils its process for every test that follows, and is right in one of its own. */
const SPOILED: [string, string, Tests][] = [
  [
    "printed",
    'import builtins\nprint("YES" if input() in "14" else "NO")\nbuiltins.input = None\n',
    STDIO,
  ],
  [
    "printed, judged by a checker",
    'import math\nfirst = not hasattr(math, "n")\nmath.n = 1\nprint("YES" if (input() in "14") == first else "NO")\n',
    CHECKED,
  ],
  [
    "returned",
    'n = []\ndef f(x):\n    n.append(1)\n    return "YES" if x in (1, 4) and len(n) == 1 else "NO"\n',
    CALLS,
  ],
  [
    "asserted",
    'n = []\ndef f(x):\n    n.append(1)\n    return "YES" if x in (1, 4) and len(n) == 1 else "NO"\n',
    ASSERTS,
  ],
];

for (const [name, open] of [
  ["in the sandbox of this machine", () => createVerifier({ workers: 1, reuse: false })],
  [
    "in the plain sandbox",
    async () =>
      createVerifier({ sandbox: await openPlainSandbox({ workers: 1 }), workers: 1, reuse: false }),
  ],
] as [string, () => Promise<Verifier>][]) {
  describe(name, () => {
    let verifier: Verifier;
    beforeAll(async () => {
      verifier = await open();
    });
    afterAll(() => verifier.close());
    const judge = (program: string, tests: Tests) =>
      verifier.verify({ completion: blockOf(program), problem: problemOf(tests) });

    test.each(ATTACKS)(
      "a second answer counts for nothing: %s",
      async (_, program, tests, rate) => {
        const [first, second] = [await judge(program, tests), await judge(program, tests)];
        expect(first.passRate).toBe(rate);
        expect(first.tests).toHaveLength(5);
        expect(second.tests.map(({ verdict }) => verdict.kind)).toEqual(
          first.tests.map(({ verdict }) => verdict.kind),
        );
      },
    );

    test.each(SPOILED)(
      "state that spoils later tests does no harm: %s",
      async (_, program, tests) => {
        expect((await judge(program, tests)).verdict).toBe("accepted");
      },
    );

    test("keys are read as integers, then as text by a program that cannot use those", async () => {
      const kinds = ["def f(d): return d[1]", "def f(d): return d['1']", "def f(d): return d[0]"];
      const tests: Tests = {
        kind: "call",
        entryPoint: "f",
        cases: [{ args: '[{"1": 7}]', expected: "7" }],
      };
      const results = await Promise.all(kinds.map((program) => judge(program, tests)));
      expect(results.map(({ verdict }) => verdict)).toEqual([
        "accepted",
        "accepted",
        "runtime_error",
      ]);
    });
  });
}

test("a program that guesses is paid for one guess a test", async () => {
  const verifier = await createVerifier({ workers: 2, reuse: false });
  const program = 'import os\nprint("YES" if os.urandom(1)[0] < 128 else "NO")\n';
  const count = 120;
  const results = await Promise.all(
    Array.from({ length: count }, () =>
      verifier.verify({ completion: blockOf(program), problem: problemOf(STDIO) }),
    ),
  );
  await verifier.close();
  // One guess a test earns 0.5, two earn 0.7; the mean of 600 tests strays by 0.02.
  const mean = results.reduce((sum, { passRate }) => sum + passRate, 0) / count;
  expect(mean).toBeGreaterThan(0.4);
  expect(mean).toBeLessThan(0.62);
});
