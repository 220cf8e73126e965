import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { formatLine, readJsonl } from "./jsonl.js";

const dir = mkdtempSync(join(tmpdir(), "jsonl-"));
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, content: string | Buffer): string {
  writeFileSync(join(dir, name), content);
  return join(dir, name);
}

async function read(path: string) {
  const lines = [];
  for await (const line of readJsonl(path)) lines.push(line);
  return lines;
}

describe("readJsonl", () => {
  test("numbers lines as an editor does, over blank lines and a missing last newline", async () => {
    const path = file("a.jsonl", '{"a":1}\n\r\n{"a":2}\r\n{"a":3}');
    expect(await read(path)).toEqual([
      { line: 1, value: { a: 1 } },
      { line: 3, value: { a: 2 } },
      { line: 4, value: { a: 3 } },
    ]);
  });

  test("reads lines that are longer than one read, whole", async () => {
    const wide = { text: "é".repeat(2_000_000), end: "x" };
    const path = file("wide.jsonl", formatLine(wide) + formatLine({ a: 1 }));
    expect((await read(path)).map((line) => line.value)).toEqual([wide, { a: 1 }]);
  });

  test("reads gzip by its name", async () => {
    const path = file("b.jsonl.gz", gzipSync('{"a":1}\n{"a":2}\n'));
    expect((await read(path)).map((line) => line.value)).toEqual([{ a: 1 }, { a: 2 }]);
  });

  test.each([
    [
      "invalid UTF-8",
      Buffer.from('{"a":1}\n{"a":"\xff"}\n', "latin1"),
      /:2: line is not valid UTF-8/,
    ],
    ["broken JSON", '{"a":1}\n{"a":\n', /:2: line is not JSON/],
    ["a list", "[1]\n", /:1: expected a JSON object on each line, found a list/],
  ])("refuses %s with the line's number", async (name, content, message) => {
    await expect(read(file(`${name}.jsonl`, content))).rejects.toThrow(message);
  });

  test("says which file is missing or is not gzip", async () => {
    await expect(read(join(dir, "none.jsonl"))).rejects.toThrow(/none\.jsonl: cannot read/);
    await expect(read(join(dir, "none.jsonl.gz"))).rejects.toThrow(/none\.jsonl\.gz: cannot read/);
    await expect(read(file("c.gz", "plain"))).rejects.toThrow(/c\.gz: cannot read/);
  });
});
