/**
 * The comparisons of our own: `tokens` (the default), `lines` and `exact`.
 *
 * Works on bytes and walks both outputs at once, so that a large output costs no copy and a wrong
 * one stops at its first wrong token. White space is blank, tab, line feed, vertical tab, form
 * feed and carriage return; not the Unicode spaces. A byte order mark at the start is dropped.
 * docs/commands/verify.md tells the rules for one pair of tokens.
 */
import { isUtf8 } from "node:buffer";
import type { CompareRule } from "../core/problem.js";
import { findUnmatched } from "./compare-unordered.js";
import { parseToken, sameDecimal, withinTolerance } from "./decimal.js";

/** What a comparison found; `reason` says why outputs differ, for people. */
export type Comparison = { isEqual: true } | { isEqual: false; reason: string };

/** A rule with every field decided. */
export type ResolvedRule = { [K in keyof CompareRule]-?: NonNullable<CompareRule[K]> };

/** Compares white-space separated tokens; line ends are white space. */
export function compareTokens(
  expected: Uint8Array,
  actual: Uint8Array,
  rule: ResolvedRule,
): Comparison {
  if (rule.unordered === "tokens") {
    const parts = (bytes: Uint8Array) => allTokens(bytes).map((token) => [token]);
    return compareInAnyOrder(parts(expected), parts(actual), rule);
  }
  if (rule.unordered === "lines") {
    return compareInAnyOrder(allLines(expected), allLines(actual), rule);
  }
  const want = new TokenReader(expected);
  const have = new TokenReader(actual);
  for (let index = 1; ; index++) {
    const isMore = want.next();
    if (isMore !== have.next()) {
      return differ(
        isMore ? `output ends before token ${index}` : `output goes on at token ${index}`,
      );
    }
    if (!isMore) return { isEqual: true };
    if (sameBytes(want, have)) continue;
    const [wanted, got] = [want.token(), have.token()];
    if (!equalTokens(wanted, got, rule)) {
      return differ(`token ${index}: expected ${shorten(wanted)}, got ${shorten(got)}`);
    }
  }
}

/** Compares the tokens line by line; blank lines do not count. */
export function compareLines(
  expected: Uint8Array,
  actual: Uint8Array,
  rule: ResolvedRule,
): Comparison {
  if (rule.unordered !== "none") return compareTokens(expected, actual, rule);
  const want = allLines(expected);
  const have = allLines(actual);
  for (let i = 0; i < Math.min(want.length, have.length); i++) {
    const isEqual =
      want[i].length === have[i].length &&
      want[i].every((token, at) => equalTokens(token, have[i][at], rule));
    if (!isEqual) {
      const [wanted, got] = [shorten(joined(want[i])), shorten(joined(have[i]))];
      return differ(`line ${i + 1}: expected ${wanted}, got ${got}`);
    }
  }
  if (want.length === have.length) return { isEqual: true };
  return differ(`expected ${want.length} lines, got ${have.length}`);
}

/** Compares byte by byte. */
export function compareExact(expected: Uint8Array, actual: Uint8Array): Comparison {
  const length = Math.min(expected.length, actual.length);
  let at = 0;
  while (at < length && expected[at] === actual[at]) at++;
  if (at === expected.length && at === actual.length) return { isEqual: true };
  return differ(`bytes differ from byte ${at + 1} on`);
}

/**
 * Says whether a printed token is right. Integers are compared as written, but for `+` and `-0`;
 * leading zeros count, since binary and time strings have them. A tolerance holds only where the
 * expected token has a dot or an exponent.
 */
