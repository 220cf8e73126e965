/** Judges programs that read standard input and write standard output. */
import type { Checker } from "../core/problem.js";
import type { Verdict } from "../core/verdict.js";
import { judgeEach } from "./attempts.js";
import { checkOutput } from "./checker.js";
import { compareOutput, resolveRule } from "./compare.js";
import { type JudgeJob, type Judgement, shown, verdictOfEnd } from "./judgement.js";
import type { ProgramOutcome } from "./sandbox.js";
import type { TestResult } from "./verifier.js";

/** Bytes that a program may print beyond four times what is expected, before it is stopped. */
const SLACK_BYTES = 64 * 1024;

/** Outputs that wait for a checker; beyond them the other tests wait for their run. */
const WAITING_BYTES = 64 * 2 ** 20;

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
  const { chosen, sandbox, limits } = job;
  const cases = casesOf(job);
  const runs = new Runs(job, cases);
  return judgeEach(job, async (at, isAlone) => {
    const { outcome, isFirst } = isAlone ? await runs.alone(at) : await runs.take(at);
    const verdict =
      verdictOfEnd(outcome, limits) ??
      (await checkOutput({ checker, sandbox, limits, ...cases[at], printed: outcome.stdout }));
    const isFinal = verdict.kind === "compile_error";
    return { result: resultOf(chosen[at], verdict, outcome), isFirst, isFinal };
  });
}

interface Run {
  outcome: ProgramOutcome;
  isFirst: boolean;
}

/** Runs of a program whose outputs wait for a checker. */
class Runs {
  private readonly job: JudgeJob;
  private readonly cases: StdioCase[];
  private readonly waiting = new Map<number, Run>();

  constructor(job: JudgeJob, cases: StdioCase[]) {
    this.job = job;
    this.cases = cases;
  }

  /** The run of a test; runs it with those that follow, as far as their outputs can be kept. */
  async take(at: number): Promise<Run> {
    if (!this.waiting.has(at)) {
      const runs = await this.run(at, this.cases.length);
      runs.forEach((run, i) => this.waiting.set(at + i, run));
    }
    const run = this.waiting.get(at)!;
    this.waiting.delete(at);
    return run;
  }

  /** Runs a test in a process of its own. */
  async alone(at: number): Promise<Run> {
    return (await this.run(at, at + 1))[0];
  }

  private async run(from: number, until: number): Promise<Run[]> {
    const { problem, program, sandbox, limits, signal } = this.job;
    const runs: Run[] = [];
    let bytes = 0;
    await sandbox.run({
      language: problem.language,
      source: program,
      stdins: this.cases.slice(from, until).map(({ input }) => Buffer.from(input)),
      limits,
      onOutcome: (_, outcome, isFirst) => {
        runs.push({ outcome, isFirst });
        bytes += outcome.stdout.length;
        return bytes < WAITING_BYTES;
      },
      ...(signal === undefined ? {} : { signal }),
    });
    return runs;
  }
}

function resultOf(index: number, verdict: Verdict, outcome: ProgramOutcome): TestResult {
  const { cpuMs, wallMs, peakBytes } = outcome;
  return { index, verdict, cpuMs, wallMs, peakBytes };
}

function wrongAnswer(expected: Uint8Array, printed: Uint8Array, reason: string): Verdict {
  return { kind: "wrong_answer", expected: shown(expected), actual: shown(printed), reason };
}
