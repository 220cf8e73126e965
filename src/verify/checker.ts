/**
 * Checkers: programs that decide whether an output is right, run in the sandbox after the judged
 * program has ended.
 *
 * The sandbox gives a program standard input only, so the files that a checker reads come with it
 * and python/sandbox/checker_prelude.py, put before it, answers for them: `input`, `output` and
 * `answer`, whose names are its arguments. Exit codes of `testlib`: 0 right, 1 and 2 and 4 and 8
 * wrong, 7 points, 16 and more partial; `open-r1`: prints a number of 0 to 1 or 0 to 100. A checker
 * that fails in any other way is the problem's fault, never the program's.
 */
import { readFileSync } from "node:fs";
import type { Checker } from "../core/problem.js";
import type { Verdict } from "../core/verdict.js";
import { shown } from "./judgement.js";
import type { ProgramOutcome, Sandbox, SandboxLimits } from "./sandbox.js";

/** One output to be checked. */
export interface CheckRequest {
  checker: Checker;
  sandbox: Sandbox;
  /** Limits of the judged program; the checker gets at least `CHECKER_LIMITS`. */
  limits: SandboxLimits;
  input: string;
  /** The jury's answer. */
  output: string;
  printed: Uint8Array;
}

/** What a checker may use at least. */
const CHECKER_LIMITS = { cpuMs: 10_000, wallMs: 30_000, memoryBytes: 512 * 2 ** 20 };

const PRELUDE = readFileSync(
  new URL("../../python/sandbox/checker_prelude.py", import.meta.url),
  "utf8",
);

/**
 * Runs the checker on one output.
 *
 * A checker that fails on what the program printed, and takes the jury's own answer, works: what it
 * could not read is then the program's fault. Else a program could have its failure left out by
 * printing what no checker expects.
 *
 * @throws {SandboxError} when the machinery failed.
 */
export async function checkOutput(request: CheckRequest): Promise<Verdict> {
  const { checker, output, printed } = request;
  if (checker.language !== "python") {
    return fault(`the checker is written in ${checker.language}; python is supported`);
  }
  const judged = await runChecker(request, Buffer.from(printed).toString("utf8"));
  const { message } = judged;
  const onAnswer = async () => (await runChecker(request, output)).decision;
  let { decision } = judged;
  // The answer tells the scale, where a checker might have one up to 100.
  if (decision === "lowest") {
    const isOfHundred = checker.source.includes("100") && (await onAnswer()) === "right";
    decision = isOfHundred ? "wrong" : "right";
  }
  if (decision === "right") return { kind: "accepted" };
  const rejected = { expected: shown(Buffer.from(output)), actual: shown(printed) };
  if (decision === "wrong") {
    return { kind: "wrong_answer", ...rejected, reason: `the checker rejects it: ${message}` };
  }
  const answered = await onAnswer();
  if (answered !== "right" && answered !== "lowest") return fault(decision.fault);
  const reason = `the checker takes the answer and cannot judge this: ${decision.fault}`;
  return { kind: "wrong_answer", ...rejected, reason };
}

async function runChecker(
  { checker, sandbox, limits, input, output }: CheckRequest,
  printed: string,
): Promise<{ decision: Decision; message: string }> {
  const order =
    checker.protocol === "testlib" ? ["input", "output", "answer"] : ["input", "answer", "output"];
  const texts = [input, printed, output, order];
  const [outcome] = await sandbox.run({
    language: "python",
    source: `${PRELUDE}\n_run(${JSON.stringify(checker.source)})\n`,
    stdins: [Buffer.from(texts.map((text) => JSON.stringify(text)).join("\n") + "\n")],
    limits: {
      cpuMs: Math.max(limits.cpuMs, CHECKER_LIMITS.cpuMs),
      wallMs: Math.max(limits.wallMs, CHECKER_LIMITS.wallMs),
      memoryBytes: Math.max(limits.memoryBytes, CHECKER_LIMITS.memoryBytes),
      outputBytes: limits.outputBytes,
    },
  });
  const decision = checker.protocol === "testlib" ? byExitCode(outcome) : byNumber(outcome);
  return { decision, message: messageOf(outcome) };
}

/** `lowest` is a printed 1: all on a scale up to 1, a hundredth on one up to 100. */
type Decision = "right" | "lowest" | "wrong" | { fault: string };

/** What checker_prelude.py ends with when the checker raises: testlib's own code for a failure. */
const CRASHED = 3;

function byExitCode({ end, stderr }: ProgramOutcome): Decision {
  if (end.kind !== "exited") return { fault: `the checker ended by ${end.kind}: ${stderr}` };
  if (end.exitCode === 0) return "right";
  if (end.exitCode === CRASHED) return { fault: `the checker crashed: ${stderr}` };
  const isWrong = [1, 2, 4, 7, 8].includes(end.exitCode) || end.exitCode >= 16;
  return isWrong ? "wrong" : { fault: `the checker ended with exit code ${end.exitCode}` };
}

function byNumber({ end, stdout, stderr }: ProgramOutcome): Decision {
  const text = Buffer.from(stdout).toString("utf8").trim();
  const value = text.split(/\s+/)[0];
  if (end.kind !== "exited" || end.exitCode !== 0 || !/^\d+(?:\.\d+)?$/.test(value)) {
    return { fault: `the checker printed ${JSON.stringify(text)}: ${stderr}` };
  }
  const points = Number(value);
  if (points === 1) return "lowest";
  return points === 100 ? "right" : "wrong";
}

function messageOf({ stdout, stderr }: ProgramOutcome): string {
  const text = `${Buffer.from(stdout).toString("utf8")} ${stderr}`.trim();
  return text === "" ? "no message" : text.slice(0, 200);
}

function fault(reason: string): Verdict {
  return { kind: "bad_problem", reason };
}
