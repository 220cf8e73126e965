/**
 * The row that veRL trains on, and the parquet file of such rows.
 *
 *     data_source   string
 *     prompt        list<struct<role: string, content: string>>
 *     ability       string
 *     reward_model  struct<style: string, ground_truth: string>
 *     extra_info    struct<index: int64, split: string, problem_id: string>
 *
 * The types are fixed here and never inferred: veRL joins the files of a run, and a column whose
 * type differs between two of them stops it. `extra_info` stays flat for the same reason.
 *
 * Source: veRL 0.9, verl/utils/dataset/rl_dataset.py and examples/data_preprocess.
 */
import type { ChatMessage, Problem } from "../core/problem.js";
import { createParquet, type RowWriter, type SchemaElement } from "./parquet-writer.js";

/** One row of veRL's training data. */
export interface VerlRow {
  data_source: string;
  prompt: Pick<ChatMessage, "role" | "content">[];
  ability: string;
  reward_model: { style: "rule"; ground_truth: string };
  extra_info: { index: number; split: string; problem_id: string };
}

const text = (name: string): SchemaElement => ({
  name,
  type: "BYTE_ARRAY",
  repetition_type: "OPTIONAL",
  converted_type: "UTF8",
  logical_type: { type: "STRING" },
});

const struct = (name: string, fields: SchemaElement[]): SchemaElement[] => [
  { name, repetition_type: "OPTIONAL", num_children: fields.length },
  ...fields,
];

/** The parquet schema of VerlRow, in depth-first order. */
export const VERL_SCHEMA: readonly SchemaElement[] = [
  { name: "schema", num_children: 5 },
  text("data_source"),
  {
    name: "prompt",
    repetition_type: "OPTIONAL",
    num_children: 1,
    converted_type: "LIST",
    logical_type: { type: "LIST" },
  },
  { name: "list", repetition_type: "REPEATED", num_children: 1 },
  ...struct("element", [text("role"), text("content")]),
  text("ability"),
  ...struct("reward_model", [text("style"), text("ground_truth")]),
  ...struct("extra_info", [
    { name: "index", type: "INT64", repetition_type: "OPTIONAL" },
    text("split"),
    text("problem_id"),
  ]),
];

/** Creates a parquet file of veRL rows. */
export function createVerlParquet(path: string): Omit<RowWriter<object>, "write"> & {
  write(row: VerlRow): void;
} {
  const writer = createParquet<object>(path, [...VERL_SCHEMA]);
  return {
    get rowCount() {
      return writer.rowCount;
    },
    // 64-bit columns take bigint.
    write: (row) => {
      const { index } = row.extra_info;
      // The ground truth is nearly all of a row.
      const bytes = row.reward_model.ground_truth.length;
      writer.write({ ...row, extra_info: { ...row.extra_info, index: BigInt(index) } }, bytes);
    },
    output: writer.output,
    finish: () => writer.finish(),
    close: () => writer.close(),
  };
}

/**
 * Turns a problem into veRL's row. The problem's `split` and `index` tags, where it has them, stand
 * in `extra_info`; `ability` is what the tests ask for.
 */
export function toVerlRow(problem: Problem): VerlRow {
  const { id, source, prompt, tests, tags } = problem;
  return {
    data_source: source,
    prompt: prompt.map(({ role, content }) => ({ role, content })),
    ability: tests.kind === "answer" ? "math" : "code",
    reward_model: { style: "rule", ground_truth: groundTruthOf(problem) },
    extra_info: {
      index: Number(tags?.["index"] ?? 0),
      split: tags?.["split"] ?? "train",
      problem_id: id,
    },
  };
}

/**
 * Writes the tests of a problem as the text veRL hands to the reward function. Arguments and
 * expected values are copied as they stand, so that no number changes its form. A stated answer is
 * that answer alone, as veRL's own GSM8K scorer expects it.
 */
export function groundTruthOf({ id, tests, limits, compare, language }: Problem): string {
  if (tests.kind === "answer") return tests.answer;
  const members: [string, string][] = [["problem_id", JSON.stringify(id)]];
  const add = (name: string, json: string | undefined) => {
    if (json !== undefined) members.push([name, json]);
  };
  if (tests.kind === "stdio") {
    add("inputs", JSON.stringify(tests.cases.map((testCase) => testCase.input)));
    add("outputs", JSON.stringify(tests.cases.map((testCase) => testCase.output)));
    add("checker", tests.checker && JSON.stringify(tests.checker));
  }
  if (tests.kind === "call") {
    add("fn_name", JSON.stringify(tests.entryPoint));
    add("inputs", `[${tests.cases.map((testCase) => testCase.args).join(", ")}]`);
    // APPS writes the result of a call as a list of one value.
    add("outputs", `[${tests.cases.map((testCase) => `[${testCase.expected}]`).join(", ")}]`);
    const more = tests.cases.map(({ alternatives }) => `[${(alternatives ?? []).join(", ")}]`);
    if (more.some((list) => list !== "[]")) add("alternatives", `[${more.join(", ")}]`);
  }
  if (tests.kind === "assert") {
    add("assert_case", JSON.stringify(tests.cases));
    add("entry_point", JSON.stringify(tests.entryPoint));
    add("setup", JSON.stringify(tests.setup));
    add("program_prefix", JSON.stringify(tests.programPrefix));
  }
  add("limits", limits && JSON.stringify(limits));
  add("compare", compare && JSON.stringify(compare));
  add("language", language === "python" ? undefined : JSON.stringify(language));
  return `{${members.map(([name, json]) => `${JSON.stringify(name)}: ${json}`).join(", ")}}`;
}
