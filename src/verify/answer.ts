/**
 * Stated answers (GSM8K): the number a completion ends on.
 *
 * `strict` wants the form of the data set, `#### 42`, and takes its last occurrence. `flexible`
 * takes that marker where it stands, else the last number of the text. Numbers are compared as
 * decimals: commas, a leading currency sign, a final dot and zeros behind the dot do not matter,
 * rounding does.
 */
import { parseToken, sameDecimal } from "./decimal.js";
import { trimEnd } from "./trim.js";

/** How the answer is looked for. */
export type AnswerMethod = "strict" | "flexible";

/** What was found of an answer. */
export interface StatedAnswer {
  /** The number, without signs of currency and separators; null when none is stated. */
  extracted: string | null;
  isCorrect: boolean;
}

const NUMBER = String.raw`(?:-\s*)?(?:\$\s*)?-?(?:\d[\d,]*(?:\.\d+)?|\.\d+)`;
const MARKED = new RegExp(`####\\s*(${NUMBER})`, "g");
const ANY = new RegExp(NUMBER, "g");

/** Finds the answer of a completion and compares it with the reference, itself plain or marked. */
export function judgeAnswer(
  completion: string,
  reference: string,
  method: AnswerMethod,
): StatedAnswer {
  const extracted = extractAnswer(completion, method);
  const expected = extractAnswer(reference, "flexible");
  if (extracted === null || expected === null) return { extracted, isCorrect: false };
  const [got, wanted] = [parseToken(extracted), parseToken(expected)];
  return { extracted, isCorrect: got !== null && wanted !== null && sameDecimal(got, wanted) };
}

/** Finds the number a text states; null when there is none. */
export function extractAnswer(text: string, method: AnswerMethod): string | null {
  const marked = lastMatch(text, MARKED);
  if (marked !== null || method === "strict") return marked === null ? null : plain(marked);
  const last = lastMatch(text, ANY);
  return last === null ? null : plain(last);
}

function lastMatch(text: string, pattern: RegExp): string | null {
  const all = [...text.matchAll(pattern)];
  const last = all[all.length - 1];
  return last === undefined ? null : (last[1] ?? last[0]);
}

/** `$1,234.00` → `1234`. */
function plain(number: string): string {
  const bare = number.replace(/[\s$,]/g, "");
  const trimmed = bare.includes(".") ? trimEnd(trimEnd(bare, /0/), /\./) : bare;
  return trimmed.startsWith("--") ? trimmed.slice(1) : trimmed;
}
