/**
 * APPS (codeparrot/apps) and TACO (BAAI/TACO), which share their shape.
 *
 * One raw row of APPS:
 *
 *     {"problem_id": 0, "question": "Polycarp has n different binary words. …",
 *      "solutions": "[\"for _ in range(int(input())):\\n    …\"]",
 *      "input_output": "{\"inputs\": [\"4\\n4\\n0001\\n…\"], \"outputs\": [\"1\\n3 \\n…\"]}",
 *      "difficulty": "interview", "url": "https://…", "starter_code": ""}
 *
 * TACO has no id, but `time_limit` ("2.0 seconds"), `memory_limit` ("256.0 megabytes") and `source`.
 * `input_output` may be empty or missing: the row is untestable, not wrong. With `fn_name` in it,
 * inputs are argument lists and the problem is a call problem.
 */
import { groundTruthField, optionalText, textField } from "../fields.js";
import type { Draft, RawRow, RowPlace, Source, SourceRow } from "../source.js";

/** APPS. */
export const apps: Source = {
  name: "apps",
  summary: "APPS (codeparrot/apps)",
  columns: ["problem_id", "question", "input_output"],
  read: (row, at) => {
    const id = `apps/${String(row["problem_id"])}`;
    return readApps(row, at, { id, source: "apps" });
  },
};

/** TACO. */
export const taco: Source = {
  name: "taco",
  summary: "TACO (BAAI/TACO)",
  columns: ["question", "input_output", "source", "difficulty"],
  read: (row, at) => readApps(row, at, { id: null, source: "taco" }),
};

function readApps(
  row: RawRow,
  at: RowPlace,
  { id, source }: Pick<Draft, "id" | "source">,
): SourceRow {
  const statement = textField(row, "question", at).trim();
  if (statement === "") return { drop: { reason: "no_statement" } };
  const tests = groundTruthField(row["input_output"]);
  if ("drop" in tests) return tests;
  const solutions = solutionsOf(optionalText(row, "solutions", at));
  const limits = limitsOf(row);
  const tags = tagsOf(row, ["difficulty", "source", "url"]);
  const draft: Draft = {
    id,
    source,
    statement,
    starter: optionalText(row, "starter_code", at)?.trim() ?? "",
    tests,
    split: null,
    index: typeof row["problem_id"] === "number" ? row["problem_id"] : null,
    tags,
    ...(solutions.length > 0 && { solutions }),
    ...(limits && { limits }),
  };
  return { draft };
}

/** The column is JSON text of a list; some rows hold nothing or what is no JSON. */
function solutionsOf(text: string | null): string[] {
  if (text === null || text.trim() === "") return [];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** Limits as TACO writes them, e.g. `2.0 seconds` and `256.0 megabytes`. */
function limitsOf(row: RawRow): Draft["limits"] | null {
  const seconds = /^([\d.]+) seconds?$/.exec(String(row["time_limit"] ?? ""))?.[1];
  const megabytes = /^([\d.]+) megabytes?$/.exec(String(row["memory_limit"] ?? ""))?.[1];
  const limits = {
    ...(seconds && { timeMs: Math.round(Number(seconds) * 1000) }),
    ...(megabytes && { memoryBytes: Math.round(Number(megabytes) * 2 ** 20) }),
  };
  return Object.keys(limits).length > 0 ? limits : null;
}

function tagsOf(row: RawRow, names: string[]): Record<string, string> {
  const found = names.map((name) => [name, row[name]] as const);
  return Object.fromEntries(
    found.filter((pair): pair is [string, string] => typeof pair[1] === "string" && pair[1] !== ""),
  );
}
