/**
 * Data sets whose tests are assert statements: AceCode (TIGER-Lab/AceCode-87K) and KodCode
 * (KodCode/KodCode-V1).
 *
 * One raw row of each, shortened:
 *
 *     {"id": "bigcode_python_fns_1", "source": "bigcode_python_fns",
 *      "question": "Write a Python function that …",
 *      "test_cases": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]}
 *     {"question_id": "Prefill_1_I", "subset": "Prefill", "style": "instruct",
 *      "question": "Write a function …", "solution": "def add(a, b): …",
 *      "test": "from solution import add\n\ndef test_small():\n    assert add(1, 2) == 3\n"}
 *
 * KodCode's tests are pytest functions; pytest-file.ts makes tests of them.
 */
import { optionalText, textField, textList } from "../fields.js";
import type { Source } from "../source.js";
import { calledName } from "./mbpp.js";
import { splitPytest } from "./pytest-file.js";

/** AceCode. */
export const acecode: Source = {
  name: "acecode",
  summary: "AceCode (TIGER-Lab/AceCode-87K) and other lists of asserts",
  columns: ["id", "question", "test_cases"],
  read: (row, at) => {
    const cases = textList(row, "test_cases", at);
    if (cases.length === 0) return { drop: { reason: "no_tests" } };
    return {
      draft: {
        id: `acecode/${textField(row, "id", at)}`,
        source: "acecode",
        statement: textField(row, "question", at).trim(),
        starter: "",
        tests: {
          kind: "assert",
          entryPoint: firstOwnCall(cases[0]),
          setup: "",
          cases,
          programPrefix: "",
        },
        split: null,
        index: null,
        tags: { subset: optionalText(row, "source", at) ?? "unknown" },
      },
    };
  },
};

/** What stands before a bracket in an assert without being the function under test. */
const NOT_TESTED = new Set(
  (
    "assert not and or in is if else for lambda " +
    "abs all any bool bytes callable chr complex dict divmod enumerate filter float frozenset " +
    "getattr hasattr hash id int isinstance issubclass iter len list map max min next ord pow " +
    "range repr reversed round set sorted str sum tuple type zip isclose allclose approx"
  ).split(" "),
);

/** The first function that an assert calls and Python does not have; null where it calls none. */
function firstOwnCall(text: string): string | null {
  const calls = [...text.matchAll(/(?<![.\w])([A-Za-z_]\w*)\s*\(/g)].map(([, name]) => name);
  return calls.find((name) => !NOT_TESTED.has(name)) ?? null;
}

/** KodCode. */
export const kodcode: Source = {
  name: "kodcode",
  summary: "KodCode (KodCode/KodCode-V1)",
  columns: ["question_id", "question", "solution", "test"],
  read: (row, at) => {
    const split = splitPytest(textField(row, "test", at));
    if ("unsupported" in split) {
      return { drop: { reason: "unsupported", detail: split.unsupported } };
    }
    const { setup, cases } = split;
    if (cases.length === 0) return { drop: { reason: "no_tests" } };
    const solution = textField(row, "solution", at);
    return {
      draft: {
        id: `kodcode/${textField(row, "question_id", at)}`,
        source: "kodcode",
        statement: textField(row, "question", at).trim(),
        starter: "",
        tests: {
          kind: "assert",
          entryPoint: calledName(solution, cases.join("\n")),
          setup,
          cases,
          programPrefix: "",
        },
        split: null,
        index: null,
        solutions: [solution],
        tags: { subset: optionalText(row, "subset", at) ?? "unknown" },
      },
    };
  },
};
