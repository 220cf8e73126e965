/**
 * CodeContests (deepmind/code_contests).
 *
 * One raw row, shortened:
 *
 *     {"name": "1575_A. Another Sorting Problem", "description": "Andi and Budi were given …",
 *      "public_tests": {"input": ["5 2\nAA\n…"], "output": ["5 2 1 3 4 \n"]},
 *      "private_tests": {"input": [], "output": []},
 *      "generated_tests": {"input": ["…"], "output": ["…"]},
 *      "source": 2, "difficulty": 7, "solutions": {"language": [3, 2], "solution": ["…", "…"]},
 *      "time_limit": {"seconds": 2, "nanos": 0}, "memory_limit_bytes": 256000000,
 *      "input_file": "", "output_file": ""}
 *
 * Its own harness compares words without regard to letter case where an answer is a word. Languages
 * of solutions are numbers; 3 is Python 3. Problems that read named files are left out.
 */
import { objectField, textField, textList } from "../fields.js";
import type { Draft, RawRow, RowPlace, Source } from "../source.js";

const PYTHON3 = 3;
const PLATFORMS = [
  "unknown",
  "codechef",
  "codeforces",
  "hackerearth",
  "codejam",
  "atcoder",
  "aizu",
];
const TEST_COLUMNS = ["public_tests", "private_tests", "generated_tests"];

/** CodeContests. */
export const codecontests: Source = {
  name: "codecontests",
  summary: "CodeContests (deepmind/code_contests)",
  columns: ["name", "description", "public_tests", "private_tests"],
  read: (row, at) => {
    const statement = textField(row, "description", at).trim();
    if (statement === "") return { drop: { reason: "no_statement" } };
    const files = [row["input_file"], row["output_file"]].filter((name) => name);
    if (files.length > 0) {
      return { drop: { reason: "unsupported", detail: `reads or writes ${files.join(", ")}` } };
    }
    const lists = TEST_COLUMNS.map((name) => pairsOf(row, name, at));
    const uneven = lists.find(({ inputs, outputs }) => inputs.length !== outputs.length);
    if (uneven) return { drop: { reason: "unequal_tests" } };
    const cases = lists.flatMap(({ inputs, outputs }) =>
      inputs.map((input, index) => ({ input, output: outputs[index] })),
    );
    const solutions = pythonSolutions(row, at);
    const limits = limitsOf(row);
    const draft: Draft = {
      id: `codecontests/${textField(row, "name", at)}`,
      source: "codecontests",
      statement,
      starter: "",
      tests: { kind: "stdio", cases },
      split: null,
      index: null,
      compare: { ignoreCase: "words" },
      tags: { platform: PLATFORMS[Number(row["source"] ?? 0)] ?? "unknown" },
      ...(solutions.length > 0 && { solutions }),
      ...(limits && { limits }),
    };
    return { draft };
  },
};

function pairsOf(row: RawRow, name: string, at: RowPlace) {
  if (row[name] === null || row[name] === undefined) return { inputs: [], outputs: [] };
  const pairs = objectField(row, name, at);
  return { inputs: textList(pairs, "input", at), outputs: textList(pairs, "output", at) };
}

function pythonSolutions(row: RawRow, at: RowPlace): string[] {
  if (row["solutions"] === null || row["solutions"] === undefined) return [];
  const solutions = objectField(row, "solutions", at);
  const languages = (solutions["language"] ?? []) as unknown[];
  return textList(solutions, "solution", at).filter((_, index) => languages[index] === PYTHON3);
}

function limitsOf(row: RawRow): Draft["limits"] | null {
  const { seconds, nanos } = (row["time_limit"] ?? {}) as { seconds?: number; nanos?: number };
  const timeMs = Math.round((seconds ?? 0) * 1000 + (nanos ?? 0) / 1e6);
  const memoryBytes = Number(row["memory_limit_bytes"] ?? 0);
  const limits = { ...(timeMs > 0 && { timeMs }), ...(memoryBytes > 0 && { memoryBytes }) };
  return Object.keys(limits).length > 0 ? limits : null;
}
