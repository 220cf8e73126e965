import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findById, readCompletions } from "./completions.js";

const dir = mkdtempSync(join(tmpdir(), "completions-"));
afterAll(() => rmSync(dir, { recursive: true }));

async function read(name: string, text: string) {
  const path = join(dir, name);
  writeFileSync(path, text);
  const found = [];
  for await (const line of readCompletions(path)) found.push(line);
  return found;
}

describe("readCompletions", () => {
  test.each<[object, string, string[]]>([
    [{ problem_id: "a/1", completions: ["x", "y"] }, "a/1", ["x", "y"]],
    [{ problem_id: "a/1", completions: [] }, "a/1", []],
    [{ problemId: "a/1", text: "x" }, "a/1", ["x"]],
    [{ task_id: 11, completion: "x" }, "11", ["x"]],
    [{ question_id: "q", code_list: ["x"] }, "q", ["x"]],
    [{ id: "a", solution: "x" }, "a", ["x"]],
    [{ problem_id: null, task_id: "a", completion: null, response: "x" }, "a", ["x"]],
  ])("reads %j", async (row, problemId, texts) => {
    const line = { line: 1, problemId, texts, finish: null };
    expect(await read("one.jsonl", JSON.stringify(row))).toEqual([line]);
    expect(await read("one.json", JSON.stringify([row]))).toEqual([line]);
  });

  test.each([
    ['{"completion": "x"}', ":2: expected a problem's id under one of problem_id, "],
    ['{"id": "a"}', ":2: expected a completion or a list of them under one of completion, "],
    ['{"id": "a", "completions": [1]}', "found a list with other things than texts"],
  ])("names the line of %s and what it lacks", async (row, message) => {
    // The blank line counts.
    await expect(read("bad.jsonl", `\n${row}\n`)).rejects.toThrow(message);
  });

  test("refuses a file without completions", async () => {
    await expect(read("none.jsonl", "\n")).rejects.toThrow("expected completions, found none");
  });
});

describe("findById", () => {
  test("finds a task by its number where the file has no more", () => {
    const byId = new Map([["11", "x"]]);
    expect([findById(byId, "mbpp/11"), findById(byId, "11"), findById(byId, "12")]).toEqual([
      "x",
      "x",
      undefined,
    ]);
  });
});
