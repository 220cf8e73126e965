/**
 * The ground truth of a veRL row: JSON text with the tests of a problem.
 *
 *     {"inputs": ["1 2\n"], "outputs": ["3\n"]}                          standard input and output
 *     {"fn_name": "add", "inputs": [[1, 2]], "outputs": [[3]]}            calls
 *     {"assert_case": ["assert add(1, 2) == 3"]}                          asserts
 *     [{"input": {"stdin": "1 2"}, "output": {"stdout": "3"}}]            SandboxFusion
 */
import type { Tests } from "../core/problem.js";
import { formatJson, type Json, parseJson } from "./lossless-json.js";

/** Why a ground truth holds no tests. */
export interface BadGroundTruth {
  bad: string;
}

/** Reads the tests of a ground truth; what cannot be read is an answer, not an exception. */
export function parseGroundTruth(json: string, source: string): Tests | BadGroundTruth {
  let node: Json;
  try {
    node = parseJson(json);
  } catch (error) {
    return { bad: `ground truth of ${source} is not JSON: ${(error as Error).message}` };
  }
  if (Array.isArray(node)) return sandboxFusionTests(node);
  if (!(node instanceof Map)) return { bad: "ground truth is not a JSON object" };
  const asserts = node.get("assert_case");
  return Array.isArray(asserts) ? assertTests(node, asserts) : pairedTests(node);
}

function pairedTests(members: Map<string, Json>): Tests | BadGroundTruth {
  const inputs = members.get("inputs");
  const outputs = members.get("outputs");
  if (!Array.isArray(inputs) || !Array.isArray(outputs)) {
    return { bad: "ground truth has no lists of inputs and outputs" };
  }
  if (inputs.length !== outputs.length) {
    return { bad: `${inputs.length} inputs but ${outputs.length} outputs` };
  }
  if (inputs.length === 0) return { bad: "ground truth has no tests" };
  const name = members.get("fn_name");
  if (typeof name === "string" && name !== "") {
    const isWrapped = outputs.every((output) => Array.isArray(output) && output.length === 1);
    const cases = inputs.map((input, index) => ({
      args: argumentsOf(input),
      expected: formatJson(isWrapped ? (outputs[index] as Json[])[0] : outputs[index]),
    }));
    return { kind: "call", entryPoint: name, cases };
  }
  const cases = inputs.map((input, index) => ({
    input: textOf(input),
    output: textOf(outputs[index]),
  }));
  return { kind: "stdio", cases };
}

/** Arguments are a list, or (LiveCodeBench) text with one JSON value per line. */
function argumentsOf(input: Json): string {
  if (typeof input === "string") {
    return `[${input
      .split("\n")
      .filter((line) => line.trim() !== "")
      .join(", ")}]`;
  }
  return Array.isArray(input) ? formatJson(input) : `[${formatJson(input)}]`;
}

/** Text as it is, a list as its lines. */
function textOf(value: Json): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.map(textOf).join("\n") : formatJson(value);
}

function assertTests(members: Map<string, Json>, items: Json[]): Tests | BadGroundTruth {
  if (items.length === 0) return { bad: "ground truth has no tests" };
  const text = (name: string) => {
    const value = members.get(name);
    return typeof value === "string" ? value : null;
  };
  return {
    kind: "assert",
    entryPoint: text("entry_point") ?? text("fn_name"),
    setup: text("setup") ?? "",
    cases: items.map(textOf),
    programPrefix: text("program_prefix") ?? "",
  };
}

function sandboxFusionTests(items: Json[]): Tests | BadGroundTruth {
  const cases: { input: string; output: string }[] = [];
  for (const item of items) {
    const side = (name: string, stream: string) => {
      const value = item instanceof Map ? item.get(name) : undefined;
      const text = value instanceof Map ? value.get(stream) : value;
      return typeof text === "string" ? text : null;
    };
    const input = side("input", "stdin");
    const output = side("output", "stdout");
    if (input === null || output === null) return { bad: "a test has no input or no output" };
    cases.push({ input, output });
  }
  return cases.length === 0 ? { bad: "ground truth has no tests" } : { kind: "stdio", cases };
}
