/**
 * JSON as Python's own writer makes it, which says `NaN`, `Infinity` and `-Infinity` for the floats
 * that JSON has no word for.
 */

// A string is passed over whole, so that a word inside one stays what it is.
const WORDS = /"[^"\\]*(?:\\.[^"\\]*)*"|NaN|Infinity/g;

/**
 * Parses one value; `NaN` is null, as newer writers put it.
 *
 * @throws {SyntaxError} if it is not such JSON.
 */
export function parsePythonJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A number beyond the largest float is read as infinite.
    const asNumber = (word: string) => ({ NaN: "null", Infinity: "1e999" })[word] ?? word;
    return JSON.parse(text.replace(WORDS, asNumber));
  }
}
