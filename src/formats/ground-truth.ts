/**
 * Test data in the shapes that public data sets use, as the product's own tests.
 *
 * One ground truth is a JSON text `{"inputs": […], "outputs": […], "fn_name"?: …}` (Eurus-2-RL-Data,
 * APPS, TACO, LiveCodeBench), or a list of `{"input", "output"}`. It is read without loss. What
 * cannot be judged (no tests, unequal lengths, no expectation) is named and never guessed.
 *
 * Standard input: a text, or a list of lines that are joined; other values are written as JSON.
 * Calls: the input is the list of arguments, or a text with one JSON value a line; the output is
 * JSON text, a value, or a list that holds only the value. When every output of a row is a list of
 * one item, those lists are containers; when only some are, both readings are right.
 */
import type { z } from "zod";
import { checkerSchema, type Problem, problemSchema, type Tests } from "../core/problem.js";
import { formatJson, type Json, JsonNumber, parseJson } from "./lossless-json.js";

/** Tests, or why there are none. */
export type GroundTruth = Tests | { bad: string };

/** What a row of our own (verl-rows.ts) says beside its tests; absent where it says nothing. */
export type GroundTruthRow = { tests: Tests; problemId?: string } & Pick<
  Partial<Problem>,
  "limits" | "compare" | "language"
>;

/** Reads the tests of one ground truth; `source` names the data set in messages. */
export function parseGroundTruth(text: string | null, source = "the row"): GroundTruth {
  const value = readValue(text, source);
  return "bad" in value ? value : testsOf(value.json);
}

/** Reads one ground truth with the limits, rules of comparison and language that it may carry. */
export function parseGroundTruthRow(
  text: string | null,
  source = "the row",
): GroundTruthRow | { bad: string } {
  const value = readValue(text, source);
  if ("bad" in value) return value;
  const tests = testsOf(value.json);
  if ("bad" in tests) return tests;
  if (!(value.json instanceof Map)) return { tests };
  const { limits, compare, language } = problemSchema.shape;
  const row = value.json;
  try {
    const id = row.get("problem_id");
    return {
      tests,
      ...(typeof id === "string" ? { problemId: id } : {}),
      ...member(row, "limits", limits),
      ...member(row, "compare", compare),
      ...(row.has("language") ? member(row, "language", language) : {}),
    };
  } catch (error) {
    return { bad: (error as Error).message };
  }
}

function readValue(text: string | null, source: string): { json: Json } | { bad: string } {
  if (text === null || text.trim() === "") return { bad: "the ground truth is empty" };
  try {
    const json = parseJson(text, "ground truth");
    // Some rows hold the JSON text once more as a JSON string.
    return { json: typeof json === "string" ? parseJson(json, "ground truth") : json };
  } catch (error) {
    return { bad: `the ground truth of ${source} is not JSON: ${(error as Error).message}` };
  }
}

function testsOf(value: Json): GroundTruth {
  if (Array.isArray(value)) return fromPairs(value);
  if (!(value instanceof Map)) return { bad: "the ground truth is neither an object nor a list" };
  const tests = fromColumns(value);
  if ("bad" in tests || tests.kind !== "stdio") return tests;
  try {
    return { ...tests, ...member(value, "checker", checkerSchema.optional()) };
  } catch (error) {
    return { bad: (error as Error).message };
  }
}

/** One member as its schema reads it; nothing where it is absent or null. */
function member<Name extends string, T extends z.ZodType>(
  row: Map<string, Json>,
  name: Name,
  schema: T,
): Partial<Record<Name, NonNullable<z.infer<T>>>> {
  const value = row.get(name);
  if (value === undefined || value === null) return {};
  const parsed = schema.safeParse(JSON.parse(formatJson(value)));
  if (!parsed.success) throw new Error(`${name}: ${parsed.error.issues[0].message}`);
  return { [name]: parsed.data } as Record<Name, NonNullable<z.infer<T>>>;
}

