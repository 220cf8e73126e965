/**
 * JSON without loss: numbers keep the text they were written in.
 *
 * `JSON.parse` turns 50000000000000001 into 50000000000000000 and 1.0 into 1, and throws on the NaN
 * and Infinity that Python writes. Test data must survive all three, so test values are read and
 * written here. Source: RFC 8259, with Python's NaN, Infinity and -Infinity added.
 */
import { DataError } from "../core/errors.js";

/** A number as it was written: `1.0`, `1e3`, `NaN`, an integer of any length. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** True when the text has neither dot nor exponent and is not NaN or an infinity. */
  get isInteger(): boolean {
    return /^-?\d+$/.test(this.text);
  }
}

/** A JSON value; objects are maps, so that no key is special and the order is kept. */
export type Json = null | boolean | string | JsonNumber | Json[] | Map<string, Json>;

/** Deeper values than this are refused: data nests a few levels, attacks nest thousands. */
const MAX_DEPTH = 500;

/**
 * Parses one JSON text.
 *
 * @throws {DataError} if the text is not JSON; the message tells where.
 */
export function parseJson(text: string, path = "JSON text"): Json {
  const reader = new JsonReader(text, path);
  const value = reader.value(0);
  reader.end();
  return value;
}

/** Writes a value as JSON on one line, numbers as they were read. */
export function formatJson(value: Json): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (value instanceof JsonNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(formatJson).join(", ")}]`;
  const members = [...value].map(([key, item]) => `${JSON.stringify(key)}: ${formatJson(item)}`);
  return `{${members.join(", ")}}`;
}

/** The literals, Python's own among them. */
const LITERALS: readonly [string, Json][] = [
  ["null", null],
  ["true", true],
  ["false", false],
  ["NaN", new JsonNumber("NaN")],
  ["Infinity", new JsonNumber("Infinity")],
  ["-Infinity", new JsonNumber("-Infinity")],
];

class JsonReader {
  private readonly text: string;
  private readonly path: string;
  private at = 0;

  constructor(text: string, path: string) {
    this.text = text;
    this.path = path;
  }

  value(depth: number): Json {
    if (depth > MAX_DEPTH) throw this.error(`nesting of at most ${MAX_DEPTH}`);
    this.space();
    const first = this.text[this.at];
    if (first === '"') return this.string();
    if (first === "[") return this.array(depth);
    if (first === "{") return this.object(depth);
    for (const [word, value] of LITERALS) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return value;
    }
    return this.number();
  }

  end(): void {
    this.space();
    if (this.at < this.text.length) throw this.error("the end of the text");
  }

  private array(depth: number): Json[] {
    const items: Json[] = [];
    this.at++;
    if (this.takes("]")) return items;
    do items.push(this.value(depth + 1));
    while (this.takes(","));
    if (!this.takes("]")) throw this.error("a comma or ]");
    return items;
  }

  private object(depth: number): Map<string, Json> {
    const members = new Map<string, Json>();
    this.at++;
    if (this.takes("}")) return members;
    do {
      this.space();
      if (this.text[this.at] !== '"') throw this.error("a key in quotation marks");
      const key = this.string();
      if (!this.takes(":")) throw this.error("a colon");
      members.set(key, this.value(depth + 1));
    } while (this.takes(","));
    if (!this.takes("}")) throw this.error("a comma or }");
    return members;
  }

  private string(): string {
    const start = this.at;
    let end = start + 1;
    while (end < this.text.length && this.text[end] !== '"') end += this.text[end] === "\\" ? 2 : 1;
    if (end >= this.text.length) throw this.error("a closing quotation mark");
    this.at = end + 1;
    const quoted = this.text.slice(start, this.at);
    if (!quoted.includes("\\") && !hasControl(quoted)) return quoted.slice(1, -1);
    try {
      // Python writes raw control characters with strict=False only; readers accept them.
      return JSON.parse(escapeControls(quoted)) as string;
    } catch {
      this.at = start;
      throw this.error("a string with valid escapes");
    }
  }

  private number(): JsonNumber {
    const pattern = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y;
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    if (match === null) throw this.error("a value");
    this.at = pattern.lastIndex;
    return new JsonNumber(match[0]);
  }

  /** Skips white space, then the character if it is there; says whether it was. */
  private takes(character: string): boolean {
    this.space();
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private space(): void {
    while (/[ \t\n\r]/.test(this.text[this.at] ?? "")) this.at++;
  }

  private error(expected: string): DataError {
    const found =
      this.at < this.text.length
        ? JSON.stringify(this.text.slice(this.at, this.at + 12))
        : "the end";
    return new DataError(`expected ${expected} at character ${this.at}, found ${found}`, {
      path: this.path,
    });
  }
}

const CONTROLS = /[\u0000-\u001f]/g;

function hasControl(text: string): boolean {
  return text.search(CONTROLS) !== -1;
}

function escapeControls(text: string): string {
  return text.replace(CONTROLS, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
