/**
 * A judge that shares nothing with src/verify: a pattern for the code block, one plain Python
 * process per test, outputs compared as words and results as Python's values. It has no limits but a
 * timeout and no isolation, so it is for programs of our own families and of models trained on them,
 * as a control.
 */
import { spawnSync } from "node:child_process";
import type { Problem } from "../src/core/problem.js";

const BLOCK = /```python\n([\s\S]*?)\n```/;

/** The share of a problem's tests that the program in a completion passes. */
export function judgePlainly(python: string, problem: Problem, completion: string): number {
  const program = BLOCK.exec(completion)?.[1];
  const { tests } = problem;
  if (program === undefined) return 0;
  if (tests.kind === "stdio") {
    const passed = tests.cases.filter(
      ({ input, output }) => words(runPython(python, program, input)) === words(output),
    );
    return passed.length / tests.cases.length;
  }
  if (tests.kind !== "call") throw new Error(`no starter problem has ${tests.kind} tests`);
  const passed = tests.cases.filter(({ args, expected }) => {
    const [given, wanted] = [args, expected].map((text) => `json.loads(${JSON.stringify(text)})`);
    // Values are compared, not their text: 2.0 is 2. Through JSON a tuple is a list.
    const call = `\nimport json\nprint(json.loads(json.dumps(${tests.entryPoint}(*${given}))) == ${wanted})`;
    return runPython(python, program + call, "")?.trim() === "True";
  });
  return passed.length / tests.cases.length;
}

/** What a program prints; null when it fails or takes longer than two seconds. */
function runPython(python: string, program: string, input: string): string | null {
  const run = spawnSync(python, ["-I", "-c", program], { input, encoding: "utf8", timeout: 2000 });
  return run.status === 0 ? run.stdout : null;
}

const words = (text: string | null) => (text === null ? null : text.trim().split(/\s+/).join(" "));
