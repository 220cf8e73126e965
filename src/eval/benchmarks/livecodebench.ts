/**
 * LiveCodeBench: contest problems by date, so that a window after a model's training can be chosen.
 *
 *     {"question_id": "1873_A", "question_title": "…", "question_content": "…", "platform":
 *      "codeforces", "contest_id": "1873", "contest_date": "2023-08-21T00:00:00", "starter_code": "",
 *      "difficulty": "easy", "public_test_cases": "[{\"input\": …, \"output\": …, \"testtype\":
 *      \"stdin\"}]", "private_test_cases": "eJx…", "metadata": "{\"func_name\": …}"}
 *
 * A score says nothing without its window: release and dates stand in the settings. Six seconds a
 * test, as the benchmark has it. Source: https://github.com/LiveCodeBench/LiveCodeBench.
 */
import { z } from "zod";
import { ConfigError, DataError } from "../../core/errors.js";
import type { Problem } from "../../core/problem.js";
import { decodeLcbTests, type LcbTest } from "../../formats/lcb-tests.js";
import { type BenchmarkOptions, defineBenchmark, userMessage } from "./benchmark.js";

const metadataSchema = z.object({ func_name: z.string().nullish() }).nullable();

/** Metadata is JSON in a text. Copies of the data set leave it empty where there is nothing to say. */
const metadataText = z
  .string()
  .nullish()
  .transform((text, context) => {
    const json = (text ?? "").trim();
    if (json === "") return null;
    try {
      return metadataSchema.parse(JSON.parse(json));
    } catch {
      const found = json.slice(0, 80);
      context.addIssue(`expected a JSON object, with func_name as a text if at all, got ${found}`);
      return z.NEVER;
    }
  });

const rowSchema = z
  .object({
    question_id: z.string(),
    question_title: z.string(),
    question_content: z.string(),
    platform: z.string(),
    contest_date: z.string(),
    starter_code: z.string().default(""),
    difficulty: z.string(),
    public_test_cases: z.string(),
    private_test_cases: z.string().default("[]"),
    metadata: metadataText,
  })
  .transform((row) => ({
    ...row,
    date: row.contest_date.slice(0, 10),
    functionName: row.metadata?.func_name ?? null,
  }));

type LcbRow = z.infer<typeof rowSchema>;

/** Problems per release: every release holds the ones before, in this order. */
const RELEASES: Record<string, number> = { v1: 400, v2: 511, v3: 612, v4: 713, v5: 880, v6: 1055 };

/** The hub's files: each release adds one. */
const FILES = ["", "2", "3", "4", "5", "6"].map((number) => `test${number}.jsonl`);

const fileCount = (release: string) => Object.values(RELEASES).indexOf(releaseSize(release)) + 1;

const DAY = /^\d{4}-\d{2}-\d{2}$/;

function isTaken({ date }: LcbRow, options: BenchmarkOptions, index: number): boolean {
  const { from, to, release } = options;
  if (release !== null && index >= releaseSize(release)) return false;
  for (const day of [from, to]) {
    if (day !== null && !DAY.test(day)) throw new ConfigError(`expected YYYY-MM-DD, got ${day}`);
  }
  return (from === null || date >= from) && (to === null || date <= to);
}

/** A release is the first so many rows of the files read one behind the other. */
function releaseSize(release: string): number {
  const size = RELEASES[release.replace(/^release_/, "")];
  if (size !== undefined) return size;
  const known = Object.keys(RELEASES).join(", ");
  throw new ConfigError(`LiveCodeBench has the releases ${known}, not ${release}`);
}

function toTests(row: LcbRow): Problem["tests"] {
  const at = { path: row.question_id };
  const tests = [
    ...decodeLcbTests(row.public_test_cases, at),
    ...decodeLcbTests(row.private_test_cases, at),
  ];
  if (row.functionName === null) {
    if (tests.some(({ testtype }) => testtype === "functional")) {
      throw new DataError(
        "expected the function's name in metadata.func_name, as tests are functional, found none",
        at,
      );
    }
    return { kind: "stdio", cases: tests.map(({ input, output }) => ({ input, output })) };
  }
  return { kind: "call", entryPoint: row.functionName, cases: tests.map(toCall) };
}

/** Functional tests write one JSON value a line for each argument. */
function toCall({ input, output }: LcbTest) {
  const args = input.split("\n").filter((line) => line.trim() !== "");
  return { args: `[${args.join(",")}]`, expected: output };
}

const SYSTEM =
  "You are an expert Python programmer. You will be given a question (problem specification) and " +
  "will generate a correct Python program that matches the specification and passes all tests. " +
  "You will NOT return anything except for the program.";
const WITH_STARTER =
  "You will use the following starter code to write the solution to the problem and enclose your " +
  "code within delimiters.";
const WITHOUT_STARTER =
  "Read the inputs from stdin solve the problem and write the answer to stdout (do not directly " +
  "test on the sample inputs). Enclose your code within delimiters as follows.";

function genericQuestion({ question_content, starter_code }: LcbRow, beforeAnswer: string) {
  const [format, code] =
    starter_code === "" ? [WITHOUT_STARTER, "# YOUR CODE HERE"] : [WITH_STARTER, starter_code];
  return (
    `### Question:\n${question_content}\n\n### Format: ${format}\n\`\`\`python\n${code}\n\`\`\`\n\n` +
    `${beforeAnswer}### Answer: (use the provided format with backticks)\n\n`
  );
}

const harness = {
  kind: "chat",
  extract: "last_fences",
  compare: { mode: "lcb" },
} as const;

/** EvalScope's template has a blank more. */
const render = (beforeAnswer: string) => (row: LcbRow) => [
  { role: "system" as const, content: SYSTEM },
  ...userMessage(genericQuestion(row, beforeAnswer)),
];

/** LiveCodeBench, code generation. */
export const livecodebench = defineBenchmark<LcbRow>({
  name: "livecodebench",
  aliases: ["live_code_bench", "lcb", "lcb:codegeneration"],
  about: "contest problems by date, standard input or functions, all tests (LiveCodeBench)",
  hub: {
    repo: "livecodebench/code_generation_lite",
    filesOf: ({ release }) =>
      FILES.slice(0, release === undefined ? FILES.length : fileCount(release)),
  },
  maxTokens: 2000,
  row: rowSchema,
  isTaken,
  windowOf: ({ release, from, to }) => `${release ?? "all"} ${from ?? "start"}..${to ?? "end"}`,
  toProblem: (row) => ({
    id: row.question_id,
    source: "livecodebench",
    tests: toTests(row),
    limits: { timeMs: 6000 },
    tags: {
      difficulty: row.difficulty,
      platform: row.platform,
      month: row.date.slice(0, 7),
      title: row.question_title,
    },
  }),
  styles: {
    chat: {
      about: "ours: the problem, one code block back, our comparison",
      kind: "chat",
      stop: [],
      extract: "verifier",
      render: ({ question_content, starter_code }) =>
        userMessage(
          `${question_content}\n\n` +
            (starter_code === ""
              ? "Write a Python program that reads standard input and writes standard output."
              : `Begin with this code:\n\n\`\`\`python\n${starter_code}\n\`\`\``) +
            "\n\nAnswer with one Python code block.",
        ),
    },
    livecodebench: {
      about: "LiveCodeBench: its prompt, last two fences, its comparison; stop ###",
      stop: ["###"],
      render: render(""),
      ...harness,
    },
    evalscope: {
      about: "EvalScope `live_code_bench`: LiveCodeBench's prompt without the stop",
      stop: [],
      render: render(" "),
      ...harness,
    },
  },
});
