/**
 * Trimming by a loop from the ends. A pattern such as `/0+$/` is tried at every place of the text,
 * and a long run in its middle then costs the square of its length: a program that prints a
 * megabyte of blanks would hold up the judge for hours.
 */

/** Takes characters that match `pattern` off both ends; `pattern` is for one character. */
export function trim(text: string, pattern: RegExp): string {
  let start = 0;
  while (start < text.length && pattern.test(text[start])) start++;
  return trimEnd(text.slice(start), pattern);
}

/** Takes them off the end. */
export function trimEnd(text: string, pattern: RegExp): string {
  let end = text.length;
  while (end > 0 && pattern.test(text[end - 1])) end--;
  return text.slice(0, end);
}
