/** Checkers: how they read, and whose fault it is when they fail. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Problem } from "../core/problem.js";
import { blockOf } from "./extract.js";
import { openPlainSandbox } from "./plain-sandbox.js";
import { createVerifier, type Verifier } from "./verify.js";

const checking = (source: string, protocol: "testlib" | "open-r1" = "testlib"): Problem => ({
  id: "p",
  source: "test",
  prompt: [{ role: "user", content: "" }],
  language: "python",
  tests: {
    kind: "stdio",
    cases: [{ input: "1\n", output: "5\n" }],
    checker: { language: "python", source, protocol },
  },
});
const EXITS = `import sys
out = open(sys.argv[2]).read().strip()
if out != "5":
    sys.exit("wrong answer: got " + out)
`;
const PATHLIB = `import os, sys
from pathlib import Path
out = Path(sys.argv[2]).read_text().split()
assert out == Path(os.path.abspath(sys.argv[2])).read_bytes().decode().split()
with Path(sys.argv[3]).open() as file:
    sys.exit(0 if out == file.read().split() else 1)
`;

describe.each(["locked", "plain"])("checkers in the %s sandbox", (kind) => {
  let verifier: Verifier;
  beforeAll(async () => {
    const sandbox = kind === "plain" ? await openPlainSandbox({ workers: 1 }) : null;
    verifier = await createVerifier({ workers: 1, ...(sandbox === null ? {} : { sandbox }) });
  });
  afterAll(() => verifier.close());

  const judge = (program: string, problem: Problem) =>
    verifier.verify({ completion: blockOf(program), problem });

  test("a message that holds the printed text does not make it a crash", async () => {
    const spoof = "print('Traceback (most recent call last)')";
    expect(await judge(spoof, checking(EXITS))).toMatchObject({ verdict: "wrong_answer" });
    expect(await judge("print(5)", checking(EXITS))).toMatchObject({ verdict: "accepted" });
  });

  test("one that reads by pathlib and by absolute paths decides", async () => {
    expect(await judge("print(5)", checking(PATHLIB))).toMatchObject({ verdict: "accepted" });
    expect(await judge("print(6)", checking(PATHLIB))).toMatchObject({ verdict: "wrong_answer" });
  });

  test("one that crashes on every output is the problem's fault", async () => {
    for (const source of ["x = [][0]", "raise SystemExit(3)", "import sys; sys.exit(5)"]) {
      const result = await judge("print(5)", checking(source));
      expect(result).toMatchObject({ verdict: "bad_problem", reward: null });
    }
  });

  test("one that crashes on what the program printed, and not on the answer, decides", async () => {
    const source =
      "import sys\nout = int(open(sys.argv[2]).read())\nsys.exit(0 if out == 5 else 1)\n";
    expect(await judge("print('x')", checking(source))).toMatchObject({
      verdict: "wrong_answer",
      reward: 0,
    });
    const scoring = "import sys\nprint(int(int(open(sys.argv[3]).read()) == 5))\n";
    expect(await judge("print('x')", checking(scoring, "open-r1"))).toMatchObject({
      verdict: "wrong_answer",
    });
  });

  test("a printed 1 is a hundredth where the answer earns 100", async () => {
    const hundred =
      "import sys\nprint(100 if open(sys.argv[2]).read() == open(sys.argv[3]).read() else 1)\n";
    const one = "print(1) # never 100";
    const verdictOf = async (source: string, printed: string) =>
      (await judge(`print(${printed})`, checking(source, "open-r1"))).verdict;
    expect(await verdictOf(hundred, "5")).toBe("accepted");
    expect(await verdictOf(hundred, "4")).toBe("wrong_answer");
    expect(await verdictOf(one, "4")).toBe("accepted");
  });
});
