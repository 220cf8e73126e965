/**
 * Writes the problem files of the starter run: `npx tsx starter/make-data.ts [--out DIR]`.
 *
 * The same seed gives the same bytes.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { problemSchema } from "../src/core/problem.js";
import { drawSplit, SPLITS } from "./problems.js";
import type { Split } from "./problems.js";

/** Seed of the files in starter/data. */
export const DATA_SEED = 42;

/** Problems drawn per family. */
export const PROBLEMS_PER_FAMILY: Record<Split, number> = {
  train: 24,
  heldout: 5,
  transfer: 4,
  phrasing: 3,
};

/** The lines of one problem file. */
export function splitLines(split: Split): string {
  return drawSplit(split, PROBLEMS_PER_FAMILY[split], DATA_SEED)
    .map(({ problem }) => JSON.stringify(problemSchema.parse(problem)) + "\n")
    .join("");
}

function main(): void {
  const here = fileURLToPath(new URL("./data", import.meta.url));
  const { values } = parseArgs({ options: { out: { type: "string", default: here } } });
  mkdirSync(values.out, { recursive: true });
  for (const split of SPLITS) {
    const path = join(values.out, `${split}.jsonl`);
    const lines = splitLines(split);
    writeFileSync(path, lines);
    console.log(`${path}: ${lines.split("\n").length - 1} problems, ${lines.length} bytes`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
