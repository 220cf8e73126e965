import { describe, expect, test } from "vitest";
import { chooseFiles, parseHubId } from "./hub-files.js";
import type { Split } from "./source.js";

const choose = (paths: string[], split: Split, id = "own/code") =>
  chooseFiles(
    paths.map((path) => ({ path })),
    split,
    parseHubId(id)!,
  ).map(({ path }) => path);

describe("chooseFiles", () => {
  const plain = ["data/test-0.parquet", "data/train-0.parquet", "data/validation-0.parquet"];

  test("takes the test set for validation only where there is no other", () => {
    expect(choose(plain, "validation")).toEqual(["data/validation-0.parquet"]);
    expect(choose(plain.slice(0, 2), "validation")).toEqual(["data/test-0.parquet"]);
    expect(choose(plain, "train")).toEqual(["data/train-0.parquet"]);
  });

  test("takes all parts of a split in their order, and one format of it", () => {
    const parts = ["data/train-1.parquet", "train.jsonl", "data/train-0.parquet"];
    expect(choose(parts, "train")).toEqual(["data/train-0.parquet", "data/train-1.parquet"]);
    expect(choose(["train/1.jsonl", "train/0.jsonl"], "train")).toEqual([
      "train/0.jsonl",
      "train/1.jsonl",
    ]);
  });

  test("takes one configuration: the one asked for, else main or default", () => {
    const gsm8k = ["main/train-0.parquet", "socratic/train-0.parquet"];
    expect(choose(gsm8k, "train")).toEqual(["main/train-0.parquet"]);
    expect(choose(gsm8k, "train", "openai/gsm8k:socratic@main")).toEqual([
      "socratic/train-0.parquet",
    ]);
    expect(choose(["old/train.jsonl", "train.jsonl"], "train")).toEqual(["train.jsonl"]);
    expect(choose(["sanitized/train/0.parquet"], "train")).toEqual(["sanitized/train/0.parquet"]);
  });

  test("asks which configuration is meant, and says how to name it", () => {
    const mbpp = ["full/train-0.parquet", "sanitized/train-0.parquet"];
    expect(() => choose(mbpp, "train", "google/mbpp")).toThrow(
      "data set google/mbpp: expected one configuration with a train file, found full, sanitized; " +
        "name one, e.g. google/mbpp:full",
    );
    expect(() => choose(mbpp, "train", "google/mbpp:half")).toThrow(
      "no configuration half with a train file, found full, sanitized",
    );
  });

  test("says which files there are where none is of the split", () => {
    expect(() => choose(["data/rows.jsonl"], "train")).toThrow(
      "no train file that can be told by its name; its files of rows: data/rows.jsonl",
    );
  });
});
