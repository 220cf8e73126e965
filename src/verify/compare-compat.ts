/**
 * Comparisons of other judges, reproduced with their faults, for comparison studies: how many
 * rewards of an older run were false, or what a published number would be under our sandbox.
 *
 * Each is written from the behaviour of the named system, not from its text. Sources: verl
 * `sandbox_fusion` and `prime_code`, LiveCodeBench `testing_util`, SandboxFusion's stdio test,
 * the tester of google-deepmind/code_contests, the standard checker of DMOJ's judge.
 */
import type { CompareMode } from "../core/problem.js";
import {
  equalDecimals,
  isDigit,
  parseDecimalPython,
  parseFloatPython,
  split,
  splitLines,
  strip,
} from "./python-text.js";
import { trim, trimEnd } from "./trim.js";

/** Modes that reproduce another judge. */
export type CompatMode = Exclude<CompareMode, "tokens" | "lines" | "exact">;

/** One comparison a mode: says whether the judge accepts. */
export const COMPAT_MODES: Record<
  CompatMode,
  (expected: Uint8Array, actual: Uint8Array) => boolean
> = {
  verl: onText((expected, actual) => trimNewlines(expected) === trimNewlines(actual)),
  prime: onText(acceptsPrime),
  lcb: onText(acceptsLiveCodeBench),
  sandboxfusion: onText(acceptsSandboxFusion),
  codecontests: acceptsCodeContests,
  dmoj: acceptsDmoj,
};

function onText(accepts: (expected: string, actual: string) => boolean) {
  return (expected: Uint8Array, actual: Uint8Array) =>
    accepts(Buffer.from(expected).toString("utf8"), Buffer.from(actual).toString("utf8"));
}

function trimNewlines(text: string): string {
  return trimEnd(text, /\n/);
}

/**
 * PRIME compares whole texts, then lists of lines in which only the expectation's lines are
 * stripped, then lines as floats by numpy's `allclose` unless all of them are digits.
 */
function acceptsPrime(expected: string, actual: string): boolean {
  const printed = splitLines(actual);
  const whole = strip(expected);
  if (strip(printed.join("\n")) === whole) return true;
  if (strip(printed.map(strip).join("\n")) === whole) return true;
  const want = expected
    .split("\n")
    .filter((line) => line !== "")
    .map(strip);
  if (sameList(printed, want)) return true;
  const have = printed.filter((line) => line !== "");
  if (sameList(have, want)) return true;
  if (have.length !== want.length) return false;
  if (have.every((line, i) => isDigit(line) && isDigit(want[i]))) return false;
  const numbers = have.map(parseFloatPython);
  const wanted = want.map(parseFloatPython);
  return numbers.every((a, i) => {
    const b = wanted[i];
    return a !== null && b !== null && isClose(a, b);
  });
}

/** numpy's `isclose` with its defaults; `b` is the expectation. */
function isClose(a: number, b: number): boolean {
  if (!Number.isFinite(a) || !Number.isFinite(b)) return a === b;
  return Math.abs(a - b) <= 1e-8 + 1e-5 * Math.abs(b);
}

function sameList(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

/** LiveCodeBench compares stripped lines; unequal ones may hold equal decimals. */
function acceptsLiveCodeBench(expected: string, actual: string): boolean {
  const want = strip(expected).split("\n").map(strip);
  const have = strip(actual).split("\n").map(strip);
  if (want.length !== have.length) return false;
  return want.every((line, i) => line === have[i] || sameDecimals(line, have[i]));
}

function sameDecimals(a: string, b: string): boolean {
  const [want, have] = [split(a).map(parseDecimalPython), split(b).map(parseDecimalPython)];
  if (want.length !== have.length) return false;
  return want.every((value, i) => {
    const other = have[i];
    return value !== null && other !== null && equalDecimals(value, other);
  });
}

/** SandboxFusion lower-cases stripped lines; a line that is one number may be off by 1e-5. */
function acceptsSandboxFusion(expected: string, actual: string): boolean {
  const want = strip(expected).split("\n");
  const have = strip(actual).split("\n");
  if (have.length - want.length === 1 && have[have.length - 1] === "") have.pop();
  if (want.length - have.length === 1 && want[want.length - 1] === "") want.pop();
  if (want.length !== have.length) return false;
  return want.every((line, i) => {
    const [wanted, got] = [strip(line.toLowerCase()), strip(have[i].toLowerCase())];
    if (wanted === got) return true;
    const [b, a] = [parseFloatPython(wanted), parseFloatPython(got)];
    return a !== null && b !== null && Math.abs(a - b) / Math.max(Math.abs(b), 1e-10) < 1e-5;
  });
}

/** code_contests compares lower-cased tokens; two numbers may be 1e-5 apart, as doubles. */
function acceptsCodeContests(expected: Uint8Array, actual: Uint8Array): boolean {
  const [want, have] = [expected, actual].map((bytes) =>
    Buffer.from(bytes)
      .toString("latin1")
      .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
      .split(/[ \n\t\r\v]+/)
      .filter((token) => token !== ""),
  );
  if (want.length !== have.length) return false;
  return want.every((token, i) => {
    if (token === have[i]) return true;
    const [a, b] = [parseDouble(have[i]), parseDouble(token)];
    return a !== null && b !== null && Math.abs(a - b) < 1e-5;
  });
}

/** absl's SimpleAtod. */
function parseDouble(token: string): number | null {
  const text = token.trim();
  if (/^[+-]?(?:inf|infinity)$/.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  if (/^[+-]?nan(?:\([\w]*\))?$/.test(text)) return NaN;
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/.test(text) ? Number(text) : null;
}

/** DMOJ compares tokens; a gap with a line end differs from one without. */
function acceptsDmoj(expected: Uint8Array, actual: Uint8Array): boolean {
  const [want, have] = [expected, actual].map((bytes) =>
    trim(Buffer.from(bytes).toString("latin1"), /[ \t\v\f\n\r]/).replace(
      /[ \t\v\f\n\r]+/g,
      (gap) => (/[\n\r]/.test(gap) ? "\n" : " "),
    ),
  );
  return want === have;
}