function fromColumns(row: Map<string, Json>): GroundTruth {
  const asserts = row.get("assert_case");
  if (Array.isArray(asserts) && asserts.length > 0) return fromAsserts(row, asserts);
  const [inputs, outputs] = [row.get("inputs"), row.get("outputs")];
  if (!Array.isArray(inputs) || !Array.isArray(outputs)) {
    return { bad: "the ground truth has no lists `inputs` and `outputs`" };
  }
  if (inputs.length !== outputs.length) {
    return { bad: `${inputs.length} inputs but ${outputs.length} outputs` };
  }
  if (inputs.length === 0) return { bad: "the ground truth has no tests" };
  const name = row.get("fn_name");
  if (name === undefined || name === null || name === "") return stdioTests(inputs, outputs);
  if (typeof name !== "string") return { bad: "fn_name is no text" };
  const more = row.get("alternatives");
  return callTests(name, inputs, outputs, Array.isArray(more) ? more : []);
}

function fromPairs(rows: Json[]): GroundTruth {
  if (rows.length === 0) return { bad: "the ground truth has no tests" };
  const inputs: Json[] = [];
  const outputs: Json[] = [];
  for (const row of rows) {
    if (!(row instanceof Map)) return { bad: "a test is no object" };
    const [input, output] = [
      streamOf(row.get("input"), "stdin"),
      streamOf(row.get("output"), "stdout"),
    ];
    if (input === undefined || output === undefined) return { bad: "a test lacks input or output" };
    inputs.push(input);
    outputs.push(output);
  }
  return stdioTests(inputs, outputs);
}

/** SandboxFusion wraps texts as `{"stdin": …}` and `{"stdout": …}`. */
function streamOf(value: Json | undefined, name: string): Json | undefined {
  return value instanceof Map ? value.get(name) : value;
}

function fromAsserts(row: Map<string, Json>, cases: Json[]): GroundTruth {
  if (!cases.every((item): item is string => typeof item === "string")) {
    return { bad: "assert_case holds something that is no text" };
  }
  // Our own rows (verl-rows.ts) also say what the asserts need.
  const text = (name: string) => {
    const value = row.get(name);
    return typeof value === "string" ? value : null;
  };
  return {
    kind: "assert",
    entryPoint: text("entry_point"),
    setup: text("setup") ?? "",
    cases,
    programPrefix: text("program_prefix") ?? "",
  };
}

function stdioTests(inputs: Json[], outputs: Json[]): GroundTruth {
  const missing = outputs.findIndex((output) => output === null);
  if (missing !== -1) return { bad: `test ${missing + 1} has no expected output` };
  const cases = inputs.map((input, i) => ({
    input: plainText(input),
    output: plainText(outputs[i]),
  }));
  return { kind: "stdio", cases };
}

/** Lists of lines are joined; numbers and other values are written as they stand. */
function plainText(value: Json): string {
  if (value === null) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(plainText).join("\n");
  return value instanceof JsonNumber ? value.text : formatJson(value);
}

/** `more`: per test, further values that are right, as our own rows list them. */
function callTests(entryPoint: string, inputs: Json[], outputs: Json[], more: Json[]): GroundTruth {
  // A text output is JSON (LiveCodeBench), which needs no container around the value.
  const isWrapped = outputs.every((output) => Array.isArray(output) && output.length === 1);
  const cases: { args: string; expected: string; alternatives?: string[] }[] = [];
  for (const [i, input] of inputs.entries()) {
    try {
      const args = formatJson(argumentList(input));
      const further = more[i];
      const [expected, ...alternatives] = [
        ...readings(outputs[i], input, isWrapped),
        ...(Array.isArray(further) ? further : []),
      ].map(formatJson);
      cases.push({ args, expected, ...(alternatives.length === 0 ? {} : { alternatives }) });
    } catch (error) {
      return { bad: `test ${i + 1}: ${(error as Error).message}` };
    }
  }
  return { kind: "call", entryPoint, cases };
}

/** What an output may mean, the likeliest first. */
function readings(output: Json, input: Json, isWrapped: boolean): Json[] {
  if (typeof output === "string") {
    if (typeof input === "string") return [parseJson(output, "output")];
    // Beside an argument list a text may be the value itself or JSON.
    const value = jsonOr(output);
    return value === undefined || value === output ? [output] : [value, output];
  }
  if (!Array.isArray(output) || output.length !== 1) return [output];
  return isWrapped ? [output[0]] : [output, output[0]];
}

function jsonOr(text: string): Json | undefined {
  try {
    return parseJson(text, "output");
  } catch {
    return undefined;
  }
}

/** The arguments of one call: a list of them, a text with one JSON value a line, or one value. */
function argumentList(input: Json): Json[] {
  if (Array.isArray(input)) return input;
  if (typeof input !== "string") return [input];
  const lines = input.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => parseJson(line, "argument"));
}
