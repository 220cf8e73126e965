/** Programs that try to exhaust the process that judges them: its memory, or its only thread. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Problem, Tests } from "../../src/core/problem.js";
import { blockOf } from "../../src/verify/extract.js";
import { openPlainSandbox } from "../../src/verify/plain-sandbox.js";
import { createVerifier, type Verifier } from "../../src/verify/verify.js";
import { calling, problemOf } from "./hostile-program.js";

const LIMITS = {
  cpuMs: 3000,
  wallMs: 5000,
  memoryBytes: 512 * 2 ** 20,
  outputBytes: 16 * 2 ** 20,
};
const ASSERT: Tests = {
  kind: "assert",
  entryPoint: "f",
  setup: "",
  cases: ["assert f(1) == 5"],
  programPrefix: "",
};
const MEGABYTE = 2 ** 20;

let verifier: Verifier;
let plain: Verifier;
beforeAll(async () => {
  verifier = await createVerifier({ workers: 1, limits: LIMITS, reuse: false });
  const sandbox = await openPlainSandbox({ workers: 1 });
  plain = await createVerifier({ workers: 1, limits: LIMITS, reuse: false, sandbox });
});
afterAll(() => Promise.all([verifier.close(), plain.close()]));

/** Runs work; answers how much memory it took and how long it kept others from running. */
async function watch<T>(work: () => Promise<T>) {
  const before = process.memoryUsage().rss;
  let peak = before;
  let last = performance.now();
  let longestMs = 0;
  const look = () => {
    peak = Math.max(peak, process.memoryUsage().rss);
    longestMs = Math.max(longestMs, performance.now() - last);
    last = performance.now();
  };
  const timer = setInterval(look, 10);
  const result = await work();
  look();
  clearInterval(timer);
  return { result, grownBytes: peak - before, longestMs };
}

const judge = (of: Verifier, program: string, tests: Tests, rest: Partial<Problem> = {}) => {
  const problem = { ...problemOf(tests), limits: {}, ...rest };
  return of.verify({ completion: blockOf(program), problem });
};

/** Answers what the tests read for seconds, and writes meanwhile. */
const flooding = (line: string) => `import os
junk = ${line}
def f(x):
    os.write(3, b'["return","1","i' + b"7" * 1100000 + b'",null]\\n')
    while True:
        rest = memoryview(junk)
        while rest: rest = rest[os.write(3, rest):]
`;

test.each([
  ["long lines", () => verifier, `b'"' + b"x" * 15000000 + b'"\\n'`],
  ["short lines", () => verifier, `b"0\\n" * 30000`],
  ["long lines, plain sandbox", () => plain, `b'"' + b"x" * 15000000 + b'"\\n'`],
  ["short lines, plain sandbox", () => plain, `b"0\\n" * 30000`],
])("messages that nobody asked for: %s", async (_, of, line) => {
  const { result, grownBytes } = await watch(() => judge(of(), flooding(line), ASSERT));
  expect(result.verdict).not.toBe("accepted");
  expect(grownBytes).toBeLessThan(500 * MEGABYTE);
});

test.each([
  ["an integer", "5"],
  ["a float", "5.5"],
])("a number of fifteen million digits for %s", async (_, expected) => {
  const program = `import os
def f(x):
    os.write(3, b'["return","1","i' + b"7" * 15000000 + b'",null]\\n')
    return 1
`;
  const tests = calling("[1]", expected);
  const { result, longestMs } = await watch(() => judge(verifier, program, tests));
  expect(result.verdict).toBe("wrong_answer");
  expect(longestMs).toBeLessThan(2000);
});

test.each([
  ["integers", "list(range(20000))[::-1]", (i: number) => `${i}`],
  ["other integers", "list(range(1, 20001))[::-1]", (i: number) => `${i}`],
  [
    "near floats",
    "[(i + 0.3) / 7 + 1e-9 for i in range(20000)][::-1]",
    (i: number) => `${(i + 0.3) / 7}`,
  ],
  [
    "near points",
    "[[(i + 0.3) / 7 + 1e-9, str(i)] for i in range(20000)][::-1]",
    (i: number) => `[${(i + 0.3) / 7}, "${i}"]`,
  ],
  ["texts", "[str(i) for i in range(20000)][::-1]", (i: number) => `"${i}"`],
])("twenty thousand parts in any order: %s", async (what, value, part) => {
  const expected = `[${Array.from({ length: 20_000 }, (_, i) => part(i)).join(",")}]`;
  const work = () =>
    judge(verifier, `def f(x): return ${value}`, calling("[1]", expected), {
      compare: { unordered: "tokens" },
    });
  const { result, longestMs } = await watch(work);
  expect(result.verdict).toBe(what === "other integers" ? "wrong_answer" : "accepted");
  expect(longestMs).toBeLessThan(2000);
});

test("outputs of thirty tests do not wait for the checker all at once", async () => {
  const program = 'import sys\nsys.stdout.write("x" * 15000000)\n';
  const cases = Array.from({ length: 30 }, (_, i) => ({ input: `${i}\n`, output: "" }));
  const source = "import sys\nsys.exit(open(sys.argv[2]).read(1) != 'x')";
  const checker = { language: "python", protocol: "testlib" as const, source };
  const work = () => judge(verifier, program, { kind: "stdio", cases, checker });
  const { result, grownBytes } = await watch(work);
  expect(result.verdict).toBe("accepted");
  expect(grownBytes).toBeLessThan(700 * MEGABYTE);
});