export function equalTokens(expected: string, actual: string, rule: ResolvedRule): boolean {
  if (expected === actual) return true;
  if (rule.ignoreCase === "all" && foldCase(expected) === foldCase(actual)) return true;
  if (rule.ignoreCase === "words" && isAnswerWord(expected)) {
    return expected.toLowerCase() === actual.toLowerCase();
  }
  const isInteger = INTEGER.test(expected);
  if (isInteger && INTEGER.test(actual)) return plainInteger(expected) === plainInteger(actual);
  const wanted = parseToken(expected);
  const got = wanted === null ? null : parseToken(actual);
  if (wanted === null || got === null) return false;
  return isInteger ? sameDecimal(wanted, got) : withinTolerance(got, wanted, rule.tolerance);
}

const INTEGER = /^[+-]?\d+$/;

function plainInteger(text: string): string {
  const unsigned = text.startsWith("+") ? text.slice(1) : text;
  return unsigned === "-0" ? "0" : unsigned;
}

function isAnswerWord(token: string): boolean {
  return /^(?:yes|no|true|false)$/i.test(token);
}

/** Lower case of a token, whose characters are its bytes: of UTF-8 text, else of the ASCII letters. */
function foldCase(token: string): string {
  if (/^[\x00-\x7f]*$/.test(token)) return token.toLowerCase();
  const bytes = Buffer.from(token, "latin1");
  if (isUtf8(bytes)) return bytes.toString("utf8").toLowerCase();
  return token.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function compareInAnyOrder(
  expected: string[][],
  actual: string[][],
  rule: ResolvedRule,
): Comparison {
  if (expected.length !== actual.length) {
    return differ(`expected ${expected.length} parts, got ${actual.length}`);
  }
  const isEqual = (wanted: string, got: string) => equalTokens(wanted, got, rule);
  const fold = rule.ignoreCase === "none" ? (token: string) => token : foldCase;
  const found = findUnmatched({ expected, actual, isEqual, fold });
  if (found === null) return { isEqual: true };
  const [wanted, got] = [shorten(joined(found.wanted)), shorten(joined(found.got))];
  return differ(`in any order: expected ${wanted}, got ${got}`);
}

function differ(reason: string): Comparison {
  return { isEqual: false, reason };
}

function joined(tokens: string[]): string {
  return tokens.join(" ");
}

/** Bytes as text for people, at most 60 characters. */
function shorten(token: string): string {
  const text = Buffer.from(token.slice(0, 240), "latin1").toString("utf8");
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

/** Tokens as strings with one character per byte, so that no byte is lost. */
function allTokens(bytes: Uint8Array): string[] {
  const reader = new TokenReader(bytes);
  const tokens: string[] = [];
  while (reader.next()) tokens.push(reader.token());
  return tokens;
}

function allLines(bytes: Uint8Array): string[][] {
  const reader = new TokenReader(bytes);
  const lines: string[][] = [];
  while (reader.next()) {
    if (reader.startsLine) lines.push([]);
    lines[lines.length - 1].push(reader.token());
  }
  return lines;
}

function sameBytes(a: TokenReader, b: TokenReader): boolean {
  const length = a.end - a.start;
  if (length !== b.end - b.start) return false;
  for (let i = 0; i < length; i++) {
    if (a.bytes[a.start + i] !== b.bytes[b.start + i]) return false;
  }
  return true;
}

class TokenReader {
  readonly bytes: Uint8Array;
  start: number;
  end: number;
  /** The token is the first of its line. */
  startsLine = true;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    this.start = this.end = hasMark ? 3 : 0;
  }

  /** Moves to the next token; false at the end. */
  next(): boolean {
    const { bytes } = this;
    let at = this.end;
    this.startsLine = this.start === this.end;
    for (; at < bytes.length && isSpace(bytes[at]); at++) {
      if (bytes[at] === 10 || bytes[at] === 13) this.startsLine = true;
    }
    this.start = at;
    while (at < bytes.length && !isSpace(bytes[at])) at++;
    this.end = at;
    return this.end > this.start;
  }

  token(): string {
    const { bytes, start, end } = this;
    return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("latin1");
  }
}

function isSpace(byte: number): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13);
}
