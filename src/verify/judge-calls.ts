/**
 * Judges function-call problems: the program is loaded once and called once per test; results come
 * back as tagged values and are compared here.
 */
import type { Verdict } from "../core/verdict.js";
import { type Json, parseJson } from "../formats/lossless-json.js";
import { type Attempt, judgeEach } from "./attempts.js";
import { resolveRule } from "./compare.js";
import { type JudgeJob, type Judgement, verdictOfEnd } from "./judgement.js";
import { brokenProtocol, failed, isTagged, loadFailure, parseMessage, raised } from "./messages.js";
import type { Session } from "./sandbox.js";
import {
  differenceOf,
  encodeValue,
  findObject,
  hasIntegerKeys,
  showValue,
  type Tagged,
  type ValueRule,
} from "./values.js";

/** @throws {SandboxError} when the machinery failed. */
export async function judgeCalls(job: JudgeJob): Promise<Judgement> {
  const caller = new Caller(job);
  try {
    return await judgeEach(job, (at, isAlone) => caller.try(job.chosen[at], isAlone));
  } finally {
    await caller.close();
  }
}

interface CallCase {
  args: Json[];
  /** The expected value and others that are right as well. */
  expected: Json[];
}

/** Results of calls before they are compared. */
type CallResult = { value: Tagged } | { verdict: Verdict; isRaised: boolean };

/** A verdict, and whether the call gave no value but an exception. */
interface Ruling {
  verdict: Verdict;
  isRaised: boolean;
}

class Caller {
  /** True when the program's own top level failed: no test can differ. */
  private failedToLoad = false;
  private readonly job: JudgeJob;
  private readonly valueRule: ValueRule;
  private readonly entryPoint: string;
  private session: Session | null = null;
  private calls = 0;

  constructor(job: JudgeJob) {
    this.job = job;
    const { problem } = job;
    const { mode, tolerance, unordered } = resolveRule(problem.compare, problem.source);
    this.valueRule = {
      tolerance,
      isPythonEqual: !["tokens", "lines", "exact"].includes(mode),
      isUnordered: unordered !== "none",
    };
    this.entryPoint = problem.tests.kind === "call" ? problem.tests.entryPoint : "";
  }

  async try(index: number, isAlone: boolean): Promise<Attempt> {
    const startedAt = performance.now();
    const testCase = this.caseAt(index);
    if (isAlone) await this.close();
    let isFirst = this.calls === 0;
    let ruling = await this.judge(testCase, true);
    if (ruling.isRaised && testCase.args.some(hasIntegerKeys)) {
      // JSON does not tell 1 from "1" as a key. An answer under the first reading is the answer;
      // only a program that could not give one is asked again, so that none answers twice.
      if (isAlone) await this.close();
      isFirst = this.calls === 0;
      const asText = await this.judge(testCase, false);
      if (!asText.isRaised) ruling = asText;
    }
    const { verdict } = ruling;
    const wallMs = performance.now() - startedAt;
    return {
      result: { index, verdict, cpuMs: 0, wallMs, peakBytes: 0 },
      isFirst,
      isFinal: verdict.kind === "compile_error" || this.failedToLoad,
    };
  }

  async close(): Promise<void> {
    const { session } = this;
    this.session = null;
    this.calls = 0;
    await session?.close();
  }

  private async judge({ args, expected }: CallCase, integerKeys: boolean): Promise<Ruling> {
    const result = await this.call(args.map((arg) => encodeValue(arg, integerKeys)));
    if ("verdict" in result) return result;
    return { verdict: this.rule(result.value, expected), isRaised: false };
  }

  private rule(value: Tagged, expected: Json[]): Verdict {
    const stranger = findObject(value);
    if (stranger !== null) {
      const stderr = `the result holds an object of type ${stranger}, which is no plain value`;
      return { kind: "runtime_error", exitCode: null, stderr };
    }
    const differences = expected.map((wanted) => differenceOf(value, wanted, this.valueRule));
    if (differences.includes(null)) return { kind: "accepted" };
    return {
      kind: "wrong_answer",
      expected: showValue(encodeValue(expected[0], false)),
      actual: showValue(value),
      reason: differences[0] ?? "result differs",
    };
  }

  private async call(args: Tagged[]): Promise<CallResult> {
    if (this.session === null) {
      const failure = await this.open();
      if (failure !== null) return { verdict: failure, isRaised: false };
    }
    this.calls++;
    const target = ["name", this.entryPoint];
    this.session!.send(JSON.stringify(["call", "1", target, ["l", ...args], ["d"], false]));
    const answer = await this.receive();
    if ("verdict" in answer) return { verdict: answer.verdict, isRaised: false };
    const [kind, , value] = answer.message;
    if (kind === "return" && value !== undefined && isTagged(value)) return { value };
    if (kind === "raise") return { verdict: raised(answer.message), isRaised: true };
    return { verdict: brokenProtocol(), isRaised: false };
  }

  private async open(): Promise<Verdict | null> {
    const { sandbox, program, limits, signal } = this.job;
    this.session = await sandbox.openSession({
      role: "candidate",
      source: program,
      prelude: true,
      limits,
      ...(signal === undefined ? {} : { signal }),
    });
    const answer = await this.receive();
    if ("verdict" in answer) {
      this.failedToLoad = true;
      return answer.verdict;
    }
    if (answer.message[0] === "ready") return null;
    this.failedToLoad = true;
    return loadFailure(answer.message);
  }

  private async receive(): Promise<{ message: Tagged[] } | { verdict: Verdict }> {
    const event = await this.session!.receive();
    if (event.kind === "message") return { message: parseMessage(event.message) };
    await this.close();
    this.job.signal?.throwIfAborted();
    const verdict = verdictOfEnd(event.outcome, this.job.limits);
    return { verdict: verdict ?? failed("the program ended instead of answering") };
  }

  private caseAt(index: number): CallCase {
    const { tests } = this.job.problem;
    if (tests.kind !== "call") throw new Error("expected call tests");
    const { args, expected, alternatives = [] } = tests.cases[index];
    return {
      args: parseJson(args) as Json[],
      expected: [expected, ...alternatives].map((text) => parseJson(text)),
    };
  }
}
