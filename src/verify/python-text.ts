/**
 * Python's text and number functions, as the judges that compatibility modes reproduce use them:
 * `str.strip`, `str.split`, `str.splitlines`, `float` and `decimal.Decimal`.
 */
import { type Decimal, sameDecimal, toDecimal } from "./decimal.js";
import { trim } from "./trim.js";

/** Characters for which `str.isspace` holds, as a character class. */
const SPACE =
  "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const ONE_SPACE = new RegExp(`[${SPACE}]`);
const GAPS = new RegExp(`[${SPACE}]+`);

/** `text.strip()`. */
export function strip(text: string): string {
  return trim(text, ONE_SPACE);
}

/** `text.split()`. */
export function split(text: string): string[] {
  const inner = strip(text);
  return inner === "" ? [] : inner.split(GAPS);
}

/** `text.splitlines()`: more line ends than `\n`, and no empty last line. */
export function splitLines(text: string): string[] {
  const lines = text.split(/\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]/);
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

/** `text.isdigit()`, for the decimal digits of all scripts and the superscripts of Latin-1. */
export function isDigit(text: string): boolean {
  return /^[\p{Nd}\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089]+$/u.test(text);
}

/** `float(text)`; null where Python raises ValueError. */
export function parseFloatPython(text: string): number | null {
  const ascii = asciiDigits(strip(text));
  if (/^[+-]?nan$/i.test(ascii)) return NaN;
  if (/^[+-]?inf(inity)?$/i.test(ascii)) return ascii.startsWith("-") ? -Infinity : Infinity;
  const number =
    /^[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+(?:_\d+)*)?$/;
  return number.test(ascii) ? Number(ascii.replaceAll("_", "")) : null;
}

/** A value of `decimal.Decimal`: finite, an infinity, or a NaN that equals nothing. */
export type PythonDecimal = Decimal | "inf" | "-inf" | "nan";

/** `Decimal(text)`; null where Python raises InvalidOperation. */
export function parseDecimalPython(text: string): PythonDecimal | null {
  const ascii = asciiDigits(strip(text)).replaceAll("_", "");
  if (/^[+-]?s?nan\d*$/i.test(ascii)) return "nan";
  if (/^[+-]?inf(inity)?$/i.test(ascii)) return ascii.startsWith("-") ? "-inf" : "inf";
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(ascii) ? toDecimal(ascii) : null;
}

/** `a == b` of two Decimals. */
export function equalDecimals(a: PythonDecimal, b: PythonDecimal): boolean {
  if (a === "nan" || b === "nan") return false;
  if (typeof a === "string" || typeof b === "string") return a === b;
  return sameDecimal(a, b);
}

/** Writes decimal digits of any script as ASCII digits; they stand in runs of ten from zero on. */
function asciiDigits(text: string): string {
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  return text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0)!;
    let start = code;
    while (/\p{Nd}/u.test(String.fromCodePoint(start - 1))) start--;
    return String((code - start) % 10);
  });
}
