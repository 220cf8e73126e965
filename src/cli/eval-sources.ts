/** Where `rlvr eval` takes problems and completions from. */
import { existsSync } from "node:fs";
import { availableParallelism, homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError } from "../core/errors.js";
import type { Problem } from "../core/problem.js";
import type { OnProgress } from "../core/progress.js";
import type { Benchmark } from "../eval/benchmarks/benchmark.js";
import { findBenchmark, isBenchmark } from "../eval/benchmarks/table.js";
import type { Completer } from "../eval/completer.js";
import { ENDPOINT_DEFAULTS, endpointCompleter } from "../eval/endpoint-completer.js";
import { type FileCompleter, fileCompleter } from "../eval/file-completer.js";
import { localCompleter } from "../eval/local-completer.js";
import { fetchNamed } from "../prepare/hub.js";
import type { EvalFlags } from "./eval-options.js";

const STARTER_PROBLEMS = new URL("../../starter/data/heldout.jsonl", import.meta.url);

/** A benchmark and its files: those named, else the starter's own, else the hub's. */
export async function benchmarkFiles(
  name: string,
  files: readonly string[],
  flags: EvalFlags,
  onProgress: OnProgress,
): Promise<{ benchmark: Benchmark; paths: readonly string[] }> {
  // A path to a problem file is a benchmark by itself.
  if (files.length === 0 && !isBenchmark(name) && existsSync(name)) {
    return { benchmark: findBenchmark("problems"), paths: [name] };
  }
  const benchmark = findBenchmark(name);
  if (files.length > 0) return { benchmark, paths: files };
  if (benchmark.name === "starter") {
    return { benchmark, paths: [fileURLToPath(STARTER_PROBLEMS)] };
  }
  if (benchmark.hub === null) {
    throw new ConfigError(
      `eval: expected the files of ${benchmark.name} behind its name, got none`,
    );
  }
  const { paths } = await fetchNamed(benchmark.hub.repo, benchmark.hub.filesOf(flags), {
    cacheDir: join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "code-rlvr/hub"),
    url: process.env["HF_ENDPOINT"] ?? "https://huggingface.co",
    token: process.env["HF_TOKEN"] ?? null,
    onProgress,
  });
  return { benchmark, paths };
}

/** Opens whatever writes the completions. */
export async function openCompleter(flags: EvalFlags): Promise<Completer> {
  const { model, baseUrl, completions } = flags;
  if (completions !== undefined) {
    if (model === undefined && baseUrl === undefined) return fileCompleter(completions);
    throw new ConfigError("eval: give --completions alone, without --model and --base-url");
  }
  if (model === undefined) {
    throw new ConfigError(
      baseUrl === undefined
        ? "eval: expected --model FOLDER, --model NAME with --base-url URL, or --completions FILE"
        : "eval: expected --model with the model's name at --base-url, found none",
    );
  }
  if (baseUrl === undefined) {
    const threads = flags.threads ?? availableParallelism();
    return localCompleter(model, { threads, batchSize: flags.batchSize });
  }
  const key = flags.apiKeyEnv ?? "OPENAI_API_KEY";
  if (flags.apiKeyEnv !== undefined && process.env[key] === undefined) {
    throw new ConfigError(
      `eval: expected the endpoint's key in the variable ${key}, which is not set`,
    );
  }
  return endpointCompleter({
    ...ENDPOINT_DEFAULTS,
    baseUrl,
    model,
    apiKey: process.env[key] ?? null,
    concurrency: flags.concurrency,
    timeoutMs: 1000 * flags.requestTimeout,
    canPrefill: flags.prefill === true,
    extraBody: flags.extraBody ?? {},
  });
}

/**
 * Fits problems and samples to a file of completions: as many samples as every problem has. A
 * problem that the file lacks would be missing; `--only-given` leaves it out instead.
 */
export function narrowToFile(
  problems: readonly Problem[],
  completer: FileCompleter,
  { n, onlyGiven }: EvalFlags,
): { problems: readonly Problem[]; n: number } {
  const given = problems.filter(({ id }) => completer.countOf(id) > 0);
  if (given.length === 0) {
    const ids = problems.slice(0, 3).map(({ id }) => id);
    throw new ConfigError(
      `eval: ${completer.name} has completions for none of the problems; their ids are like ${ids.join(", ")}`,
    );
  }
  const fewest = Math.min(...given.map(({ id }) => completer.countOf(id)));
  return { problems: onlyGiven ? given : problems, n: n ?? fewest };
}
