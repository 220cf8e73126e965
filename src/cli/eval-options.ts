/** The flags of `rlvr eval`, and an evaluation in words. */
import type { Command } from "commander";
import type { EvalSettings, EvaluationInfo } from "../core/evaluation.js";
import type { Benchmark } from "../eval/benchmarks/benchmark.js";
import type { LoadedBenchmark } from "../eval/benchmarks/table.js";
import { EVALUATE_DEFAULTS, type EvaluateSettings } from "../eval/evaluate.js";
import { defaultVerifierOptions } from "../verify/verify.js";
import { addExamples, suggest } from "./help.js";
import { aboveZero, amount, jsonObject, positive, whole } from "./option-values.js";

/** The flags as commander hands them over. */
export interface EvalFlags {
  model?: string;
  baseUrl?: string;
  completions?: string;
  out?: string;
  name?: string;
  style?: string;
  limit?: number;
  split?: string;
  from?: string;
  to?: string;
  release?: string;
  n?: number;
  temperature: number;
  topP: number;
  topK?: number;
  maxTokens?: number;
  seed: number;
  batchSize: number;
  threads?: number;
  concurrency: number;
  requestTimeout: number;
  apiKeyEnv?: string;
  extraBody?: Record<string, unknown>;
  timeLimit?: number;
  memoryLimit?: number;
  onlyGiven?: true;
  prefill?: true;
  reuse?: string[];
  dryRun?: true;
  json?: true;
}

/** Adds arguments, options and help to the command. */
export function defineOptions(command: Command, benchmarks: readonly Benchmark[]): Command {
  const table = benchmarks.map(({ name, about, styles }) => {
    return `  ${name.padEnd(16)} ${about}; styles ${styles.map((style) => style.name).join(", ")}`;
  });
  command
    .argument("<benchmark>", "benchmark, see below, or a problem file")
    .argument("[files...]", "its files: JSONL (also .gz), JSON or parquet; else the hub's")
    .option("--model <folder>", "model directory, or with --base-url the model's name there")
    .option("--base-url <url>", "OpenAI-compatible endpoint, up to /v1")
    .option("--api-key-env <name>", "variable with the endpoint's key; OPENAI_API_KEY by default")
    .option("--completions <file>", "judge these completions instead of making any")
    .option("--only-given", "leave out problems that the completions file lacks")
    .option("--out <folder>", "where results go; evals/<name> by default")
    .option("--name <name>", "name of this evaluation; the benchmark's by default")
    .option("--style <name>", "prompt style; the benchmark's first by default")
    .option("--limit <n>", "first problems only", positive)
    .option("--split <name>", "part of the data set")
    .option("--from <date>", "first day of dated problems, YYYY-MM-DD")
    .option("--to <date>", "last day of dated problems")
    .option("--release <name>", "release of LiveCodeBench, e.g. v5")
    .option("--n <n>", "samples per problem; 1, or as many as the completions file has", positive)
    .option("--temperature <t>", "0 is greedy", amount, 0)
    .option("--top-p <p>", "nucleus sampling", amount, 1)
    .option("--top-k <k>", "sample among the k likeliest tokens", positive)
    .option("--max-tokens <n>", "longest completion; the benchmark's by default", positive)
    .option("--seed <n>", "seed of sampling", whole, 42)
    .option("--batch-size <n>", "sequences sampled at a time, local models", positive, 32)
    .option("--threads <n>", "threads, local models; every core by default", positive)
    .option("--concurrency <n>", "requests at a time, endpoints", positive, 8)
    .option("--request-timeout <s>", "seconds for one answer, endpoints", positive, 600)
    .option("--extra-body <json>", "further keys of each request, e.g. a penalty", jsonObject)
    .option("--prefill", "the endpoint continues an assistant turn (vLLM, llama.cpp, SGLang)")
    .option(
      "--time-limit <s>",
      "processor seconds a test, where the problem has no limit",
      aboveZero,
    )
    .option("--memory-limit <mib>", "memory of a program", positive)
    .option("--reuse <folders...>", "take completions from these evaluations where they fit")
    .option("--dry-run", "say what would be asked, and stop")
    .option("--json", "print eval.json")
    .addHelpText("after", `\nBenchmarks:\n${table.join("\n")}`);
  suggest(command, () => ({ words: benchmarks.map(({ name }) => name) }));
  addExamples(command, [
    ["rlvr eval starter --model runs/NAME/checkpoints/step_000075/actor", "a model directory"],
    ["rlvr eval humaneval --model NAME --base-url http://127.0.0.1:8000/v1", "an endpoint"],
    ["rlvr eval mbpp mbpp.jsonl --completions c.jsonl --n 10", "completions made elsewhere"],
  ]);
  return command;
}

