/** Area parquet: small files as base64 against the rows, prompts and tests they hold. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Tests } from "../../../src/core/problem.js";
import { openParquet } from "../../../src/formats/parquet.js";
import {
  dropNulls,
  groundTruthField,
  messagesField,
  objectField,
} from "../../../src/prepare/fields.js";
import type { RawRow } from "../../../src/prepare/source.js";
import type { AreaHandler } from "../case.js";

/** Runs one case. */
export const run: AreaHandler = async ({ id, input, expected }) => {
  const rows = await readRows(String(input["parquet_base64"]));
  const at = { path: id, line: 1 };
  const wanted = expected as Record<string, unknown>;
  for (const [name, value] of Object.entries(wanted)) {
    const found = FACTS[name](rows, at);
    if (!isDeepStrictEqual(found, value)) return `${name}: got ${show(found)}`;
  }
  return null;
};

type Fact = (rows: RawRow[], at: { path: string; line: number }) => unknown;

const testsOf = (row: RawRow, at: { path: string; line: number }): Tests => {
  const tests = groundTruthField(objectField(row, "reward_model", at)["ground_truth"]);
  if ("drop" in tests) throw new Error(tests.drop.reason);
  return tests;
};

/** The tests as the two lists they were written as. */
const listsOf = (tests: Tests) => {
  if (tests.kind !== "stdio") throw new Error(`expected stdio tests, got ${tests.kind}`);
  return {
    inputs: tests.cases.map((testCase) => testCase.input),
    outputs: tests.cases.map((testCase) => testCase.output),
  };
};

/** What a case may ask of a file, by the key of its expectation. */
const FACTS: Record<string, Fact> = {
  rows: (rows) => rows,
  row_count: (rows) => rows.length,
  ground_truth: ([row], at) => listsOf(testsOf(row, at)),
  ground_truth_row1: (rows, at) => listsOf(testsOf(rows[1], at)),
  n_tests: ([row], at) => listsOf(testsOf(row, at)).inputs.length,
  input_length_row0: ([row], at) => listsOf(testsOf(row, at)).inputs[0].length,
  blob_hex: ([row]) => Buffer.from(row["blob"] as Uint8Array).toString("hex"),
  n: ([row]) => row["n"],
  id_string: ([row]) => String(row["id"]),
  messages: ([row], at) =>
    "messages" in row ? dropNulls(row["messages"]) : messagesField(row, "prompt", at),
};

async function readRows(base64: string): Promise<RawRow[]> {
  const dir = await mkdtemp(join(tmpdir(), "case-"));
  try {
    const path = join(dir, "case.parquet");
    await writeFile(path, Buffer.from(base64, "base64"));
    const file = await openParquet(path);
    const rows: RawRow[] = [];
    for await (const batch of file.read()) rows.push(...batch.rows.map((row) => row.value));
    await file.close();
    return rows;
  } finally {
    await rm(dir, { recursive: true });
  }
}

const show = (value: unknown) =>
  JSON.stringify(value, (_, field: unknown) =>
    typeof field === "bigint" ? `${field}n` : field,
  )?.slice(0, 500);
