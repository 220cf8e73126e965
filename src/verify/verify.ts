/**
 * Completion → program → verdicts → reward: the one call that trainers, evaluations and the service
 * use, so that all three judge alike.
 */
import { createHash } from "node:crypto";
import { configSchema } from "../config/schema.js";
import { verifierSettings } from "../config/settings.js";
import { ConfigError } from "../core/errors.js";
import { countTests, type Problem } from "../core/problem.js";
import { randomStream } from "../core/random.js";
import type { VerdictKind } from "../core/verdict.js";
import { extractAnswer, judgeAnswer } from "./answer.js";
import { extractProgram } from "./extract.js";
import { faultOf } from "./faults.js";
import { judgeProgram } from "./judge.js";
import type { Judgement } from "./judgement.js";
import { Gate, retrySandbox } from "./pool.js";
import { connectVerifier, type RemoteOptions } from "./remote.js";
import { checkReward, computeReward } from "./reward.js";
import { openSandbox } from "./sandbox/open.js";
import { ISOLATION_LEVELS, type Sandbox, type SandboxLimits } from "./sandbox.js";
import type {
  Extraction,
  TestResult,
  Verifier,
  VerifierOptions,
  VerifyRequest,
  VerifyResult,
} from "./verifier.js";

export type { RemoteOptions } from "./remote.js";
export type * from "./verifier.js";

/** The settings that hold where nothing else is said: those of a config that says nothing. */
export function defaultVerifierOptions(): VerifierOptions {
  return { ...verifierSettings(configSchema.parse({})), reuse: true };
}

/**
 * Opens a verifier; missing options take their defaults. With a `url` the verifier is the service
 * there, which has its own settings.
 *
 * @throws {ConfigError} when the reward's weights are refused, or the sandbox does not reach the
 *   isolation asked for.
 * @throws {SandboxError} when no sandbox can be opened.
 */
export async function createVerifier(
  options: Partial<VerifierOptions> | RemoteOptions = {},
): Promise<Verifier> {
  if ("url" in options) return connectVerifier(options);
  const settings = { ...defaultVerifierOptions(), ...options };
  checkReward(settings.reward);
  const sandbox = settings.sandbox ?? (await openSandbox(settings));
  const [asked, reached] = [settings.requireIsolation, sandbox.level];
  if (ISOLATION_LEVELS.indexOf(reached) < ISOLATION_LEVELS.indexOf(asked)) {
    await sandbox.close();
    throw new ConfigError(
      `verifier.require_isolation asks for ${asked}, but this machine reaches ${reached}; ` +
        "rlvr doctor tells what is missing",
    );
  }
  return new OpenVerifier(sandbox, settings);
}

/** Judgements kept for reuse; a group is far smaller, and each holds a few kilobytes. */
const KEPT_JUDGEMENTS = 512;

class OpenVerifier implements Verifier {
  private readonly sandbox: Sandbox;
  private readonly options: VerifierOptions;
  private readonly gate: Gate;
  private readonly kept = new Map<string, Promise<Judgement>>();
  private readonly hashes = new WeakMap<Problem, string>();

  constructor(sandbox: Sandbox, options: VerifierOptions) {
    this.sandbox = sandbox;
    this.options = options;
    // Two programs a worker: one runs while the other's messages travel.
    this.gate = new Gate(2 * options.workers);
  }

  get level() {
    return this.sandbox.level;
  }

  async verify(request: VerifyRequest): Promise<VerifyResult> {
    const { problem, completion } = request;
    const fault = faultOf(problem);
    const { tests } = problem;
    if (tests.kind === "answer") return this.verifyAnswer(request, tests.answer, fault);
    const extraction = extractFor(problem, completion);
    if (fault !== null) return this.result(problem, { extraction, fault });
    const { program } = extraction;
    if (program === null) return this.result(problem, { extraction });
    const chosen = this.choose(request);
    const { judgement, isReused } = await this.judge(request, program, chosen);
    return this.result(problem, { extraction, judgement, isReused, chosen: chosen.length });
  }

  async close(): Promise<void> {
    await this.sandbox.close();
  }

  private verifyAnswer(request: VerifyRequest, answer: string, fault: string | null): VerifyResult {
    const { problem, completion } = request;
    const isMarked = extractAnswer(completion, "strict") !== null;
    const { extracted, isCorrect } = judgeAnswer(completion, answer, "flexible");
    const reason = extracted === null ? "no_block" : isMarked ? "block" : "heuristic";
    const extraction: Extraction = { program: extracted, format: isMarked, reason };
    if (fault !== null || extracted === null) return this.result(problem, { extraction, fault });
    const expected = extractAnswer(answer, "flexible") ?? answer;
    const verdict = isCorrect
      ? ({ kind: "accepted" } as const)
      : ({ kind: "wrong_answer", expected, actual: extracted } as const);
    const tests: TestResult[] = [{ index: 0, verdict, cpuMs: 0, wallMs: 0, peakBytes: 0 }];
    return this.result(problem, { extraction, judgement: { tests, trust: "strong" }, chosen: 1 });
  }

