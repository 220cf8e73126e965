/** What makes a problem one that no program can be judged by. */
import type { Problem, Tests } from "../core/problem.js";
import { countTests } from "../core/problem.js";
import { parseJson } from "../formats/lossless-json.js";
import { extractAnswer } from "./answer.js";

type CallTest = Extract<Tests, { kind: "call" }>["cases"][number];

/** Says why a problem cannot be judged; null when it can. */
export function faultOf(problem: Problem): string | null {
  const { tests } = problem;
  if (countTests(tests) === 0) return "the problem has no tests";
  switch (tests.kind) {
    case "stdio":
      return null;
    case "call":
      return isIdentifier(tests.entryPoint)
        ? (tests.cases.map(callFault).find(Boolean) ?? null)
        : `the entry point ${JSON.stringify(tests.entryPoint)} is no name of a function`;
    case "assert":
      return tests.entryPoint === null || isIdentifier(tests.entryPoint)
        ? null
        : `the entry point ${JSON.stringify(tests.entryPoint)} is no name of a function`;
    case "answer":
      return extractAnswer(tests.answer, "flexible") === null
        ? `the reference answer ${JSON.stringify(tests.answer)} holds no number`
        : null;
  }
}

function isIdentifier(name: string): boolean {
  return /^[\p{L}_][\p{L}\p{Nd}_]*$/u.test(name);
}

function callFault({ args, expected, alternatives = [] }: CallTest): string | null {
  try {
    if (!Array.isArray(parseJson(args, "args"))) return "the arguments of a test are no list";
    parseJson(expected, "expected");
    for (const text of alternatives) parseJson(text, "alternatives");
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
