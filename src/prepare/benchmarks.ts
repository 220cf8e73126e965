/**
 * Benchmarks to hold training rows against: files of any data set this room reads, by path or by
 * name. A named benchmark is only its test set.
 */
import { basename } from "node:path";
import { ConfigError } from "../core/errors.js";
import type { BenchmarkProblem, ContaminationMethod } from "./contamination.js";
import { hashFiles } from "./hash.js";
import { likenessOf } from "./likeness.js";
import { openRows } from "./rows.js";
import { detectSource } from "./sources/table.js";

/** What the manifest says of one benchmark. */
export interface BenchmarkReport {
  name: string;
  path: string;
  sha256: string;
  problems: number;
  /** Training rows found in it, by the way they were found. */
  found: Partial<Record<ContaminationMethod, number>>;
}

/** A loaded benchmark. */
export interface Benchmark {
  report: BenchmarkReport;
  problems: BenchmarkProblem[];
}

/** Names of benchmarks and the split that is their test set; null where all of the file is. */
const NAMED: Readonly<Record<string, { split: string | null }>> = {
  humaneval: { split: null },
  mbpp: { split: "test" },
  livecodebench: { split: null },
  gsm8k: { split: null },
};

/**
 * Loads a benchmark. The text is a path, or `name=path` for one of the named ones.
 *
 * @throws {ConfigError} if the name is not known.
 * @throws {DataError} if the file cannot be read.
 */
export async function loadBenchmark(text: string): Promise<Benchmark> {
  const [, name, path] = /^(?:([a-z0-9_-]+)=)?(.+)$/s.exec(text) ?? [];
  if (path === undefined) throw new ConfigError("against must be a path or name=path, got nothing");
  if (name !== undefined && !Object.hasOwn(NAMED, name)) {
    const known = Object.keys(NAMED).join(", ");
    throw new ConfigError(`against: benchmark must be one of ${known}, got ${name}`);
  }
  const label = name ?? basename(path);
  const split = name === undefined ? null : NAMED[name].split;
  const problems = await readProblems(path, label, split);
  const sha256 = await hashFiles([path]);
  return {
    report: { name: label, path, sha256, problems: problems.length, found: {} },
    problems,
  };
}

async function readProblems(path: string, benchmark: string, split: string | null) {
  const file = await openRows(path);
  const problems: BenchmarkProblem[] = [];
  try {
    for await (const { rows } of file.read()) {
      for (const { line, value } of rows) {
        const read = detectSource(value, path).read(value, { path, line });
        if ("drop" in read || (split !== null && read.draft.split !== split)) continue;
        const { draft } = read;
        const id = draft.id ?? `${benchmark}/${line}`;
        problems.push({ benchmark, id, likeness: likenessOf(draft) });
      }
    }
  } finally {
    await file.close();
  }
  if (problems.length === 0) {
    throw new ConfigError(`against: ${path} has no problems to hold training rows against`);
  }
  return problems;
}
