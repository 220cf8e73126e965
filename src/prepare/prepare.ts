/**
 * The stage: raw rows of any known data set in, trustworthy problems out.
 *
 * Rows stream through in one pass; only the sample and a few bytes per row are held. Validation is
 * read first, so that training rows can be held against it. Nothing appears in the output folder
 * before everything is whole.
 *
 *     train<N>.parquet, validation.parquet   veRL's rows (formats/verl-rows.ts)
 *     train<N>.jsonl, validation.jsonl       the same problems, one a line (core/problem.ts)
 *     dropped.jsonl                          why each other row was left out
 *     manifest.json                          inputs, rules, counts, hashes
 */
import type { OnProgress } from "../core/progress.js";
import { countTests, type Problem } from "../core/problem.js";
import { createJsonl } from "../formats/jsonl.js";
import { OutputFile } from "../formats/output-file.js";
import { createVerlParquet, toVerlRow } from "../formats/verl-rows.js";
import { type Benchmark, loadBenchmark } from "./benchmarks.js";
import type { DedupeMode } from "./dedupe.js";
import { DropLog } from "./drop-log.js";
import { closeInputs, type Input, openInputs } from "./inputs.js";
import { type Manifest, type ManifestOutput, type ManifestSplit, spreadOf } from "./manifest.js";
import { hashTemplate, type PromptMeter, type PromptTemplate } from "./prompt.js";
import { Sample } from "./sample.js";
import { type Candidate, Screening } from "./screening.js";
import { openStage, type Stage } from "./stage.js";

/** What `prepare` is asked for. */
export interface PrepareOptions {
  /** A file of rows. */
  train: string;
  /** A second file, kept apart for validation. */
  validation: string | null;
  /** The output folder. */
  out: string;
  /** Name of a data set, or `auto` to recognise it. */
  source: string;
  /** Problems to draw for training; null keeps all. */
  limit: number | null;
  seed: number;
  /** Longest prompt, in tokens, in both splits. */
  maxPromptTokens: number;
  meter: PromptMeter;
  template: PromptTemplate;
  /** Most tests and bytes of tests that a problem keeps; null for no limit. */
  maxTests: number | null;
  maxTestBytes: number | null;
  /** How far rows that repeat others are looked for. */
  dedupe: DedupeMode;
  /** Benchmarks that training rows must not stand in: paths, or `name=path`. */
  against: readonly string[];
  onProgress?: OnProgress;
  signal?: AbortSignal;
}

/**
 * Prepares a data set and answers the manifest that it wrote.
 *
 * @throws {DataError} if a file cannot be read or a row has not the shape of its data set.
 * @throws {ConfigError} if the options do not fit each other or the output folder cannot be made.
 */
export async function prepare(options: PrepareOptions): Promise<Manifest> {
  const inputs = await openInputs(options);
  try {
    const benchmarks: Benchmark[] = [];
    for (const text of options.against) benchmarks.push(await loadBenchmark(text));
    const stage = openStage(options.out);
    try {
      const manifest = await writeAll(inputs, { stage, benchmarks, options });
      stage.commit("manifest.json");
      return manifest;
    } catch (error) {
      stage.rollback();
      throw error;
    }
  } finally {
    await closeInputs(inputs);
  }
}

async function writeAll(
  inputs: Input[],
  work: { stage: Stage; benchmarks: Benchmark[]; options: PrepareOptions },
): Promise<Manifest> {
  const { stage, benchmarks, options } = work;
  const hashes = Promise.all(inputs.map((input) => input.hash()));
  // A failed row ends the work before the hashes are asked for; their own failure is told below.
  hashes.catch(() => undefined);
  const drops = new DropLog(stage.path("dropped.jsonl"));
  try {
    const { splits, outputs } = await prepareSplits(inputs, {
      stage,
      drops,
      options,
      screening: new Screening(options, benchmarks),
    });
    const manifest = manifestOf(options, {
      inputs: (await hashes).map((sha256, index) => ({ ...inputs[index].description, sha256 })),
      benchmarks: benchmarks.map((benchmark) => benchmark.report),
      splits,
      outputs: [...outputs, drops.finish()],
    });
    writeManifest(stage.path("manifest.json"), manifest);
    return manifest;
  } finally {
    drops.close();
  }
}

