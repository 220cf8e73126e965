/** Cases of finding the program: the text must be the expected one, and it must behave. */
import { extractProgram } from "../../../src/verify/extract.js";
import type { Case } from "../case.js";
import { judgeCase } from "./judge.js";

export { close } from "./judge.js";

/** Runs one case. */
export async function run(testCase: Case): Promise<string | null> {
  const { response, language, fn_name } = testCase.input as Record<string, string>;
  const expected = testCase.expected as {
    code: string | null;
    check?: Record<string, unknown>;
    accept_policies?: string[];
  };
  const { program } = extractProgram({
    completion: response,
    language,
    entryPoint: fn_name ?? null,
  });
  const isAllowed = expected.accept_policies?.includes("last_block") ?? false;
  if (isAllowed) return program === null ? "expected a program" : null;
  const [got, wanted] = [program, expected.code].map((code) => code && tidy(code));
  if (got !== wanted) return `expected ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`;
  if (program === null || expected.check === undefined) return null;
  return checkBehaviour(program, expected.check);
}

async function checkBehaviour(
  program: string,
  check: Record<string, unknown>,
): Promise<string | null> {
  const { mode, stdin, stdout, test, ...rest } = check;
  const input = {
    ...rest,
    mode,
    code: program,
    timeout_s: 5,
    ...(mode === "stdin" ? { inputs: [stdin], outputs: [stdout] } : {}),
    ...(mode === "assert" ? { test } : {}),
  };
  const result = await judgeCase(input);
  return result.verdict === "accepted" ? null : `the program found is ${result.verdict}`;
}

/** Compared as the cases say: line feeds only, no blank lines at the ends, no blanks at line ends. */
function tidy(code: string): string {
  const lines = code.replaceAll("\r\n", "\n").split("\n");
  return lines
    .map((line) => line.trimEnd())
    .join("\n")
    .replace(/^\n+|\n+$/g, "");
}
