/**
 * Program → verdicts: one way of driving a program for each kind of test.
 *
 * The trusted side holds every expected value; the program gets inputs and gives bytes or values.
 */
import { judgeAsserts } from "./judge-asserts.js";
import { judgeCalls } from "./judge-calls.js";
import { judgeStdio } from "./judge-stdio.js";
import type { JudgeJob, Judgement } from "./judgement.js";

/**
 * Judges one program.
 *
 * @throws {SandboxError} when the machinery failed.
 */
export function judgeProgram(job: JudgeJob): Promise<Judgement> {
  const { kind } = job.problem.tests;
  switch (kind) {
    case "stdio":
      return judgeStdio(job);
    case "call":
      return judgeCalls(job);
    case "assert":
      return judgeAsserts(job);
    case "answer":
      throw new Error("answers are judged without a program");
  }
}
