/** What the hostile programs have in common: their form and the problems they attack. */
import type { Problem, Tests } from "../../src/core/problem.js";
import type { VerdictKind } from "../../src/core/verdict.js";

/** One hostile (or unjustly suspected) program. */
export interface HostileProgram {
  /** Number of the behaviour in the list that the suite follows. */
  id: number;
  what: string;
  tests: Tests;
  program: string;
  /** Verdicts that are right; several where the attack may fail in more than one way. */
  right: VerdictKind[];
  language?: string;
  /** Share of tests that must pass, where it is neither 0 nor 1. */
  passRate?: number;
}

/** A text that stands in the expectation only: whoever prints it has read what it must not. */
export const SECRET = "secret-7351-kestrel";

/** Reads a number, prints its double. */
export const DOUBLE_STDIO: Tests = {
  kind: "stdio",
  cases: [
    { input: "3\n", output: "6\n" },
    { input: "21\n", output: "42\n" },
  ],
};

/** `double(x)`. */
export const DOUBLE_CALL: Tests = {
  kind: "call",
  entryPoint: "double",
  cases: [
    { args: "[3]", expected: "6" },
    { args: "[21]", expected: "42" },
  ],
};

/** `double(x)`, by asserts. */
export const DOUBLE_ASSERT: Tests = {
  kind: "assert",
  entryPoint: "double",
  setup: "",
  cases: ["assert double(3) == 6", "assert double(21) == 42"],
  programPrefix: "",
};

/** `double(x)`, by a `check` function as HumanEval has it. */
export const DOUBLE_CHECK: Tests = {
  ...DOUBLE_ASSERT,
  cases: ["def check(candidate):\n    assert candidate(3) == 6\n\ncheck(double)"],
};

/** The answer is a secret that nothing in the input tells. */
export const SECRET_STDIO: Tests = { kind: "stdio", cases: [{ input: "x\n", output: SECRET }] };

/** Prints one expected text for one input. */
export function printing(output: string, input = "x\n"): Tests {
  return { kind: "stdio", cases: [{ input, output }] };
}

/** One call of `f` with one argument. */
export function calling(args: string, expected: string): Tests {
  return { kind: "call", entryPoint: "f", cases: [{ args, expected }] };
}

/** A problem around tests. */
export function problemOf(tests: Tests, language = "python"): Problem {
  return {
    id: "hostile",
    source: "hostile",
    prompt: [{ role: "user", content: "" }],
    tests,
    language,
    limits: { timeMs: 1000, memoryBytes: 192 * 2 ** 20 },
  };
}
