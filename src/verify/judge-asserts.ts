/**
 * Judges problems whose tests are code that asserts: the tests run in a process of their own, in
 * which the program's names are stubs; each call of a stub travels through here to the process
 * that holds the program, and the value it returned travels back. The assertion itself is then
 * decided on plain values, where nothing of the program's runs.
 *
 * Only one of the two processes works at a time, so passing messages on is a ping-pong.
 */
import { SandboxError } from "../core/errors.js";
import type { Verdict } from "../core/verdict.js";
import { type Attempt, judgeEach } from "./attempts.js";
import { type JudgeJob, type Judgement, verdictOfEnd } from "./judgement.js";
import { brokenProtocol, failed, isReplyOrCall, loadFailure, parseMessage } from "./messages.js";
import { joinPrefix } from "./prefix.js";
import type { ProgramOutcome, Session } from "./sandbox.js";
import type { Tagged } from "./values.js";

/** Longest test code that a verdict shows, in characters. */
const SHOWN_CODE = 2000;

/** @throws {SandboxError} when the machinery failed. */
export async function judgeAsserts(job: JudgeJob): Promise<Judgement> {
  const pairs = new Pairs(job);
  try {
    return await judgeEach(job, (at, isAlone) => pairs.try(job.chosen[at], isAlone));
  } finally {
    await pairs.close();
  }
}

/** The pair at work; a broken one is replaced. */
class Pairs {
  private readonly job: JudgeJob;
  private pair: Pair | null = null;

  constructor(job: JudgeJob) {
    this.job = job;
  }

  async try(index: number, isAlone: boolean): Promise<Attempt> {
    const startedAt = performance.now();
    if (isAlone || this.pair?.isBroken === true) await this.close();
    const isFirst = this.pair === null;
    const pair = (this.pair ??= new Pair(this.job));
    const { verdict, isWeak } = await pair.judge(index);
    const wallMs = performance.now() - startedAt;
    const result = { index, verdict, cpuMs: 0, wallMs, peakBytes: 0 };
    return { result, isFirst, isFinal: pair.failedToLoad, isWeak };
  }

  async close(): Promise<void> {
    const { pair } = this;
    this.pair = null;
    await pair?.close();
  }
}

interface Ruling {
  verdict: Verdict;
  isWeak: boolean;
}

/** The two processes of one program. */
class Pair {
  /** True when the program's own top level failed: no test can differ. */
  failedToLoad = false;
  /** True when one of the processes has ended or is out of step. */
  isBroken = false;
  private readonly job: JudgeJob;
  private candidate: Session | null = null;
  private tests: Session | null = null;

  constructor(job: JudgeJob) {
    this.job = job;
  }

  async judge(index: number): Promise<Ruling> {
    if (this.tests === null) {
      const failure = await this.open();
      if (failure !== null) {
        this.isBroken = true;
        return { verdict: failure, isWeak: false };
      }
    }
    const { tests } = this.job.problem;
    if (tests.kind !== "assert") throw new Error("expected assert tests");
    const code = tests.cases[index];
    this.tests!.send(JSON.stringify(["run", String(index), code]));
    const answer = await this.converse();
    if ("verdict" in answer) return { verdict: answer.verdict, isWeak: false };
    return ruleOn(answer.message, code);
  }

  async close(): Promise<void> {
    await Promise.all([this.candidate?.close(), this.tests?.close()]);
  }

  private async open(): Promise<Verdict | null> {
    const { sandbox, problem, program, limits } = this.job;
    const { tests } = problem;
    if (tests.kind !== "assert") throw new Error("expected assert tests");
    const signal = this.job.signal === undefined ? {} : { signal: this.job.signal };
    const source = joinPrefix(tests.programPrefix, program, tests.entryPoint);
    this.candidate = await sandbox.openSession({ role: "candidate", source, limits, ...signal });
    const loaded = await this.hear(this.candidate);
    if ("verdict" in loaded || loaded.message[0] !== "ready") {
      this.failedToLoad = true;
      return "verdict" in loaded ? loaded.verdict : loadFailure(loaded.message);
    }
    const setup = { role: "tests" as const, source: tests.setup, limits, ...signal };
    this.tests = await sandbox.openSession(setup);
    const waiting = await this.hear(this.tests);
    if ("verdict" in waiting) throw lostTests(waiting.outcome);
    const names = namesOf(loaded.message[1]);
    this.tests.send(JSON.stringify(["prepare", tests.programPrefix, tests.entryPoint, names]));
    const prepared = await this.converse();
    if ("verdict" in prepared) return prepared.verdict;
    return prepared.message[0] === "ready" ? null : setupFailure(prepared.message);
  }

