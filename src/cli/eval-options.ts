/** The flags of `rlvr eval`, and an evaluation in words. */
import { type Command, InvalidArgumentError } from "commander";
import type { EvaluationInfo } from "../core/evaluation.js";
import type { Benchmark } from "../eval/benchmarks/benchmark.js";

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
  n: number;
  temperature: number;
  topP: number;
  topK?: number;
  maxTokens?: number;
  seed: number;
  batchSize: number;
  threads?: number;
  concurrency: number;
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
  return command
    .argument("<benchmark>", "benchmark; see below")
    .argument("[files...]", "its files: JSONL (also .gz), JSON or parquet")
    .option("--model <folder>", "model directory, or with --base-url the model's name there")
    .option("--base-url <url>", "OpenAI-compatible endpoint; key from OPENAI_API_KEY")
    .option("--completions <file>", "judge these completions instead of making any")
    .option("--out <folder>", "where results go; evals/<benchmark> by default")
    .option("--name <name>", "name of this evaluation")
    .option("--style <name>", "prompt style; the benchmark's first by default")
    .option("--limit <n>", "first problems only", whole)
    .option("--split <name>", "part of the data set")
    .option("--from <date>", "first day of dated problems, YYYY-MM-DD")
    .option("--to <date>", "last day of dated problems")
    .option("--release <name>", "release of LiveCodeBench, e.g. v5")
    .option("--n <n>", "samples per problem", whole, 1)
    .option("--temperature <t>", "0 is greedy", number, 0)
    .option("--top-p <p>", "nucleus sampling", number, 1)
    .option("--top-k <k>", "sample among the k likeliest tokens", whole)
    .option("--max-tokens <n>", "longest completion; the benchmark's by default", whole)
    .option("--seed <n>", "seed of sampling", whole, 42)
    .option("--batch-size <n>", "sequences sampled at a time, local models", whole, 32)
    .option("--threads <n>", "threads, local models; every core by default", whole)
    .option("--concurrency <n>", "requests at a time, endpoints", whole, 8)
    .option("--prefill", "the endpoint continues an assistant turn (vLLM, llama.cpp, SGLang)")
    .option("--reuse <folders...>", "take completions from these evaluations where they fit")
    .option("--dry-run", "say what would be asked, and stop")
    .option("--json", "print eval.json")
    .addHelpText(
      "after",
      `\nBenchmarks:\n${table.join("\n")}\n\nExamples:\n  rlvr eval starter --model runs/NAME/checkpoints/step_000075/actor\n  rlvr eval humaneval HumanEval.jsonl.gz --model MODEL --base-url http://127.0.0.1:8000/v1\n`,
    );
}

/** Says an evaluation's scores and the settings that move them. */
export function describeEvaluation(info: EvaluationInfo): string {
  const { settings, passAt1Interval: interval } = info;
  const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
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
    [
      "sampling",
      `n ${settings.n}, temperature ${settings.temperature}, top-p ${settings.topP}, seed ${settings.seed}, at most ${settings.maxTokens} tokens`,
    ],
    ["prompts", settings.promptHash],
    ...(info.missing === 0 ? [] : [["missing", `${info.missing} samples have no score`]]),
  ];
  return lines.map(([name, value]) => `${name.padEnd(14)}${value}\n`).join("");
}

function whole(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) {
    throw new InvalidArgumentError("expected a whole number");
  }
  return value;
}

function number(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new InvalidArgumentError("expected a number");
  return value;
}
