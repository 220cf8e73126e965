import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parseProblem, readProblemFiles } from "./problems.js";

const dir = mkdtempSync(join(tmpdir(), "problems-"));
afterAll(() => rmSync(dir, { recursive: true }));

const problem = (changes: object = {}) => ({
  id: "own/1",
  source: "own",
  prompt: [{ role: "user", content: "Add." }],
  tests: { kind: "stdio", cases: [{ input: "1 2", output: "3" }] },
  ...changes,
});
const write = (name: string, ...records: unknown[]) => {
  const path = join(dir, name);
  writeFileSync(path, records.map((record) => JSON.stringify(record) + "\n").join(""));
  return path;
};
async function read(...paths: string[]) {
  const found = [];
  for await (const placed of readProblemFiles(paths)) found.push(placed);
  return found;
}

describe("parseProblem", () => {
  test("fills in the language", () => {
    expect(parseProblem(problem(), { path: "p", line: 1 }).language).toBe("python");
  });

  test.each<[unknown, string]>([
    [{}, "id: expected string, found nothing"],
    [problem({ prompt: "Add." }), 'prompt: expected array, found "Add."'],
    [problem({ prompt: [] }), "prompt: expected array to have >=1 items, found an empty list"],
    [
      problem({ prompt: [{ role: "bot", content: "" }] }),
      'prompt.0.role: expected one of "system"|"user"|"assistant"|"tool", found "bot"',
    ],
    [
      problem({ tests: { kind: "unit" } }),
      "tests.kind: expected 'stdio' | 'call' | 'assert' | 'answer', found \"unit\"",
    ],
    [
      problem({ tests: { kind: "stdio", cases: [{ input: 1, output: "" }] } }),
      "tests.cases.0.input: expected string, found 1",
    ],
    [problem({ test: 1 }), "test: expected no key of this name"],
    [[], "the record: expected object, found an empty list"],
  ])("names the key, what was expected and what was found: %j", (value, message) => {
    const cure = "`rlvr prepare` turns data sets into problems";
    expect(() => parseProblem(value, { path: "p.jsonl", line: 3 })).toThrow(
      `p.jsonl:3: not a problem: ${message}; ${cure}`,
    );
  });
});

describe("readProblemFiles", () => {
  test("reads files one behind the other, with the place of each problem", async () => {
    const [one, two] = [
      write("one.jsonl", problem()),
      write("two.jsonl", problem({ id: "own/2" })),
    ];
    const found = await read(one, two);
    expect(found.map(({ problem: { id }, path, line }) => [id, path, line])).toEqual([
      ["own/1", one, 1],
      ["own/2", two, 1],
    ]);
  });

  test("refuses an id that another file has, naming both places", async () => {
    const [one, two] = [write("a.jsonl", problem()), write("b.jsonl", problem())];
    await expect(read(one, two)).rejects.toThrow(
      `${two}:1: id: expected one that no other problem has, found own/1 of ${one}:1`,
    );
  });

  test("refuses files without a problem, and parquet", async () => {
    const empty = write("empty.jsonl");
    await expect(read(empty)).rejects.toThrow(`${empty}: expected problems, found none`);
    await expect(read("p.parquet")).rejects.toThrow("p.parquet: expected problems as JSONL, found");
  });
});