async function prepareSplits(inputs: Input[], work: Work) {
  const splits: Manifest["splits"] = {};
  const outputs: ManifestOutput[] = [];
  for (const input of inputs) {
    const written = await prepareSplit(input, work);
    splits[input.split] = written.summary;
    outputs.push(...written.outputs);
  }
  return { splits, outputs };
}

function manifestOf(
  options: PrepareOptions,
  { inputs, benchmarks, splits, outputs }: Omit<Manifest, "format" | "options">,
): Manifest {
  const { limit, seed, maxPromptTokens, meter, template, maxTests, maxTestBytes } = options;
  return {
    format: 1,
    inputs,
    benchmarks,
    options: {
      limit,
      seed,
      max_prompt_tokens: maxPromptTokens,
      length: meter.description,
      template: { name: template.name, sha256: hashTemplate(template) },
      max_tests: maxTests,
      max_test_bytes: maxTestBytes,
      dedupe: options.dedupe,
    },
    splits,
    outputs,
  };
}

function writeManifest(path: string, manifest: Manifest): void {
  const file = new OutputFile(path);
  try {
    file.write(JSON.stringify(manifest, null, 2) + "\n");
    file.flush();
  } finally {
    file.close();
  }
}

interface Work {
  stage: Stage;
  drops: DropLog;
  screening: Screening;
  options: PrepareOptions;
}

async function prepareSplit(input: Input, work: Work) {
  const { stage, drops, screening, options } = work;
  const { split } = input;
  const limit = split === "train" ? options.limit : null;
  const sample = new Sample<Candidate>(limit ?? Infinity, options.seed, split);
  const { where } = input.source;
  let rows = 0;
  for await (const batch of input.file.read(where)) {
    options.signal?.throwIfAborted();
    for (const { line } of batch.skipped) drops.add(split, line, { reason: where!.reason });
    for (const { line, value } of batch.rows) {
      const result = screening.screen(input, line, value);
      if ("drop" in result) drops.add(split, line, result.drop);
      else sample.offer(line, result.candidate);
    }
    rows += batch.rows.length + batch.skipped.length;
    const total = input.file.rowCount;
    options.onProgress?.({ label: `prepare ${split}`, done: rows, total, unit: "rows" });
  }
  const chosen = sample.items();
  for (const line of sample.left) drops.add(split, line, { reason: "not_sampled" });
  const candidates = chosen.map(({ item }) => item);
  const name = split === "train" ? `train${candidates.length}` : "validation";
  const problems = candidates.map((candidate) => screening.finish(candidate));
  const outputs = writeProblems(stage, name, problems);
  return { outputs, summary: summarise(rows, drops.counts(split), { candidates, problems }) };
}

function writeProblems(stage: Stage, name: string, problems: Problem[]): ManifestOutput[] {
  const parquet = createVerlParquet(stage.path(`${name}.parquet`));
  const jsonl = createJsonl(stage.path(`${name}.jsonl`));
  try {
    for (const problem of problems) {
      parquet.write(toVerlRow(problem));
      jsonl.write(problem);
    }
    parquet.finish();
    jsonl.output.flush();
  } finally {
    parquet.close();
    jsonl.output.close();
  }
  return [
    describeOutput(`${name}.parquet`, problems.length, parquet.output),
    describeOutput(`${name}.jsonl`, problems.length, jsonl.output),
  ];
}

/** Describes a finished file for the manifest. */
export function describeOutput(name: string, rows: number, output: OutputFile): ManifestOutput {
  return { name, rows, bytes: output.byteLength, sha256: output.digest() };
}

function summarise(
  rows: number,
  dropped: ManifestSplit["dropped"],
  { candidates, problems }: { candidates: Candidate[]; problems: Problem[] },
): ManifestSplit {
  const count = (label: (problem: Problem) => string) => {
    const counts: Record<string, number> = {};
    for (const name of problems.map(label).sort()) {
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  };
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
  return {
    rows,
    dropped,
    written: candidates.length,
    removed_tests: {
      truncated: sum(candidates.map(({ removed }) => removed.truncated)),
      over_cap: sum(candidates.map(({ removed }) => removed.overCap)),
    },
    by_kind: count((problem) => problem.tests.kind),
    by_source: count((problem) => problem.source),
    prompt_tokens: spreadOf(candidates.map(({ promptTokens }) => promptTokens)),
    tests: spreadOf(problems.map(({ tests }) => countTests(tests))),
  };
}
