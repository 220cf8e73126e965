/**
 * Fields of raw rows, checked where they enter: each reader answers the typed value or throws an
 * error that names file, row, column and what was found instead.
 */
import type { ChatMessage, Tests } from "../core/problem.js";
import { chatMessageSchema } from "../core/problem.js";
import { DataError } from "../core/errors.js";
import { parseGroundTruth } from "../formats/ground-truth.js";
import type { Drop, RawRow, RowPlace } from "./source.js";

/** Says what a value is, for errors. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Uint8Array) return "bytes";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Reads a column that holds text. */
export function textField(row: RawRow, name: string, at: RowPlace): string {
  const value = row[name];
  if (typeof value === "string") return value;
  throw new DataError(`${name} must be text, found ${describeValue(value)}`, at);
}

/** Reads a column that holds text or nothing. */
export function optionalText(row: RawRow, name: string, at: RowPlace): string | null {
  return row[name] === null || row[name] === undefined ? null : textField(row, name, at);
}

/** Reads a column that holds a list of texts; nothing is an empty list. */
export function textList(row: RawRow, name: string, at: RowPlace): string[] {
  const value = row[name] ?? [];
  if (isTextList(value)) return value;
  throw new DataError(`${name} must be a list of texts, found ${describeValue(value)}`, at);
}

/** Reads a column that holds an object, or its JSON text. */
export function objectField(row: RawRow, name: string, at: RowPlace): RawRow {
  const value = typeof row[name] === "string" ? parseText(row[name], name, at) : row[name];
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as RawRow;
  throw new DataError(`${name} must be an object, found ${describeValue(value)}`, at);
}

/**
 * Reads a chat prompt: a list of messages, or the JSON text of one. Null fields, which a parquet
 * struct adds to every message, are left out.
 *
 * @throws {DataError} for a plain text: a chat template would drop it without a word.
 */
export function messagesField(row: RawRow, name: string, at: RowPlace): ChatMessage[] {
  let value = row[name];
  if (typeof value === "string" && value.trimStart().startsWith("[")) {
    value = parseText(value, name, at);
  }
  if (!Array.isArray(value)) {
    const cure = "rewrite it as [{role, content}, …]: a chat template drops plain text silently";
    throw new DataError(
      `${name} must be a list of chat messages, found ${describeValue(value)}; ${cure}`,
      at,
    );
  }
  return value.map((item, index) => {
    const { role, content } = Object(item) as Record<string, unknown>;
    const message = chatMessageSchema.safeParse({ role, content });
    if (message.success) return message.data;
    const found = `role ${JSON.stringify(role)}, content ${describeValue(content)}`;
    throw new DataError(
      `message ${index + 1} of ${name} must have a known role and text content, found ${found}`,
      at,
    );
  });
}

/** Leaves out what is null, at every depth; a list keeps its nulls' places. */
export function dropNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropNulls);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const kept = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(kept.map(([name, field]) => [name, dropNulls(field)]));
}

/**
 * Reads a ground truth, text or object, into tests; or says why the row must be left out.
 */
export function groundTruthField(value: unknown): Tests | { drop: Drop } {
  if (value === null || value === undefined || value === "") {
    return { drop: { reason: "null_ground_truth" } };
  }
  const json = typeof value === "string" ? value : jsonText(value);
  const plain = plainStdioTests(json);
  if (plain !== null) return plain;
  const tests = parseGroundTruth(json);
  return "bad" in tests ? { drop: classifyBad(json, tests.bad) } : tests;
}

/**
 * The tests of the usual form, lists of texts alone, by the engine's own parser: ten times as fast,
 * and without numbers it loses nothing. Null for every other form.
 */
function plainStdioTests(json: string): Tests | null {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return null;
  }
  const { inputs, outputs, fn_name: name, assert_case: asserts } = Object(value) as RawRow;
  if (!isTextList(inputs) || !isTextList(outputs) || name || asserts) return null;
  if (inputs.length !== outputs.length || inputs.length === 0) return null;
  return { kind: "stdio", cases: inputs.map((input, i) => ({ input, output: outputs[i] })) };
}

const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** JSON text of a value that may hold bigint. */
export function jsonText(value: unknown): string {
  // Digits of a bigint stand for themselves in JSON; quotes around them are taken off again.
  const mark = "\u0001";
  const json = JSON.stringify(value, (_, field: unknown) =>
    typeof field === "bigint" ? `${mark}${field}${mark}` : field,
  );
  return json.replace(/"\\u0001(-?\d+)\\u0001"/g, "$1");
}

function classifyBad(json: string, detail: string): Drop {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return { reason: "unparsable_ground_truth", detail };
  }
  if (value === null) return { reason: "null_ground_truth" };
  if (Array.isArray(value)) {
    return { reason: value.length === 0 ? "no_tests" : "unparsable_ground_truth", detail };
  }
  const { inputs, outputs, assert_case: asserts } = Object(value) as RawRow;
  const [left, right] = [inputs ?? [], outputs ?? []];
  if (!Array.isArray(left) || !Array.isArray(right)) {
    return { reason: "unparsable_ground_truth", detail };
  }
  if (left.length !== right.length) return { reason: "unequal_tests", detail };
  const isEmpty = left.length === 0 && (!Array.isArray(asserts) || asserts.length === 0);
  return { reason: isEmpty ? "no_tests" : "unparsable_ground_truth", detail };
}

function parseText(text: string, name: string, at: RowPlace): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DataError(`${name} is not JSON: ${(cause as Error).message}`, { ...at, cause });
  }
}
