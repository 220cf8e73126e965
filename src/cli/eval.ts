/** `rlvr eval`: a benchmark to a model, and its scores with every setting that moves them. */
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import type { EvaluationInfo } from "../core/evaluation.js";
import { ConfigError } from "../core/errors.js";
import { BENCHMARKS, findBenchmark, loadBenchmark } from "../eval/benchmarks/table.js";
import type { Completer } from "../eval/completer.js";
import { ENDPOINT_DEFAULTS, endpointCompleter } from "../eval/endpoint-completer.js";
import { EVALUATE_DEFAULTS, evaluate } from "../eval/evaluate.js";
import { fileCompleter } from "../eval/file-completer.js";
import { localCompleter } from "../eval/local-completer.js";
import { createVerifier, defaultVerifierOptions } from "../verify/verify.js";
import { describeEvaluation, type EvalFlags, defineOptions } from "./eval-options.js";
import { openProgress } from "./progress.js";
import { VERSION } from "./version.js";

const STARTER_PROBLEMS = new URL("../../starter/data/heldout.jsonl", import.meta.url);

/** Defines the command. */
export function define(command: Command): void {
  defineOptions(command, BENCHMARKS).action(run);
}

async function run(name: string, paths: string[], flags: EvalFlags): Promise<void> {
  const benchmark = findBenchmark(name);
  const loaded = await loadBenchmark(name, {
    paths: pathsOf(benchmark.name, paths),
    style: flags.style ?? null,
    limit: flags.limit ?? null,
    split: flags.split ?? null,
    from: flags.from ?? null,
    to: flags.to ?? null,
    release: flags.release ?? null,
  });
  const outDir = resolve(flags.out ?? `evals/${benchmark.name}`);
  if (flags.dryRun) {
    const { problems, style, window } = loaded;
    process.stdout.write(
      `${problems.length} problems of ${benchmark.name} in style ${style.name}${window === null ? "" : `, ${window}`}, ${flags.n} samples each → ${outDir}\n`,
    );
    return;
  }
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  const progress = openProgress();
  // The sandbox forks: it comes before any weights are in memory.
  const verifier = await createVerifier({ ...defaultVerifierOptions(), maxTests: null });
  try {
    const completer = await openCompleter(flags);
    const { info } = await evaluate({
      completer,
      problems: loaded.problems,
      verifier,
      onProgress: progress.onProgress,
      signal: stop.signal,
      settings: {
        ...EVALUATE_DEFAULTS,
        name: flags.name ?? benchmark.name,
        benchmark: benchmark.name,
        style: loaded.style,
        n: flags.n,
        temperature: flags.temperature,
        topP: flags.topP,
        topK: flags.topK ?? null,
        maxTokens: flags.maxTokens ?? benchmark.maxTokens,
        seed: flags.seed,
        limit: flags.limit ?? null,
        window: loaded.window,
        outDir,
        reuse: flags.reuse ?? [],
        version: VERSION,
      },
    }).finally(() => completer.close());
    progress.clear();
    finish(info, outDir, { json: flags.json === true, isStopped: stop.signal.aborted });
  } finally {
    await verifier.close();
  }
}

function pathsOf(benchmark: string, paths: string[]): string[] {
  if (paths.length > 0) return paths;
  if (benchmark === "starter") return [fileURLToPath(STARTER_PROBLEMS)];
  throw new ConfigError(`eval: expected the files of ${benchmark} behind its name, got none`);
}

async function openCompleter(flags: EvalFlags): Promise<Completer> {
  const { model, baseUrl, completions } = flags;
  if (completions !== undefined) return fileCompleter(completions);
  if (model === undefined) {
    throw new ConfigError("eval: expected --model FOLDER, --base-url URL or --completions FILE");
  }
  if (baseUrl === undefined) {
    const threads = flags.threads ?? availableParallelism();
    return localCompleter(model, { threads, batchSize: flags.batchSize });
  }
  return endpointCompleter({
    ...ENDPOINT_DEFAULTS,
    baseUrl,
    model,
    apiKey: process.env["OPENAI_API_KEY"] ?? null,
    concurrency: flags.concurrency,
    canPrefill: flags.prefill === true,
  });
}

function finish(
  info: EvaluationInfo,
  outDir: string,
  { json, isStopped }: { json: boolean; isStopped: boolean },
): void {
  process.stdout.write(json ? JSON.stringify(info) + "\n" : describeEvaluation(info));
  process.stderr.write(`results in ${outDir}; the same command goes on where this one stopped\n`);
  if (isStopped) process.exitCode = 130;
  else if (info.status === "incomplete") process.exitCode = 1;
}
