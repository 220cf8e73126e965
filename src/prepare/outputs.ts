/** The files of a prepared data set, written into the stage. */
import { countTests, type Problem } from "../core/problem.js";
import { createJsonl } from "../formats/jsonl.js";
import { OutputFile } from "../formats/output-file.js";
import { createVerlParquet, toVerlRow } from "../formats/verl-rows.js";
import { type ManifestOutput, type ManifestSplit, spreadOf } from "./manifest.js";
import type { RemovedTests } from "./quality.js";
import type { Stage } from "./stage.js";

/** A problem that is written, with what the manifest wants to know of it. */
export interface Written {
  line: number;
  problem: Problem;
  promptTokens: number;
  removed: RemovedTests;
}

/** Writes problems as `NAME.parquet`, veRL's rows, and `NAME.jsonl`. */
export function writeProblems(stage: Stage, name: string, problems: Problem[]): ManifestOutput[] {
  const parquet = createVerlParquet(stage.path(`${name}.parquet`));
  try {
    const jsonl = createJsonl(stage.path(`${name}.jsonl`));
    try {
      for (const problem of problems) {
        parquet.write(toVerlRow(problem));
        jsonl.write(problem);
      }
      parquet.finish();
      jsonl.output.flush();
      return [
        describeOutput(`${name}.parquet`, problems.length, parquet.output),
        describeOutput(`${name}.jsonl`, problems.length, jsonl.output),
      ];
    } finally {
      jsonl.output.close();
    }
  } finally {
    parquet.close();
  }
}

/** Writes a small file whole. */
export function writeText(stage: Stage, name: string, text: string): ManifestOutput {
  const output = new OutputFile(stage.path(name));
  try {
    output.write(text);
    output.flush();
    return describeOutput(name, null, output);
  } finally {
    output.close();
  }
}

function describeOutput(name: string, rows: number | null, output: OutputFile): ManifestOutput {
  return { name, rows, bytes: output.byteLength, sha256: output.digest() };
}

/** Sums up one split for the manifest. */
export function summarise(
  rows: number,
  dropped: ManifestSplit["dropped"],
  written: Written[],
): ManifestSplit {
  const count = (label: (problem: Problem) => string) => {
    const counts: Record<string, number> = {};
    for (const name of written.map(({ problem }) => label(problem)).sort()) {
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  };
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
  return {
    rows,
    dropped,
    written: written.length,
    removed_tests: {
      truncated: sum(written.map(({ removed }) => removed.truncated)),
      over_cap: sum(written.map(({ removed }) => removed.overCap)),
    },
    by_kind: count((problem) => problem.tests.kind),
    by_source: count((problem) => problem.source),
    prompt_tokens: spreadOf(written.map(({ promptTokens }) => promptTokens)),
    tests: spreadOf(written.map(({ problem }) => countTests(problem.tests))),
  };
}
