/** Cases of stated answers. */
import { type AnswerMethod, judgeAnswer } from "../../../src/verify/answer.js";
import type { Case } from "../case.js";

/** Runs one case. */
export async function run(testCase: Case): Promise<string | null> {
  const { response, answer, method } = testCase.input as Record<string, string>;
  const expected = testCase.expected as { correct: boolean; extracted?: string };
  const got = judgeAnswer(response, answer, method as AnswerMethod);
  if (got.isCorrect !== expected.correct)
    return `expected ${expected.correct}, got ${JSON.stringify(got)}`;
  if (expected.extracted !== undefined && got.extracted !== expected.extracted) {
    return `expected ${expected.extracted}, got ${got.extracted}`;
  }
  return null;
}
