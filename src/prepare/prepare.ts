/**
 * The stage: raw rows of any known data set in, trustworthy problems out.
 *
 * Rows stream through in one pass; only the sample and a few bytes per row are held. Where problems
 * are tried out and the sample does not hold enough good ones, the file is read again for more.
 * Validation is read first, so that training rows can be held against it. Nothing appears in the
 * output folder before everything is whole.
 *
 *     train<N>.parquet, validation.parquet   veRL's rows (formats/verl-rows.ts)
 *     train<N>.jsonl, validation.jsonl       the same problems, one a line (core/problem.ts)
 *     dropped.jsonl                          why each other row was left out
 *     card.md, *.svg                         the data card
 *     manifest.json                          inputs, rules, counts, hashes
 */
import type { OnProgress } from "../core/progress.js";
import { countTests, type Problem } from "../core/problem.js";
import { createVerifier } from "../verify/verify.js";
import { type Benchmark, loadBenchmark } from "./benchmarks.js";
import { drawCard, type SplitNumbers } from "./data-card.js";
import type { DedupeMode } from "./dedupe.js";
import { Draw, type DrawnRow } from "./draw.js";
import { DropLog } from "./drop-log.js";
import type { HubAccess } from "./hub.js";
import { closeInputs, type Input, openInputs } from "./inputs.js";
import type { Manifest, ManifestInput, ManifestOutput } from "./manifest.js";
import { summarise, type Written, writeProblems, writeText } from "./outputs.js";
import { hashTemplate, type PromptMeter, type PromptTemplate } from "./prompt.js";
import { Screening } from "./screening.js";
import { openStage, type Stage } from "./stage.js";
import { loadCompletions, vetInOrder, Vetting } from "./vetting.js";

/** What `prepare` is asked for. */
export interface PrepareOptions {
  /** A file of rows, or a data set of the hub: `owner/name[:configuration][@revision]`. */
  train: string;
  /** The same for validation; null for none. */
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
  /** Run the reference solutions of training problems. */
  audit: boolean;
  /** A file of a model's completions, and the pass rates of training problems that are kept. */
  profile: { path: string; min: number; max: number } | null;
  /** How data sets of the hub are reached. */
  hub: HubAccess;
  onProgress?: OnProgress;
  signal?: AbortSignal;
}

/** What a run would do. */
export interface PreparePlan {
  inputs: (Omit<ManifestInput, "sha256"> & { rows: number | null })[];
  options: Manifest["options"];
  against: readonly string[];
  out: string;
}

/**
 * Opens and recognises the inputs and says what a run would do; writes nothing.
 *
 * @throws {DataError} if a file cannot be read or is of no known data set.
 */
export async function planPrepare(options: PrepareOptions): Promise<PreparePlan> {
  const inputs = await openInputs(options);
  await closeInputs(inputs);
  return {
    inputs: inputs.map(({ description, file }) => ({ ...description, rows: file.rowCount })),
    options: manifestOptions(options),
    against: options.against,
    out: options.out,
  };
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
    const vetting = await openVetting(options);
    const stage = openStage(options.out);
    try {
      const manifest = await writeAll(inputs, { stage, benchmarks, vetting, options });
      stage.commit("manifest.json");
      return manifest;
    } catch (error) {
      stage.rollback();
      throw error;
    } finally {
      await vetting?.close();
    }
  } finally {
    await closeInputs(inputs);
  }
}

async function openVetting({ audit, profile }: PrepareOptions): Promise<Vetting | null> {
  if (!audit && profile === null) return null;
  const completions = profile && (await loadCompletions(profile.path));
  const verifier = await createVerifier();
  return new Vetting({
    verifier,
    audit,
    profile: profile && completions && { completions, ...profile },
  });
}

interface Task {
  stage: Stage;
  benchmarks: Benchmark[];
  vetting: Vetting | null;
  options: PrepareOptions;
}

async function writeAll(inputs: Input[], task: Task): Promise<Manifest> {
  const { stage, benchmarks, vetting, options } = task;
  const hashes = Promise.all(inputs.map((input) => input.hash()));
  // A failed row ends the work before the hashes are asked for; their own failure is told below.
  hashes.catch(() => undefined);
  const drops = new DropLog(stage.path("dropped.jsonl"));
  try {
    const screening = new Screening(options, benchmarks);
    const warnings: string[] = [];
    const work = { ...task, drops, screening, warnings };
    const { splits, outputs, numbers } = await prepareSplits(inputs, work);
    outputs.push(drops.finish());
    const manifest: Manifest = {
      format: 1,
      inputs: (await hashes).map((sha256, index) => ({ ...inputs[index].description, sha256 })),
      benchmarks: benchmarks.map((benchmark) => benchmark.report),
      trials: vetting?.report ?? null,
      warnings,
      options: manifestOptions(options),
      splits,
      outputs,
    };
    const card = drawCard(manifest, numbers);
    for (const [name, text] of card) outputs.push(writeText(stage, name, text));
    writeText(stage, "manifest.json", JSON.stringify(manifest, null, 2) + "\n");
    return manifest;
  } finally {
    drops.close();
  }
}

