/** `rlvr eval`: a benchmark to a model, and its scores with every setting that moves them. */
import { resolve } from "node:path";
import type { Command } from "commander";
import type { EvaluationInfo } from "../core/evaluation.js";
import { BENCHMARKS, findBenchmark, isBenchmark, loadBenchmark } from "../eval/benchmarks/table.js";
import { evaluate } from "../eval/evaluate.js";
import type { FileCompleter } from "../eval/file-completer.js";
import { refuseOther } from "../eval/out-dir.js";
import { createVerifier } from "../verify/verify.js";
import {
  defineOptions,
  describeEvaluation,
  describePlan,
  type EvalFlags,
  limitsOf,
  narrowingOf,
  settingsOf,
} from "./eval-options.js";
import { benchmarkFiles, narrowToFile, openCompleter } from "./eval-sources.js";
import { refuseIdle } from "./flags.js";
import { openProgress } from "./progress.js";

/** Defines the command. */
export function define(command: Command): void {
  defineOptions(command, BENCHMARKS).action(run);
}

async function run(
  name: string,
  files: string[],
  flags: EvalFlags,
  command: Command,
): Promise<void> {
  refuseIdleFlags(name, flags, command);
  const progress = openProgress();
  const { benchmark, paths } = await benchmarkFiles(name, files, flags, progress.onProgress);
  const loaded = await loadBenchmark(benchmark.name, { paths, ...narrowingOf(flags) });
  const outDir = resolve(flags.out ?? `evals/${flags.name ?? benchmark.name}`);
  if (flags.dryRun) {
    process.stdout.write(describePlan(loaded, flags, outDir));
    return;
  }
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  const limits = limitsOf(flags);
  // The sandbox forks: it comes before any weights are in memory.
  const verifier = await createVerifier({ limits, maxTests: null });
  try {
    const completer = await openCompleter(flags);
    const given =
      completer.kind === "file"
        ? narrowToFile(loaded.problems, completer as FileCompleter, flags)
        : { problems: loaded.problems, n: flags.n ?? 1 };
    const settings = settingsOf(flags, loaded, { n: given.n, outDir, limits });
    const plan = { completer, problems: given.problems, settings };
    const more = { verifier, onProgress: progress.onProgress, signal: stop.signal };
    const { info } = await refuseOther(outDir, plan)
      .then(() => evaluate({ ...plan, ...more }))
      .finally(() => completer.close());
    progress.clear();
    finish(info, outDir, flags.json === true);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    progress.clear();
    process.stderr.write(`rlvr: stopped; the same command goes on from ${outDir}\n`);
    process.exitCode = 130;
  } finally {
    await verifier.close();
  }
}

function finish(info: EvaluationInfo, outDir: string, isJson: boolean): void {
  process.stdout.write(isJson ? JSON.stringify(info) + "\n" : describeEvaluation(info));
  process.stderr.write(`results in ${outDir}\n`);
  if (info.status === "complete") return;
  const faults = Object.entries(info.faults).map(([kind, count]) => `${kind} ${count}`);
  const why = [...faults, ...(info.lastFault === null ? [] : [`last: ${info.lastFault}`])];
  process.stderr.write(
    `rlvr: ${info.missing} of ${info.samples + info.missing} samples are missing (${why.join(", ")}); the same command asks for them again\n`,
  );
  process.exitCode = 1;
}

/** Refuses flags of another benchmark or of another way to get completions. */
function refuseIdleFlags(name: string, flags: EvalFlags, command: Command): void {
  const benchmark = isBenchmark(name) ? findBenchmark(name).name : "problems";
  const only = (names: readonly string[]) => (names.includes(benchmark) ? null : names[0]);
  const endpoint = flags.baseUrl === undefined ? "--base-url" : null;
  const local =
    flags.baseUrl === undefined && flags.completions === undefined ? null : "a local --model";
  const made = flags.completions === undefined ? null : "completions that are made here";
  const dated = only(["livecodebench"]);
  refuseIdle(command, {
    split: only(["mbpp", "mbpp-sanitized"]),
    ...{ from: dated, to: dated, release: dated },
    onlyGiven: flags.completions === undefined ? "--completions" : null,
    ...{ apiKeyEnv: endpoint, concurrency: endpoint, requestTimeout: endpoint },
    ...{ extraBody: endpoint, prefill: endpoint },
    ...{ batchSize: local, threads: local },
    ...{ temperature: made, topP: made, topK: made, maxTokens: made, reuse: made },
  });
}