  /** Indices of the tests to run: all, or a sample that depends on the problem alone. */
  private choose({ problem, maxTests }: VerifyRequest): number[] {
    const count = countTests(problem.tests);
    const all = Array.from({ length: count }, (_, index) => index);
    const most = maxTests === undefined ? this.options.maxTests : maxTests;
    if (most === null || most >= count) return all;
    const random = randomStream(this.options.seed, "tests", problem.id);
    return random
      .shuffle(all)
      .slice(0, most)
      .sort((a, b) => a - b);
  }

  private async judge(
    { problem, signal }: VerifyRequest,
    program: string,
    chosen: number[],
  ): Promise<{ judgement: Judgement; isReused: boolean }> {
    const { retries, earlyStop, reuse } = this.options;
    const limits = limitsFor(problem, this.options.limits);
    const run = () =>
      this.gate.run(() =>
        retrySandbox(retries, () =>
          judgeProgram({
            ...{ program, problem, chosen, limits, earlyStop, sandbox: this.sandbox },
            ...(signal === undefined ? {} : { signal }),
          }),
        ),
      );
    if (!reuse) return { judgement: await run(), isReused: false };
    const key = this.keyOf(problem, program, chosen);
    // Nothing is awaited between finding no judgement and keeping ours, so that equal programs that
    // come at once run once.
    for (let known = this.kept.get(key); known !== undefined; known = this.kept.get(key)) {
      // Whoever asked first may have given up, which is nothing to those who asked after.
      const judgement = await known.catch(() => undefined);
      if (judgement !== undefined) return { judgement, isReused: true };
    }
    const judged = run();
    this.keep(key, judged);
    return { judgement: await judged, isReused: false };
  }

  private keep(key: string, judged: Promise<Judgement>): void {
    this.kept.set(key, judged);
    // A failure of the sandbox is nobody's verdict and is never served again.
    judged.catch(() => this.kept.delete(key));
    if (this.kept.size > KEPT_JUDGEMENTS) this.kept.delete([...this.kept.keys()][0]);
  }

  private keyOf(problem: Problem, program: string, chosen: number[]): string {
    let hash = this.hashes.get(problem);
    if (hash === undefined) {
      const { tests, compare, limits, language, source } = problem;
      hash = sha256(JSON.stringify([tests, compare, limits, language, source]));
      this.hashes.set(problem, hash);
    }
    return sha256(JSON.stringify([hash, program, chosen]));
  }

  private result(problem: Problem, facts: ResultFacts): VerifyResult {
    const { extraction, judgement, isReused = false, chosen = 0 } = facts;
    const tests = judgement?.tests ?? [];
    const accepted = tests.filter(({ verdict }) => verdict.kind === "accepted").length;
    const passRate = chosen === 0 ? 0 : accepted / chosen;
    const fault = facts.fault ?? faultIn(tests);
    const verdict = overall(extraction, tests, fault);
    const { format } = extraction;
    return {
      problemId: problem.id,
      extraction,
      tests,
      totalTests: countTests(problem.tests),
      passRate,
      verdict,
      fault,
      isReused,
      reward: computeReward({ verdict, passRate, format }, this.options.reward),
      trust: judgement?.trust ?? "strong",
    };
  }
}

interface ResultFacts {
  extraction: Extraction;
  judgement?: Judgement;
  isReused?: boolean;
  /** Tests that were to run. */
  chosen?: number;
  fault?: string | null;
}

function faultIn(tests: TestResult[]): string | null {
  for (const { verdict } of tests) if (verdict.kind === "bad_problem") return verdict.reason;
  return null;
}

function overall(extraction: Extraction, tests: TestResult[], fault: string | null): VerdictKind {
  if (fault !== null) return "bad_problem";
  if (extraction.program === null) return "no_program";
  const failure = tests.find(({ verdict }) => verdict.kind !== "accepted");
  return failure?.verdict.kind ?? "accepted";
}

function extractFor(problem: Problem, completion: string): Extraction {
  const { tests, language } = problem;
  const entryPoint = tests.kind === "call" || tests.kind === "assert" ? tests.entryPoint : null;
  const continues = tests.kind === "assert" && tests.programPrefix.trim() !== "";
  return extractProgram({ completion, language, entryPoint, continues });
}

/** A problem's own limits; the wall keeps its ratio to the processor. */
function limitsFor({ limits }: Problem, own: SandboxLimits): SandboxLimits {
  const cpuMs = limits?.timeMs ?? own.cpuMs;
  const wallMs = Math.round((own.wallMs / own.cpuMs) * cpuMs);
  return { ...own, cpuMs, wallMs, memoryBytes: limits?.memoryBytes ?? own.memoryBytes };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
