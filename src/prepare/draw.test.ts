import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { Draw } from "./draw.js";
import { CHAPTER_TEMPLATE, CHARACTER_METER } from "./prompt.js";
import { openRows } from "./rows.js";
import { Screening } from "./screening.js";
import { sourceNamed } from "./sources/table.js";

const dir = mkdtempSync(join(tmpdir(), "draw-"));
afterAll(() => rmSync(dir, { recursive: true }));

const path = join(dir, "rows.jsonl");
const texts = Array.from({ length: 100 }, (_, index) =>
  JSON.stringify({ id: index, question: `task ${index}`, test_cases: ["assert f(1) == 1"] }),
);
writeFileSync(path, texts.join("\n").replaceAll(/"id":(\d+)/g, '"id":"$1"'));

/** The ids of all windows, and how often the file was read. */
async function drawAll(window: number): Promise<{ ids: string[][]; readings: number }> {
  const rows = await openRows(path);
  let readings = 0;
  const file: typeof rows = {
    ...rows,
    read: (where) => {
      readings++;
      return rows.read(where);
    },
  };
  const input = { split: "train" as const, source: sourceNamed("acecode"), file };
  const screening = new Screening(
    {
      seed: 1,
      maxPromptTokens: 512,
      meter: CHARACTER_METER,
      template: CHAPTER_TEMPLATE,
      dedupe: "exact",
      maxTests: null,
      maxTestBytes: null,
    },
    [],
  );
  const draw = new Draw(input, { screening, seed: 1, window });
  for await (const batch of file.read()) {
    for (const { line, value } of batch.rows) {
      const result = screening.screen(input, line, value);
      if ("candidate" in result) draw.offer(line, result.candidate);
    }
  }
  const ids: string[][] = [];
  for (let drawn = await draw.next(); drawn.length > 0; drawn = await draw.next()) {
    ids.push(drawn.map(({ item }) => screening.finish(item).id));
    expect(draw.left()).toHaveLength(100 - ids.flat().length);
  }
  return { ids, readings };
}

describe("Draw", () => {
  test("hands out every row once, in one order whatever the window", async () => {
    const whole = await drawAll(Infinity);
    expect(whole.readings).toBe(1);
    expect(new Set(whole.ids.flat()).size).toBe(100);
    const parts = await drawAll(30);
    expect(parts.ids.map((window) => window.length)).toEqual([30, 30, 30, 10]);
    expect(parts.readings).toBe(4);
    expect(parts.ids.flat()).toEqual(whole.ids.flat());
  });
});
