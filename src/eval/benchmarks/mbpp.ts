/**
 * MBPP: short Python functions from a sentence and three asserts; the full set and the sanitized one.
 *
 *     {"task_id": 11, "text": "Write a …", "code": "def …", "test_list": ["assert …", …],
 *      "test_setup_code": "", "challenge_test_list": []}                        full
 *     {"task_id": 2, "prompt": "Write a …", "code": "…", "test_imports": ["import math"],
 *      "test_list": ["assert …"], "source_file": "…"}                           sanitized
 *
 * Tasks 1–10 are for prompts, 11–510 the test split, 511–600 validation, 601–974 train.
 * Source: https://github.com/google-research/google-research/tree/master/mbpp.
 */
import { z } from "zod";
import { ConfigError } from "../../core/errors.js";
import {
  type Benchmark,
  type BenchmarkDefinition,
  type BenchmarkOptions,
  defineBenchmark,
  userMessage,
} from "./benchmark.js";
import { EVALPLUS_CHAT, evalplusMessages } from "./evalplus.js";

const rowSchema = z
  .object({
    // Parquet readers give 64-bit integers.
    task_id: z.union([z.number().int(), z.bigint()]).transform(Number),
    text: z.string().optional(),
    prompt: z.string().optional(),
    code: z.string(),
    test_list: z.array(z.string()).min(1),
    test_setup_code: z.string().optional(),
    test_imports: z.array(z.string()).optional(),
  })
  .refine(({ text, prompt }) => text !== undefined || prompt !== undefined, "no text and no prompt")
  .transform((row) => ({
    taskId: row.task_id,
    text: row.text ?? row.prompt ?? "",
    /** As it stands, Windows line ends and all, which the harnesses' examples keep. */
    rawCode: row.code,
    code: row.code.replaceAll("\r\n", "\n"),
    tests: row.test_list,
    setup: [...(row.test_imports ?? []), row.test_setup_code ?? ""].join("\n").trim(),
  }));

type MbppRow = z.infer<typeof rowSchema>;

const SPLITS: Record<string, [number, number]> = {
  prompt: [1, 10],
  test: [11, 510],
  validation: [511, 600],
  train: [601, 974],
  all: [1, 974],
};

function isTaken({ taskId }: MbppRow, { split }: BenchmarkOptions): boolean {
  const range = SPLITS[split ?? "test"];
  if (range === undefined) {
    throw new ConfigError(`mbpp has the splits ${Object.keys(SPLITS).join(", ")}, not ${split}`);
  }
  return taskId >= range[0] && taskId <= range[1];
}

/** The function that the asserts call, where they all start with the same call. */
function entryPointOf({ tests, code }: MbppRow): string | null {
  const defined = [...code.matchAll(/^def\s+(\w+)/gm)].map(([, name]) => name);
  const called = defined.filter((name) => tests.every((test) => test.includes(`${name}(`)));
  return called.at(-1) ?? null;
}

const task = ({ text, tests }: MbppRow) =>
  `You are an expert Python programmer, and here is your task: ${text} ` +
  `Your code should pass these tests:\n\n${tests.join("\n")}\n[BEGIN]\n`;

/** The harnesses' worked examples: tasks 2, 3 and 4 of the same file. */
function examples(rows: readonly MbppRow[]): MbppRow[] {
  const found = [2, 3, 4].map((id) => rows.find(({ taskId }) => taskId === id));
  if (found.some((row) => row === undefined)) {
    throw new ConfigError("this style shows tasks 2, 3 and 4 as examples; the file lacks them");
  }
  return found as MbppRow[];
}

/** EvalScope wrote its examples down without the blanks at the ends of tests and code. */
const trimmed = (row: MbppRow): MbppRow => ({
  ...row,
  tests: row.tests.map((test) => test.trimEnd()),
  rawCode: row.rawCode.trimEnd(),
});

const STYLES: BenchmarkDefinition<MbppRow>["styles"] = {
  chat: {
    about: "ours: the sentence and its asserts, one code block back",
    kind: "chat",
    stop: [],
    extract: "verifier",
    render: ({ text, tests }) =>
      userMessage(
        `${text}\n\nThe code must pass these tests:\n\n\`\`\`python\n${tests.join("\n")}\n\`\`\`\n\n` +
          "Answer with one Python code block that holds the function and the imports it needs.",
      ),
  },
  evalscope: {
    about: "EvalScope: three worked examples, [BEGIN] and [DONE]",
    kind: "chat",
    stop: [],
    extract: "mbpp_block",
    render: (row, rows) =>
      userMessage(
        examples(rows)
          .map(trimmed)
          .map((shown) => `${task(shown)}${shown.rawCode}\n[DONE]\n`)
          .join("") + task(row),
      ),
  },
  "lm-eval": {
    about: "lm-eval `mbpp`: three worked examples, continued as bare text",
    kind: "completion",
    stop: ["[DONE]"],
    extract: "mbpp_block",
    render: (row, rows) =>
      userMessage(
        examples(rows)
          .map((shown) => `${task(shown)}${shown.rawCode}\n[DONE]\n\n`)
          .join("") + task(row),
      ),
  },
  evalplus: {
    ...EVALPLUS_CHAT,
    render: ({ text, tests }) => evalplusMessages(`"""\n${text}\n${tests[0]}\n"""`),
  },
};

function define(
  name: string,
  rest: Pick<BenchmarkDefinition<MbppRow>, "aliases" | "about" | "hub">,
): Benchmark {
  return defineBenchmark<MbppRow>({
    name,
    ...rest,
    maxTokens: 1024,
    row: rowSchema,
    isTaken,
    windowOf: ({ split }) => split ?? "test",
    toProblem: (row) => ({
      id: `Mbpp/${row.taskId}`,
      source: name,
      tests: {
        kind: "assert",
        entryPoint: entryPointOf(row),
        setup: row.setup,
        cases: row.tests,
        programPrefix: "",
      },
      solutions: [row.code],
    }),
    styles: STYLES,
  });
}

/** Every split's file, as the ids tell the split and the examples come from another one. */
const hubOf = (config: string): Benchmark["hub"] => ({
  repo: "google-research-datasets/mbpp",
  filesOf: () =>
    ["prompt", "test", "validation", "train"].map(
      (split) => `${config}/${split}-00000-of-00001.parquet`,
    ),
});

/** MBPP, the full set. */
export const mbpp = define("mbpp", {
  about: "974 short Python functions with three asserts each; test split 500 (Google)",
  hub: hubOf("full"),
});

/** MBPP, the part checked by hand. */
export const mbppSanitized = define("mbpp-sanitized", {
  aliases: ["mbpp_sanitized"],
  about: "427 problems of MBPP checked by hand; test split 257 (Google)",
  hub: hubOf("sanitized"),
});
