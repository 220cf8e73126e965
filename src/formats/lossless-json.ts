/**
 * JSON, read so that no value changes: a number keeps the text it was written as. `1.0` stays apart
 * from `1`, integers above 2^53 keep every digit, and Python's NaN and Infinity are accepted.
 */

/** A JSON value; numbers (and Python's NaN and infinities) are kept as written. */
export type JsonNode =
  | { kind: "string"; value: string }
  | { kind: "number"; text: string }
  | { kind: "literal"; value: boolean | null }
  | { kind: "array"; items: JsonNode[] }
  | { kind: "object"; members: Map<string, JsonNode> };

const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\]|\\.)*"/sy;
const NUMBER = /-?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Infinity)|NaN/y;
const WORD = /true|false|null/y;
// Python's own parser stops near 1000; data sets stay under 20.
const MAX_DEPTH = 500;

/**
 * Parses one JSON text.
 *
 * @throws {SyntaxError} saying at which character the text stops being JSON.
 */
export function parseLosslessJson(text: string): JsonNode {
  const reader = new Reader(text);
  const node = reader.value(0);
  reader.space();
  if (reader.at < text.length) reader.fail("expected the end");
  return node;
}

/** Writes a node as JSON text, numbers as they were read. */
export function formatLosslessJson(node: JsonNode): string {
  switch (node.kind) {
    case "string":
      return JSON.stringify(node.value);
    case "number":
      return node.text;
    case "literal":
      return String(node.value);
    case "array":
      return `[${node.items.map(formatLosslessJson).join(", ")}]`;
    case "object": {
      const members = [...node.members].map(
        ([name, value]) => `${JSON.stringify(name)}: ${formatLosslessJson(value)}`,
      );
      return `{${members.join(", ")}}`;
    }
  }
}

class Reader {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  fail(expectation: string): never {
    throw new SyntaxError(`${expectation} at character ${this.at + 1}`);
  }

  space(): void {
    this.#match(SPACE);
  }

  value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) this.fail(`expected at most ${MAX_DEPTH} levels`);
    this.space();
    const first = this.#text[this.at];
    if (first === "[") return this.#array(depth);
    if (first === "{") return this.#object(depth);
    if (first === '"') return { kind: "string", value: this.#string() };
    const number = this.#match(NUMBER);
    if (number !== null) return { kind: "number", text: number };
    const word = this.#match(WORD);
    if (word === null) this.fail("expected a JSON value");
    return { kind: "literal", value: word === "null" ? null : word === "true" };
  }

  #array(depth: number): JsonNode {
    const items: JsonNode[] = [];
    this.#sequence("]", () => items.push(this.value(depth + 1)));
    return { kind: "array", items };
  }

  #object(depth: number): JsonNode {
    const members = new Map<string, JsonNode>();
    this.#sequence("}", () => {
      const name = this.#string();
      this.space();
      if (this.#text[this.at] !== ":") this.fail("expected a colon");
      this.at++;
      members.set(name, this.value(depth + 1));
    });
    return { kind: "object", members };
  }

  #sequence(close: string, item: () => void): void {
    this.at++;
    this.space();
    if (this.#text[this.at] === close) {
      this.at++;
      return;
    }
    for (;;) {
      this.space();
      item();
      this.space();
      const mark = this.#text[this.at++];
      if (mark === close) return;
      if (mark !== ",") this.fail(`expected a comma or ${close}`);
    }
  }

  #string(): string {
    const start = this.at;
    const quoted = this.#match(STRING);
    if (quoted === null) this.fail("expected a string");
    try {
      return JSON.parse(quoted) as string;
    } catch {
      this.at = start;
      return this.fail("expected a well-formed string");
    }
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#text)?.[0] ?? null;
    if (found !== null) this.at += found.length;
    return found;
  }
}
