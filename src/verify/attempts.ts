/**
 * Judges a program's tests one after the other, in processes that tests share.
 *
 * What earlier tests left behind must not count against a program: a test that fails after others
 * is tried again as the first of a fresh process. Nor may the second try count for it, since a
 * program can tell the two apart and answer differently. So the second try decides only how the
 * program is judged: when it passes, the verdicts depend on what ran before, every result so far is
 * thrown away, and each test is judged once in a process of its own.
 */
import type { JudgeJob, Judgement } from "./judgement.js";
import type { TestResult } from "./verifier.js";

/** One try of one test. */
export interface Attempt {
  result: TestResult;
  /** No other test ran in its process before. */
  isFirst: boolean;
  /** The program does not compile or load: no other test can differ. */
  isFinal: boolean;
  /** An acceptance rests on the program's own word. */
  isWeak?: boolean;
}

/** Tries the test at a position of `chosen`; `isAlone` asks for a fresh process. */
export type Try = (at: number, isAlone: boolean) => Promise<Attempt>;

/** Judges the chosen tests of a program. */
export async function judgeEach(job: JudgeJob, tryTest: Try): Promise<Judgement> {
  const shared = await tryAll(job, async (at) => {
    const attempt = await tryTest(at, false);
    if (isAccepted(attempt) || attempt.isFirst) return attempt;
    const alone = await tryTest(at, true);
    return isAccepted(alone) ? null : alone;
  });
  const attempts = shared ?? (await tryAll(job, (at) => tryTest(at, true))) ?? [];
  const isWeak = attempts.some((attempt) => attempt.isWeak === true && isAccepted(attempt));
  return { tests: attempts.map(({ result }) => result), trust: isWeak ? "weak" : "strong" };
}

/** Answers null as soon as one try does. */
async function tryAll(
  { chosen, earlyStop, signal }: JudgeJob,
  tryTest: (at: number) => Promise<Attempt | null>,
): Promise<Attempt[] | null> {
  const attempts: Attempt[] = [];
  for (const at of chosen.keys()) {
    signal?.throwIfAborted();
    const attempt = await tryTest(at);
    if (attempt === null) return null;
    attempts.push(attempt);
    if (attempt.isFinal || (earlyStop && !isAccepted(attempt))) break;
  }
  return attempts;
}

function isAccepted({ result }: Attempt): boolean {
  return result.verdict.kind === "accepted";
}
