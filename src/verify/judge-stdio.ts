/** Judges programs that read standard input and write standard output. */
import type { Checker } from "../core/problem.js";
import type { Verdict } from "../core/verdict.js";
import { checkOutput } from "./checker.js";
import { compareOutput, resolveRule } from "./compare.js";
import { type JudgeJob, type Judgement, shown, verdictOfEnd } from "./judgement.js";
import type { ProgramOutcome } from "./sandbox.js";
import type { TestResult } from "./verifier.js";

/** Bytes that a program may print beyond four times what is expected, before it is stopped. */
const SLACK_BYTES = 64 * 1024;

/** @throws {SandboxError} when the machinery failed. */
export async function judgeStdio(job: JudgeJob): Promise<Judgement> {
  const { problem } = job;
  if (problem.tests.kind !== "stdio") throw new Error("expected stdio tests");
  const { checker } = problem.tests;
  return checker === undefined ? judgeByComparison(job) : judgeByChecker(job, checker);
}

interface StdioCase {
  input: string;
  output: string;
}

function casesOf({ problem, chosen }: JudgeJob): StdioCase[] {
  const { tests } = problem;
  return tests.kind === "stdio" ? chosen.map((index) => tests.cases[index]) : [];
}

async function judgeByComparison(job: JudgeJob): Promise<Judgement> {
  const { problem, program, chosen, sandbox, earlyStop } = job;
  const cases = casesOf(job);
  const rule = resolveRule(problem.compare, problem.source);
  const expected = cases.map(({ output }) => Buffer.from(output));
  const largest = Math.max(...expected.map((bytes) => bytes.length));
  const outputBytes = Math.min(job.limits.outputBytes, 4 * largest + SLACK_BYTES);
  const limits = { ...job.limits, outputBytes };
  const verdicts: Verdict[] = [];
  const verdictOf = (at: number, outcome: ProgramOutcome): Verdict => {
    const ended = verdictOfEnd(outcome, limits);
    if (ended !== null) return ended;
    const compared = compareOutput(expected[at], outcome.stdout, rule);
    if (compared.isEqual) return { kind: "accepted" };
    return wrongAnswer(expected[at], outcome.stdout, compared.reason);
  };
  const outcomes = await sandbox.run({
    language: problem.language,
    source: program,
    stdins: cases.map(({ input }) => Buffer.from(input)),
    limits,
    isSuccess: (at, outcome) => verdictOf(at, outcome).kind === "accepted",
    onOutcome: (at, outcome) => {
      verdicts[at] = verdictOf(at, outcome);
      return !(earlyStop && verdicts[at].kind !== "accepted");
    },
    ...(job.signal === undefined ? {} : { signal: job.signal }),
  });
  const tests = outcomes.map((outcome, at) =>
    resultOf(chosen[at], verdicts[at] ?? verdictOf(at, outcome), outcome),
  );
  return { tests, trust: "strong" };
}

/** A checker runs after the program has ended, and only it sees the answer. */
async function judgeByChecker(job: JudgeJob, checker: Checker): Promise<Judgement> {
  const { problem, program, chosen, sandbox, limits, earlyStop } = job;
  const cases = casesOf(job);
  const signal = job.signal === undefined ? {} : { signal: job.signal };
  const run = (some: StdioCase[]) => {
    const stdins = some.map(({ input }) => Buffer.from(input));
    return sandbox.run({
      ...{ language: problem.language, source: program, stdins, limits, ...signal },
      isSuccess: (_, outcome) => verdictOfEnd(outcome, limits) === null,
    });
  };
  const judge = async (at: number, outcome: ProgramOutcome): Promise<TestResult> => {
    const verdict =
      verdictOfEnd(outcome, limits) ??
      (await checkOutput({ checker, sandbox, limits, ...cases[at], printed: outcome.stdout }));
    return resultOf(chosen[at], verdict, outcome);
  };
  const tests: TestResult[] = [];
  for (const [at, outcome] of (await run(cases)).entries()) {
    let result = await judge(at, outcome);
    if (at > 0 && result.verdict.kind === "wrong_answer") {
      // What earlier tests left in the process must not count against the program.
      result = await judge(at, (await run([cases[at]]))[0]);
    }
    tests.push(result);
    if (earlyStop && result.verdict.kind !== "accepted") break;
  }
  return { tests, trust: "strong" };
}

function resultOf(index: number, verdict: Verdict, outcome: ProgramOutcome): TestResult {
  const { cpuMs, wallMs, peakBytes } = outcome;
  return { index, verdict, cpuMs, wallMs, peakBytes };
}

function wrongAnswer(expected: Uint8Array, printed: Uint8Array, reason: string): Verdict {
  return { kind: "wrong_answer", expected: shown(expected), actual: shown(printed), reason };
}