/** What narrows the benchmark; null where nothing was said. */
export function narrowingOf({ style, limit, split, from, to, release }: EvalFlags) {
  return {
    style: style ?? null,
    limit: limit ?? null,
    split: split ?? null,
    from: from ?? null,
    to: to ?? null,
    release: release ?? null,
  };
}

/** The limits of one test. */
export function limitsOf({ timeLimit, memoryLimit }: EvalFlags) {
  const { limits } = defaultVerifierOptions();
  return {
    ...limits,
    ...(timeLimit === undefined ? {} : { cpuMs: 1000 * timeLimit, wallMs: 3000 * timeLimit }),
    ...(memoryLimit === undefined ? {} : { memoryBytes: memoryLimit * 2 ** 20 }),
  };
}

/** The settings of the evaluation. */
export function settingsOf(
  flags: EvalFlags,
  { benchmark, style, window }: LoadedBenchmark,
  decided: Pick<EvaluateSettings, "n" | "outDir" | "limits">,
): EvaluateSettings {
  return {
    ...EVALUATE_DEFAULTS,
    ...decided,
    name: flags.name ?? benchmark.name,
    benchmark: benchmark.name,
    style,
    temperature: flags.temperature,
    topP: flags.topP,
    topK: flags.topK ?? null,
    maxTokens: flags.maxTokens ?? benchmark.maxTokens,
    seed: flags.seed,
    limit: flags.limit ?? null,
    window,
    reuse: flags.reuse ?? [],
  };
}

/** Says what would be asked, in words or as JSON. */
export function describePlan(
  { benchmark, problems, style, window }: LoadedBenchmark,
  { n, json }: EvalFlags,
  outDir: string,
): string {
  if (json) {
    const asked = { benchmark: benchmark.name, style: style.name, window };
    return `${JSON.stringify({ ...asked, problems: problems.length, n: n ?? 1, out: outDir })}\n`;
  }
  const part = window === null ? "" : `, ${window}`;
  const taken = `${problems.length} problems of ${benchmark.name}${part}, style ${style.name}`;
  return `${taken}, ${n ?? 1} samples each → ${outDir}\n`;
}

/** Says an evaluation's scores and the settings that move them. */
export function describeEvaluation(info: EvaluationInfo): string {
  const { settings, passAt1Interval: interval } = info;
  // Of no samples there is no share.
  const percent = (value: number) => (info.samples === 0 ? "–" : `${(100 * value).toFixed(1)} %`);
  const verdicts = Object.entries(info.verdicts).map(([kind, count]) => `${kind} ${count}`);
  const lines = [
    ["model", `${info.model.name} (${info.model.identity})`],
    ["benchmark", `${settings.benchmark}, style ${settings.style}, ${info.problems} problems`],
    ...(settings.window === null ? [] : [["window", settings.window]]),
    ...Object.entries(info.passAtK).map(([k, value]) => [`pass@${k}`, percent(value)]),
    ["pass@1, 95 %", `${percent(interval.low)} – ${percent(interval.high)}`],
    ["tests passed", percent(info.passRate)],
    ...(info.strictAt1 === null ? [] : [["strict", percent(info.strictAt1)]]),
    ["format", percent(info.formatRate)],
    ["verdicts", verdicts.join(", ")],
    ["cut off", String(info.truncated)],
    ["sampling", describeSampling(settings)],
    ["prompts", settings.promptHash],
    ...(info.missing === 0 ? [] : [["missing", `${info.missing} samples have no score`]]),
  ];
  return lines.map(([name, value]) => `${name.padEnd(14)}${value}\n`).join("");
}

function describeSampling(settings: EvalSettings): string {
  const { n, temperature, topP, seed, maxTokens, extraBody } = settings;
  if (temperature === null) return `n ${n}, as the file's maker chose`;
  const more = Object.keys(extraBody).length === 0 ? "" : `, ${JSON.stringify(extraBody)}`;
  return `n ${n}, temperature ${temperature}, top-p ${topP}, seed ${seed}, at most ${maxTokens} tokens${more}`;
}
