/**
 * LiveCodeBench (livecodebench/code_generation_lite).
 *
 * One raw row, shortened:
 *
 *     {"question_title": "A. Short Sort", "question_content": "There are three cards …",
 *      "platform": "codeforces", "question_id": "1873_A", "contest_id": "1873",
 *      "contest_date": "2023-08-21T00:00:00", "starter_code": "", "difficulty": "easy",
 *      "public_test_cases": "[{\"input\": \"6\\nabc\\n…\", \"output\": \"YES\\n…\",
 *                             \"testtype\": \"stdin\"}]",
 *      "private_test_cases": "eJxrYJlqwwABPRbR1UqZeQWlJUpWCkrG…", "metadata": "{}"}
 *
 * Private tests may be base64 of zlib of a pickle of JSON text; formats/lcb-tests.ts decodes them
 * without executing anything. Functional tests give one JSON value per argument and line, and
 * `metadata` names the function.
 */
import { DataError } from "../../core/errors.js";
import type { Tests } from "../../core/problem.js";
import { decodeLcbTests, type LcbTest } from "../../formats/lcb-tests.js";
import { objectField, optionalText, textField } from "../fields.js";
import type { Draft, RawRow, RowPlace, Source } from "../source.js";

/** LiveCodeBench. */
export const livecodebench: Source = {
  name: "livecodebench",
  summary: "LiveCodeBench (livecodebench/code_generation_lite)",
  columns: ["question_content", "question_id", "public_test_cases", "private_test_cases"],
  read: (row, at) => {
    const statement = textField(row, "question_content", at).trim();
    if (statement === "") return { drop: { reason: "no_statement" } };
    const tests = ["public_test_cases", "private_test_cases"].flatMap((name) => {
      const text = optionalText(row, name, at);
      return text === null || text === "" ? [] : decodeLcbTests(text, at);
    });
    if (tests.length === 0) return { drop: { reason: "no_tests" } };
    const draft: Draft = {
      id: `livecodebench/${textField(row, "question_id", at)}`,
      source: "livecodebench",
      statement,
      starter: optionalText(row, "starter_code", at)?.trim() ?? "",
      tests: testsOf(tests, row, at),
      split: null,
      index: null,
      tags: {
        platform: textField(row, "platform", at),
        difficulty: textField(row, "difficulty", at),
        date: textField(row, "contest_date", at).slice(0, 10),
      },
    };
    return { draft };
  },
};

function testsOf(tests: LcbTest[], row: RawRow, at: RowPlace): Tests {
  if (tests.every((test) => test.testtype === "stdin")) {
    return { kind: "stdio", cases: tests.map(({ input, output }) => ({ input, output })) };
  }
  if (tests.some((test) => test.testtype === "stdin")) {
    throw new DataError("tests must be all stdin or all functional, found both", at);
  }
  const entryPoint = textField(objectField(row, "metadata", at), "func_name", at);
  const cases = tests.map(({ input, output }) => ({
    args: `[${input
      .split("\n")
      .filter((line) => line.trim() !== "")
      .join(", ")}]`,
    expected: output.trim(),
  }));
  return { kind: "call", entryPoint, cases };
}
