/**
 * MBPP (google-research-datasets/mbpp), full and sanitized.
 *
 * One raw row of each, shortened:
 *
 *     {"task_id": 2, "text": "Write a function to find the similar elements from …",
 *      "code": "def similar_elements(test_tup1, test_tup2):\r\n  res = …",
 *      "test_list": ["assert similar_elements((3, 4, 5, 6),(5, 7, 4, 10)) == (4, 5)", …],
 *      "test_setup_code": "", "challenge_test_list": []}
 *     {"source_file": "…", "task_id": 2, "prompt": "Write a function to find the shared …",
 *      "code": "…", "test_imports": [], "test_list": ["assert set(similar_elements(…)) == …"]}
 *
 * The task number is the split: 11 to 510 are the test set. The prompt shows the first assert, which
 * is where the function's name stands; the others stay hidden.
 */
import { optionalText, textField, textList } from "../fields.js";
import type { RawRow, RowPlace, Source } from "../source.js";

/** MBPP. */
export const mbpp: Source = {
  name: "mbpp",
  summary: "MBPP, full and sanitized",
  columns: ["task_id", "test_list", "code"],
  read: (row, at) => {
    const statement = (optionalText(row, "text", at) ?? textField(row, "prompt", at)).trim();
    const cases = textList(row, "test_list", at);
    if (cases.length === 0) return { drop: { reason: "no_tests" } };
    const task = Number(row["task_id"]);
    const code = textField(row, "code", at).replaceAll("\r\n", "\n");
    return {
      draft: {
        id: `mbpp/${task}`,
        source: "mbpp",
        statement: `${statement}\n\nExample:\n${cases[0]}`,
        task: statement,
        starter: "",
        tests: {
          kind: "assert",
          entryPoint: calledName(code, cases[0]),
          setup: setupOf(row, at),
          cases,
          programPrefix: "",
        },
        split: splitOf(task),
        index: task,
        solutions: [code],
      },
    };
  },
};

function setupOf(row: RawRow, at: RowPlace): string {
  const imports = textList(row, "test_imports", at);
  return [...imports, (optionalText(row, "test_setup_code", at) ?? "").replaceAll("\r\n", "\n")]
    .filter((part) => part !== "")
    .join("\n");
}

/** The function of the reference that an assert calls. */
export function calledName(code: string, assertion: string): string | null {
  const names = [...code.matchAll(/^(?:def|class) +(\w+)/gm)].map((match) => match[1]);
  return names.find((name) => new RegExp(`\\b${name}\\b`).test(assertion)) ?? null;
}

function splitOf(task: number): string {
  if (task <= 10) return "prompt";
  if (task <= 510) return "test";
  return task <= 600 ? "validation" : "train";
}
