/** The tests of a judged completion: input, expectation, what came, as a difference, and the time. */
import type { Problem } from "../src/core/problem.js";
import type { TestResult, VerifyResult } from "../src/verify/verify.js";
import { Diff } from "./diff.js";
import { VerdictMark } from "./verdicts.js";
import { milliseconds, percent, short } from "./words.js";

/** One row per test. */
export function TestTable({ problem, result }: { problem: Problem; result: VerifyResult }) {
  return (
    <section aria-label="Tests">
      <p>
        <VerdictMark kind={result.verdict} /> · tests passed {percent(result.passRate)} · reward{" "}
        {short(result.reward)} · program found as {result.extraction.reason.replaceAll("_", " ")}
      </p>
      {result.tests.map((test) => (
        <details key={test.index} open={test.verdict.kind !== "accepted" && isFirst(test, result)}>
          <summary>
            Test {test.index + 1} <VerdictMark kind={test.verdict.kind} />{" "}
            <span class="muted">{milliseconds(test.cpuMs)}</span>
          </summary>
          <TestDetail input={inputOf(problem, test.index)} test={test} />
        </details>
      ))}
    </section>
  );
}

const isFirst = (test: TestResult, { tests }: VerifyResult) =>
  tests.find(({ verdict }) => verdict.kind !== "accepted") === test;

function inputOf({ tests }: Problem, index: number): string {
  switch (tests.kind) {
    case "stdio":
      return tests.cases[index]?.input ?? "";
    case "call":
      return `${tests.entryPoint}(${(tests.cases[index]?.args ?? "").replace(/^\[|\]$/g, "")})`;
    case "assert":
      return tests.cases[index] ?? "";
    case "answer":
      return "";
  }
}

function TestDetail({ input, test }: { input: string; test: TestResult }) {
  const { verdict } = test;
  return (
    <>
      {input !== "" && (
        <div class="message">
          <span class="muted">input</span>
          <pre tabIndex={0}>{input}</pre>
        </div>
      )}
      {verdict.kind === "wrong_answer" && (
        <Diff left={verdict.expected} right={verdict.actual} names={["expected", "printed"]} />
      )}
      {"stderr" in verdict && verdict.stderr !== "" && <pre tabIndex={0}>{verdict.stderr}</pre>}
      {"reason" in verdict && verdict.reason !== undefined && <p>{verdict.reason}</p>}
    </>
  );
}
