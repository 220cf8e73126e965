/**
 * The ground truth of a veRL row: JSON text with the tests of a problem.
 *
 *     {"inputs": ["1 2\n"], "outputs": ["3\n"]}                          standard input and output
 *     {"fn_name": "add", "inputs": [[1, 2]], "outputs": [[3]]}            calls
 *     {"assert_case": ["assert add(1, 2) == 3"]}                          asserts
 *     [{"input": {"stdin": "1 2"}, "output": {"stdout": "3"}}]            SandboxFusion
 */
import type { Tests } from "../core/problem.js";
import { formatLosslessJson, type JsonNode, parseLosslessJson } from "./lossless-json.js";

/** Why a ground truth holds no tests. */
export interface BadGroundTruth {
  bad: string;
}

/** Reads the tests of a ground truth; what cannot be read is an answer, not an exception. */
export function parseGroundTruth(json: string, source: string): Tests | BadGroundTruth {
  let node: JsonNode;
  try {
    node = parseLosslessJson(json);
  } catch (error) {
    return { bad: `ground truth of ${source} is not JSON: ${(error as Error).message}` };
  }
  if (node.kind === "array") return sandboxFusionTests(node.items);
  if (node.kind !== "object") return { bad: `ground truth is a ${node.kind}, not an object` };
  const asserts = node.members.get("assert_case");
  if (asserts?.kind === "array") return assertTests(node.members, asserts.items);
  return pairedTests(node.members);
}

function pairedTests(members: Map<string, JsonNode>): Tests | BadGroundTruth {
  const inputs = members.get("inputs");
  const outputs = members.get("outputs");
  if (inputs?.kind !== "array" || outputs?.kind !== "array") {
    return { bad: "ground truth has no lists of inputs and outputs" };
  }
  if (inputs.items.length !== outputs.items.length) {
    return { bad: `${inputs.items.length} inputs but ${outputs.items.length} outputs` };
  }
  if (inputs.items.length === 0) return { bad: "ground truth has no tests" };
  const name = members.get("fn_name");
  if (name?.kind === "string" && name.value !== "") {
    const isWrapped = outputs.items.every(isSingleton);
    const cases = inputs.items.map((input, index) => ({
      args: argumentsOf(input),
      expected: formatLosslessJson(unwrap(outputs.items[index], isWrapped)),
    }));
    return { kind: "call", entryPoint: name.value, cases };
  }
  const cases = inputs.items.map((input, index) => ({
    input: textOf(input),
    output: textOf(outputs.items[index]),
  }));
  return { kind: "stdio", cases };
}

const isSingleton = (node: JsonNode) => node.kind === "array" && node.items.length === 1;

const unwrap = (node: JsonNode, isWrapped: boolean) =>
  isWrapped && node.kind === "array" ? node.items[0] : node;

/** Arguments are a list, or (LiveCodeBench) text with one JSON value per line. */
function argumentsOf(input: JsonNode): string {
  if (input.kind === "string") {
    return `[${input.value
      .split("\n")
      .filter((line) => line.trim() !== "")
      .join(", ")}]`;
  }
  return input.kind === "array" ? formatLosslessJson(input) : `[${formatLosslessJson(input)}]`;
}

/** Text as it is, a list as its lines. */
function textOf(node: JsonNode): string {
  if (node.kind === "string") return node.value;
  if (node.kind === "array") return node.items.map(textOf).join("\n");
  return formatLosslessJson(node);
}

function assertTests(members: Map<string, JsonNode>, items: JsonNode[]): Tests | BadGroundTruth {
  if (items.length === 0) return { bad: "ground truth has no tests" };
  const text = (name: string) => {
    const node = members.get(name);
    return node?.kind === "string" ? node.value : null;
  };
  return {
    kind: "assert",
    entryPoint: text("entry_point") ?? text("fn_name"),
    setup: text("setup") ?? "",
    cases: items.map(textOf),
    programPrefix: text("program_prefix") ?? "",
  };
}

function sandboxFusionTests(items: JsonNode[]): Tests | BadGroundTruth {
  const cases: { input: string; output: string }[] = [];
  for (const item of items) {
    const side = (name: string, stream: string) => {
      const node = item.kind === "object" ? item.members.get(name) : undefined;
      const text = node?.kind === "object" ? node.members.get(stream) : node;
      return text?.kind === "string" ? text.value : null;
    };
    const input = side("input", "stdin");
    const output = side("output", "stdout");
    if (input === null || output === null) return { bad: "a test has no input or no output" };
    cases.push({ input, output });
  }
  return cases.length === 0 ? { bad: "ground truth has no tests" } : { kind: "stdio", cases };
}
