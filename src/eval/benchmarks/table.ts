/** Every benchmark, and how one is found by name and read from its files. */
import { ConfigError } from "../../core/errors.js";
import type { Problem } from "../../core/problem.js";
import { readRows } from "../rows.js";
import type { Style } from "../style.js";
import type { Benchmark, BenchmarkOptions } from "./benchmark.js";
import { gsm8k } from "./gsm8k.js";
import { humaneval } from "./humaneval.js";
import { livecodebench } from "./livecodebench.js";
import { mbpp, mbppSanitized } from "./mbpp.js";
import { problems, starter } from "./problems.js";

/** In the order of `--help` and the docs. */
export const BENCHMARKS: readonly Benchmark[] = [
  humaneval,
  mbpp,
  mbppSanitized,
  livecodebench,
  gsm8k,
  starter,
  problems,
];

/**
 * Finds a benchmark by its name or another name it is known by.
 *
 * @throws {ConfigError} listing the names there are.
 */
export function findBenchmark(name: string): Benchmark {
  const found = lookUp(name);
  if (found !== undefined) return found;
  const known = BENCHMARKS.map((row) => row.name).join(", ");
  throw new ConfigError(`expected a benchmark out of ${known}, or a problem file, got ${name}`);
}

/** True when a name is that of a benchmark. */
export const isBenchmark = (name: string) => lookUp(name) !== undefined;

function lookUp(name: string): Benchmark | undefined {
  const wanted = name.toLowerCase();
  return BENCHMARKS.find((row) => row.name === wanted || row.aliases.includes(wanted));
}

/** A benchmark ready to be asked. */
export interface LoadedBenchmark {
  benchmark: Benchmark;
  style: Style;
  problems: Problem[];
  window: string | null;
}

/** What `loadBenchmark` reads. */
export interface LoadOptions extends Omit<BenchmarkOptions, "style"> {
  /** Files of raw rows, read one behind the other. */
  paths: readonly string[];
  /** Null takes the benchmark's first. */
  style: string | null;
  /** Takes the first so many problems; null takes all. */
  limit: number | null;
}

/**
 * Reads a benchmark's problems in the asked style.
 *
 * @throws {ConfigError} if no problem is left, or two have the same id.
 */
export async function loadBenchmark(name: string, options: LoadOptions): Promise<LoadedBenchmark> {
  const benchmark = findBenchmark(name);
  const styleName = options.style ?? benchmark.styles[0].name;
  const rows = (await Promise.all(options.paths.map(readRows))).flat();
  const asked = { ...options, style: styleName };
  const all = benchmark.toProblems(rows, options.paths[0], asked);
  const taken = options.limit === null ? all : all.slice(0, options.limit);
  if (taken.length === 0) {
    throw new ConfigError(`no problem of ${benchmark.name} is left in ${options.paths.join(", ")}`);
  }
  const ids = new Set<string>();
  for (const { id } of taken) {
    if (ids.has(id)) throw new ConfigError(`problem ${id} stands in the files twice`);
    ids.add(id);
  }
  return {
    benchmark,
    style: benchmark.styleOf(styleName),
    problems: taken,
    window: benchmark.windowOf(asked),
  };
}