interface Work extends Task {
  drops: DropLog;
  screening: Screening;
  /** What a reader should know before training on the data. */
  warnings: string[];
}

async function prepareSplits(inputs: Input[], work: Work) {
  const splits: Manifest["splits"] = {};
  const outputs: ManifestOutput[] = [];
  const numbers: Record<string, SplitNumbers> = {};
  for (const input of inputs) {
    const { rows, written } = await prepareSplit(input, work);
    const problems = written.map(({ problem }) => problem);
    if (input.split === "train") work.warnings.push(...warnOfTestSplit(problems));
    const name = input.split === "train" ? `train${problems.length}` : "validation";
    outputs.push(...writeProblems(work.stage, name, problems));
    splits[input.split] = summarise(rows, work.drops.counts(input.split), written);
    numbers[input.split] = {
      promptTokens: written.map(({ promptTokens }) => promptTokens),
      tests: problems.map(({ tests }) => countTests(tests)),
    };
  }
  return { splits, outputs, numbers };
}

// Rows held at least while problems are tried out, so that a small limit does not mean many readings
// of the file: what a run with the usual limit holds.
const LEAST_WINDOW = 2000;

async function prepareSplit(
  input: Input,
  work: Work,
): Promise<{ rows: number; written: Written[] }> {
  const { drops, screening, options } = work;
  const { split } = input;
  const limit = (split === "train" ? options.limit : null) ?? Infinity;
  const vetting = split === "train" ? work.vetting : null;
  // Some more, to fill the places of problems that do not stand the trial.
  const window = vetting === null ? limit : Math.max(2 * limit, LEAST_WINDOW);
  const { seed, signal } = options;
  const draw = new Draw(input, { screening, seed, window, ...(signal && { signal }) });
  const rows = await screenRows(input, { ...work, vetting }, draw);
  const nextWindow = async () => (await draw.next()).map((row) => finish(row, screening));
  const written =
    vetting === null
      ? await nextWindow()
      : await tryOut(nextWindow, vetting, { draw, limit, work });
  // Known only once the draw is over.
  for (const line of draw.left()) drops.add(split, line, { reason: "not_sampled" });
  return { rows, written };
}

/** Screens every row and offers the good ones to the draw; answers how many rows there are. */
async function screenRows(input: Input, work: Work, draw: Draw): Promise<number> {
  const { drops, screening, vetting, options } = work;
  const { split, source, file } = input;
  let rows = 0;
  for await (const batch of file.read(source.where)) {
    options.signal?.throwIfAborted();
    for (const { line } of batch.skipped) drops.add(split, line, { reason: source.where!.reason });
    for (const { line, value } of batch.rows) {
      const result = screening.screen(input, line, value);
      const drop =
        "drop" in result ? result.drop : vetting?.refuse(screening.nameOf(result.candidate));
      if (drop) drops.add(split, line, drop);
      else if ("candidate" in result) draw.offer(line, result.candidate);
    }
    rows += batch.rows.length + batch.skipped.length;
    const { rowCount: total } = file;
    options.onProgress?.({ label: `prepare ${split}`, done: rows, total, unit: "rows" });
  }
  return rows;
}

function finish({ line, item }: DrawnRow, screening: Screening): Written {
  const { promptTokens, removed } = item;
  return { line, problem: screening.finish(item), promptTokens, removed };
}

async function tryOut(
  nextWindow: () => Promise<Written[]>,
  vetting: Vetting,
  { draw, limit, work }: { draw: Draw; limit: number; work: Work },
): Promise<Written[]> {
  const { onProgress, signal } = work.options;
  const written = await vetInOrder(nextWindow, vetting, {
    limit,
    total: draw.size,
    onDrop: (line, drop) => work.drops.add("train", line, drop),
    ...(onProgress && { onProgress }),
    ...(signal && { signal }),
  });
  if (written.length < limit && limit !== Infinity) {
    work.warnings.push(
      `train: the limit is ${limit} problems, but only ${written.length} of ${draw.size} that were ` +
        "tried out can be kept; give more rows or completions, or a wider band of pass rates",
    );
  }
  return written;
}

/** Training on a test set makes every later score on it worthless, and nothing else shows it. */
function warnOfTestSplit(problems: readonly Problem[]): string[] {
  const count = problems.filter(({ tags }) => tags?.["split"] === "test").length;
  if (count === 0) return [];
  return [
    `train: ${count} of ${problems.length} problems are of their data set's test split; leave them ` +
      "out by --against (for MBPP: --against mbpp=FILE with this file) or give a file without them",
  ];
}

function manifestOptions(options: PrepareOptions): Manifest["options"] {
  const { limit, seed, maxPromptTokens, meter, template, maxTests, maxTestBytes } = options;
  return {
    limit,
    seed,
    max_prompt_tokens: maxPromptTokens,
    length: meter.description,
    template: { name: template.name, sha256: hashTemplate(template) },
    max_tests: maxTests,
    max_test_bytes: maxTestBytes,
    dedupe: options.dedupe,
    audit: options.audit,
    pass_rate_band: options.profile && [options.profile.min, options.profile.max],
  };
}
