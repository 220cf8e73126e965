import { readFileSync, statSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { countTests, problemSchema } from "../src/core/problem.js";
import { parseGroundTruth } from "../src/formats/ground-truth.js";
import { toVerlRow } from "../src/formats/verl-rows.js";
import { THEMES } from "./families/family.js";
import { FAMILIES, FAMILIES_OF } from "./families/table.js";
import { splitLines } from "./make-data.js";
import { familiesOf, SPLITS } from "./problems.js";
import type { Split } from "./problems.js";

const textOf = (split: Split) =>
  readFileSync(new URL(`./data/${split}.jsonl`, import.meta.url), "utf8");
const problemsOf = (split: Split) =>
  textOf(split)
    .trimEnd()
    .split("\n")
    .map((line) => problemSchema.parse(JSON.parse(line)));
const statements = (split: Split) => problemsOf(split).map(({ prompt }) => prompt[0].content);

describe("the families", () => {
  test("are at least sixty under different names, some in every theme", () => {
    const names = FAMILIES.map(({ family }) => family.name);
    expect(names.length).toBeGreaterThanOrEqual(60);
    expect(new Set(names).size).toBe(names.length);
    for (const theme of THEMES) expect(FAMILIES_OF[theme].length).toBeGreaterThan(2);
  });

  test("have several wordings, right programs and wrong programs each", () => {
    for (const { family } of FAMILIES) {
      expect(family.asks.length, family.name).toBeGreaterThanOrEqual(3);
      expect(family.right.length, family.name).toBeGreaterThanOrEqual(2);
      expect(family.wrong.length, family.name).toBeGreaterThanOrEqual(3);
    }
  });
});

describe("the problem files", () => {
  test.each(SPLITS)("of the %s split are what their seed gives, byte for byte", (split) => {
    expect(splitLines(split) === textOf(split)).toBe(true);
  });

  test("hold six tests a problem and ids of their own", () => {
    const all = SPLITS.flatMap(problemsOf);
    expect(all.filter(({ tests }) => countTests(tests) < 5)).toEqual([]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  });

  test("share no statement between the splits", () => {
    const all = SPLITS.flatMap((split) => [...new Set(statements(split))]);
    expect(new Set(all).size).toBe(all.length);
  });

  test("draw train, heldout and phrasing from one set of families, transfer from another", () => {
    const names = (split: Split) => new Set(problemsOf(split).map(({ tags }) => tags!["family"]));
    const [train, transfer] = [names("train"), names("transfer")];
    expect(names("heldout")).toEqual(train);
    expect(names("phrasing")).toEqual(train);
    expect([...transfer].filter((name) => train.has(name))).toEqual([]);
    expect(transfer.size).toBe(familiesOf("transfer").length);
  });

  test("hold constants in heldout that train never names", () => {
    const constants = (split: Split) =>
      new Set(
        problemsOf(split)
          .filter(({ tags }) => tags!["family"] === "times_constant")
          .map(({ prompt }) => Number(/\d+/.exec(prompt[0].content)![0])),
      );
    expect([...constants("train")].filter((k) => k % 5 === 0)).toEqual([]);
    expect([...constants("heldout")].some((k) => k % 5 === 0)).toBe(true);
  });

  test("hold programs and functions to write", () => {
    for (const split of SPLITS) {
      const kinds = new Set(problemsOf(split).map(({ tests }) => tests.kind));
      expect([...kinds].sort(), split).toEqual(["call", "stdio"]);
    }
  });

  test("come through the Eurus row unchanged, function calls too", () => {
    for (const problem of SPLITS.flatMap(problemsOf)) {
      const row = toVerlRow(problem);
      expect(parseGroundTruth(row.reward_model.ground_truth)).toEqual(problem.tests);
      expect(row.prompt).toEqual(problem.prompt);
      expect(row.extra_info.split).toBe(problem.tags!["split"]);
    }
  });

  test("are small: data and model together stay under three megabytes", () => {
    const files = [
      ...SPLITS.map((split) => `data/${split}.jsonl`),
      "model/model.safetensors",
      "model/tokenizer.json",
    ];
    const bytes = files.map((file) => statSync(new URL(file, import.meta.url)).size);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(3e6);
  });
});
