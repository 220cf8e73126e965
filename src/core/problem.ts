/**
 * The problem: one task with the tests that decide it, as one line of a problem JSONL file.
 *
 * Values that a program gets or gives are kept as text, never as JavaScript numbers: integers above
 * 2^53, `1.0` against `1`, and NaN must reach the judge as they were written.
 */
import { z } from "zod";

/** One message of a chat prompt. */
export const chatMessageSchema = z.strictObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.string(),
});

/** How a printed output is held against the expected one; docs/commands/verify.md has the rules. */
export const COMPARE_MODES = [
  "tokens",
  "lines",
  "exact",
  "verl",
  "prime",
  "lcb",
  "sandboxfusion",
  "codecontests",
  "dmoj",
] as const;

/** Rules of comparison for one problem; what is absent falls back to the source's, then the default. */
export const compareRuleSchema = z.strictObject({
  mode: z.enum(COMPARE_MODES).optional(),
  /** Absolute or relative error allowed where the expected token has a dot or an exponent. */
  tolerance: z.number().nonnegative().optional(),
  /** `words`: the words yes, no, true and false in any letter case; `all`: every token. */
  ignoreCase: z.enum(["none", "words", "all"]).optional(),
  /** `lines`: order of lines is free; `tokens`: order of all tokens is free. */
  unordered: z.enum(["none", "lines", "tokens"]).optional(),
});

/** A program that decides whether an output is right; testlib's calling convention and exit codes. */
export const checkerSchema = z.strictObject({
  language: z.string(),
  source: z.string(),
  /** Files it reads: `testlib` (input, output, answer) or `open-r1` (input, answer, output; prints 0–1 or 0–100). */
  protocol: z.enum(["testlib", "open-r1"]).default("testlib"),
});

const testsSchema = z.discriminatedUnion("kind", [
  /** The program reads standard input and writes standard output. */
  z.strictObject({
    kind: z.literal("stdio"),
    cases: z.array(z.strictObject({ input: z.string(), output: z.string() })),
    checker: checkerSchema.optional(),
  }),
  /** The program defines `entryPoint` (alone or as a method of `class Solution`), called per case. */
  z.strictObject({
    kind: z.literal("call"),
    entryPoint: z.string(),
    /**
     * `args`: JSON text of the argument list. `expected`: JSON text of the result.
     * `alternatives`: JSON texts that are right as well.
     */
    cases: z.array(
      z.strictObject({
        args: z.string(),
        expected: z.string(),
        alternatives: z.array(z.string()).optional(),
      }),
    ),
  }),
  /** Test code that calls the program's functions and asserts on what they return. */
  z.strictObject({
    kind: z.literal("assert"),
    /** The function under test; null when the asserts name whatever they need. */
    entryPoint: z.string().nullable(),
    /** Runs before the tests, on the trusted side. */
    setup: z.string(),
    /** One test case each: an assert statement, or code with several. */
    cases: z.array(z.string()),
    /** What the program is a continuation of (HumanEval's prompt), else empty. */
    programPrefix: z.string().default(""),
  }),
  /** The completion states a number (GSM8K). */
  z.strictObject({ kind: z.literal("answer"), answer: z.string() }),
]);

/** Longest time per test. Walls are up to three times it, and the sandbox measures up to 71 minutes. */
const MOST_TIME_MS = 20 * 60_000;
/** More memory than machines have; beyond it stand mistakes of unit. */
const MOST_MEMORY_BYTES = 2 ** 44;

/** One task. `id` is stable: it stands in rollouts, reports and the veRL parquet. */
export const problemSchema = z.strictObject({
  id: z.string().min(1),
  /** The data set or judge it comes from (veRL's `data_source`), e.g. `codecontests`. */
  source: z.string(),
  prompt: z.array(chatMessageSchema).min(1),
  tests: testsSchema,
  /** Language of the programs asked for. */
  language: z.string().default("python"),
  /** Limits per test; absent means the run's own. */
  limits: z
    .strictObject({
      timeMs: z.number().int().positive().max(MOST_TIME_MS).optional(),
      memoryBytes: z.number().int().positive().max(MOST_MEMORY_BYTES).optional(),
    })
    .optional(),
  compare: compareRuleSchema.optional(),
  /** Reference solutions, for audits; never shown to a model. */
  solutions: z.array(z.string()).optional(),
  /** Free facts for grouping in reports: family, difficulty, platform, date, split, … */
  tags: z.record(z.string(), z.string()).optional(),
});

/** One message of a chat prompt. */
export type ChatMessage = z.infer<typeof chatMessageSchema>;
/** How a printed output is held against the expected one. */
export type CompareMode = (typeof COMPARE_MODES)[number];
/** Rules of comparison for one problem. */
export type CompareRule = z.infer<typeof compareRuleSchema>;
/** A program that decides whether an output is right. */
export type Checker = z.infer<typeof checkerSchema>;
/** The tests of a problem, by the way the program is driven. */
export type Tests = z.infer<typeof testsSchema>;
/** One task with the tests that decide it. */
export type Problem = z.infer<typeof problemSchema>;

/** Counts the test cases of a problem; a stated answer counts as one. */
export function countTests(tests: Tests): number {
  return tests.kind === "answer" ? 1 : tests.cases.length;
}