  /** Passes messages between the two until the tests have something for us. */
  private async converse(): Promise<{ message: Tagged[] } | { verdict: Verdict }> {
    const [candidate, tests] = [this.candidate!, this.tests!];
    let isFirst = true;
    for (let speaker = tests; ; speaker = speaker === tests ? candidate : tests) {
      const heard = await this.hear(speaker);
      if ("verdict" in heard) return heard;
      const { message } = heard;
      const verb = message[0];
      if (speaker === tests && (verb === "result" || verb === "ready" || verb === "failed")) {
        return heard;
      }
      if (speaker === candidate && !isReplyOrCall(message)) {
        this.isBroken = true;
        return { verdict: brokenProtocol() };
      }
      const budget = speaker === tests && isFirst ? "fresh" : "running";
      if (speaker === tests) isFirst = false;
      const listener = speaker === tests ? candidate : tests;
      // Written anew, so that the other side reads exactly what was checked here.
      listener.send(JSON.stringify(message), budget);
    }
  }

  private async hear(
    session: Session,
  ): Promise<{ message: Tagged[] } | { verdict: Verdict; outcome: ProgramOutcome }> {
    const event = await session.receive();
    if (event.kind === "message") return { message: parseMessage(event.message) };
    this.isBroken = true;
    this.job.signal?.throwIfAborted();
    const { outcome } = event;
    const { kind } = outcome.end;
    // The program's values may take the tests beyond a limit; it cannot end their process.
    if (session === this.tests && (kind === "exited" || kind === "signaled")) {
      throw lostTests(outcome);
    }
    const ended = verdictOfEnd(outcome, this.job.limits);
    const verdict = ended ?? failed("the program ended instead of answering");
    return { verdict, outcome };
  }
}

function lostTests({ end, stderr }: ProgramOutcome): SandboxError {
  return new SandboxError(`the process of the tests ended by ${JSON.stringify(end)}: ${stderr}`);
}

/** The program's list of what it defines; rows of another form are left out. */
function namesOf(rows: Tagged | undefined): string[][] {
  if (!Array.isArray(rows)) return [];
  const isRow = (row: Tagged): row is string[] =>
    Array.isArray(row) && row.length === 3 && row.every((part) => typeof part === "string");
  return rows.filter(isRow);
}

function setupFailure([, kind, text]: Tagged[]): Verdict {
  const stderr = String(text);
  return kind === "runtime_error"
    ? { kind: "runtime_error", exitCode: 1, stderr }
    : { kind: "bad_problem", reason: `the tests cannot be set up: ${lastLine(stderr)}` };
}

function ruleOn(message: Tagged[], code: string): Ruling {
  const [status, type, text] = message.slice(2, 5).map(String);
  const isWeak = message[5] === true;
  const last = String(message[6]);
  const expected = code.length > SHOWN_CODE ? `${code.slice(0, SHOWN_CODE)}…` : code;
  const actual = `the last value it returned: ${last}`;
  switch (status) {
    case "pass":
      return { verdict: { kind: "accepted" }, isWeak };
    case "assertion": {
      const reason = text === "" ? "assertion failed" : `assertion failed: ${text}`;
      return { verdict: { kind: "wrong_answer", expected, actual, reason }, isWeak };
    }
    case "syntax":
      return {
        verdict: { kind: "bad_problem", reason: `a test does not compile: ${text}` },
        isWeak,
      };
    case "remote":
      return { verdict: failed(`${type}: ${text}`), isWeak };
    default: {
      // A name that neither the tests nor the program define is what the program lacks.
      if (type === "NameError") return { verdict: failed(`${type}: ${text}`), isWeak };
      const reason = `the test could not use the value: ${type}: ${text}`;
      return { verdict: { kind: "wrong_answer", expected, actual, reason }, isWeak };
    }
  }
}

function lastLine(text: string): string {
  const lines = text.trim().split("\n");
  return lines[lines.length - 1];
}
