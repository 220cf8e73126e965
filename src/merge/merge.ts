/**
 * Merging: the shards of a distributed trainer, or a model with an adapter, become one model
 * directory that every Hugging Face loader reads.
 *
 * The output appears whole or not at all: everything is written into a folder beside it, read back
 * and compared, and only then given its name.
 */
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { CheckpointError, ConfigError } from "../core/errors.js";
import type { OnProgress } from "../core/progress.js";
import { writeAtomic } from "../core/write.js";
import type { AdapterConfig } from "../model/adapter-config.js";
import { compareModels, type TensorDifference } from "./compare.js";
import { checkShapes, type HuggingFaceConfig } from "./expected.js";
import { openInput, type MergeInput } from "./input.js";
import { adapterFiles, chooseScaling, EMBEDDINGS, fusedRows, HEAD, scaleOfWeight } from "./lora.js";
import { equalRows, type NamedSource } from "./rows.js";
import { copySidecars, outputConfig } from "./sidecars.js";
import { checkVocabulary } from "./vocabulary.js";
import { type DtypeChoice, type WrittenModel, writeModel } from "./write.js";

/** What to merge, and how. */
export interface MergeOptions {
  /** See locate.ts for what it may be. */
  checkpoint: string;
  /** Directory to create; it must not exist, or be empty. */
  out: string;
  dtype: DtypeChoice;
  /** Fold the adapter into the weights, or write it beside the base model in `lora_adapter/`. */
  lora: "fuse" | "separate";
  /** Null: what the checkpoint recorded. */
  loraAlpha: number | null;
  maxShardBytes: number;
  /**
   * Model directory that training started from; gives config, tokenizer and weights where the
   * checkpoint lacks them. Null: the checkpoint must have its own.
   */
  base: string | null;
  /** Model directory to compare the result with; null for none. */
  reference: string | null;
  signal: AbortSignal | null;
  onProgress: OnProgress | null;
}

/** What a merge made, as it also stands in `merge.json` of the output. */
export interface MergeReport {
  out: string;
  checkpoint: string;
  worldSize: number;
  parameters: number;
  totalBytes: number;
  lora: FoundAdapter | null;
  /** Shard storages whose bytes matched the checksums that were recorded when they were saved. */
  checkedStorages: number;
  warnings: string[];
  files: string[];
  tensors: WrittenModel["tensors"];
  /** Null when there was no reference. */
  differences: TensorDifference[] | null;
}

/** The adapter of a checkpoint, and what became of it. */
export interface FoundAdapter {
  mode: "fuse" | "separate";
  rank: number;
  alpha: number;
  /** What B·A is multiplied by: each factor that occurs, ascending. */
  scales: number[];
  /** Number of weights that the adapter changes. */
  weights: number;
}

/**
 * Merges a checkpoint into a model directory.
 *
 * @throws {ConfigError} if the output is in the way or alpha is unknown.
 * @throws {CheckpointError} if the checkpoint is incomplete, inconsistent, damaged or unsupported.
 * @throws {DataError} if a file breaks its format or names code.
 */
export async function mergeCheckpoint(options: MergeOptions): Promise<MergeReport> {
  const out = resolve(options.out);
  await checkOutput(out);
  const input = await openInput(options.checkpoint, options.base);
  const partial = `${out}.partial-${process.pid}`;
  try {
    await mkdir(partial, { recursive: true });
    const report = await mergeInto(partial, input, { ...options, out });
    await rename(partial, out);
    return report;
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  } finally {
    await input.close();
  }
}

async function checkOutput(out: string): Promise<void> {
  const names = await readdir(out).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new ConfigError(`${out}: expected a directory to create, found a file`);
  });
  if (names.length > 0) {
    throw new ConfigError(`${out}: exists and is not empty; choose another --out or remove it`);
  }
  await mkdir(dirname(out), { recursive: true });
}

async function mergeInto(
  partial: string,
  input: MergeInput,
  options: MergeOptions,
): Promise<MergeReport> {
  const plan = await planTensors(input, options);
  const written = await writeModel(plan.model, { ...options, dir: partial, stem: "model" });
  await copySidecars(input.sidecars, partial);
  const config = outputConfig(plan.config, written.tensors, plan);
  await writeAtomic(join(partial, "config.json"), JSON.stringify(config, null, 2) + "\n");
  if (plan.adapter !== null) {
    const dir = join(partial, "lora_adapter");
    await mkdir(dir);
    await writeModel(plan.adapter.tensors, { ...options, dir, stem: "adapter_model" });
    const text = JSON.stringify(plan.adapter.config, null, 2) + "\n";
    await writeAtomic(join(dir, "adapter_config.json"), text);
  }
  const checkedStorages = await input.finishChecks();
  const report: MergeReport = {
    out: options.out,
    checkpoint: options.checkpoint,
    worldSize: input.worldSize,
    parameters: countParameters(written.tensors),
    totalBytes: written.totalBytes,
    lora: plan.lora,
    checkedStorages,
    warnings: [...input.warnings, ...plan.warnings, ...new Set(written.warnings)],
    files: written.files,
    tensors: written.tensors,
    differences:
      options.reference === null ? null : await compareModels(partial, options.reference),
  };
  await writeAtomic(join(partial, "merge.json"), JSON.stringify(report, null, 2) + "\n");
  return report;
}

const countParameters = (tensors: { shape: number[] }[]) =>
  tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);

/** What will be written. */
interface TensorPlan {
  model: NamedSource[];
  adapter: { tensors: NamedSource[]; config: Record<string, unknown> } | null;
  config: HuggingFaceConfig;
  lora: FoundAdapter | null;
  hasValueHead: boolean;
  /** False when the checkpoint's head and embeddings differ though config.json ties them. */
  isTieKept: boolean;
  warnings: string[];
}

async function planTensors(input: MergeInput, options: MergeOptions): Promise<TensorPlan> {
  const { pairs } = input.split;
  const { model, lora, scaling } = fuseOrKeep(input, options);
  const adapter =
    scaling !== null && options.lora === "separate"
      ? adapterFiles(input.split, { scaling, baseModel: options.base })
      : null;
  const warnings: string[] = [];
  const tied = await resolveTie(model, { config: input.config, pairs });
  if (tied.warning !== null) warnings.push(tied.warning);
  const shapes = new Map(tied.model.map(({ name, shape }) => [name, shape]));
  const check = checkShapes(shapes, { ...input.config, tie_word_embeddings: tied.isTied });
  if (!check.isKnown) {
    warnings.push(
      `tensors are not compared with config.json: model type ${String(input.config.model_type)} ` +
        "is not known here",
    );
  }
  const rows = shapes.get(EMBEDDINGS)?.[0] ?? input.config.vocab_size;
  if (typeof rows === "number") {
    const warning = await checkVocabulary(input.sidecars, rows);
    if (warning !== null) warnings.push(warning);
  }
  return {
    model: tied.model,
    adapter,
    config: input.config,
    lora,
    hasValueHead: check.hasValueHead,
    isTieKept: tied.warning === null,
    warnings,
  };
}

function fuseOrKeep(
  input: MergeInput,
  options: MergeOptions,
): { model: NamedSource[]; lora: FoundAdapter | null; scaling: AdapterConfig | null } {
  const { base, pairs } = input.split;
  if (pairs.size === 0) return { model: base, lora: null, scaling: null };
  const scaling = chooseScaling(pairs, { option: options.loraAlpha, recorded: input.lora });
  const scales = [...new Set([...pairs.keys()].map((name) => scaleOfWeight(scaling, name)))];
  const lora = {
    mode: options.lora,
    rank: scaling.rank,
    alpha: scaling.alpha,
    scales: scales.sort((a, b) => a - b),
    weights: pairs.size,
  };
  if (options.lora === "separate") return { model: base, lora, scaling };
  const names = new Set(base.map(({ name }) => name));
  const orphan = [...pairs.keys()].find((name) => !names.has(name));
  if (orphan !== undefined) {
    throw new CheckpointError(`${orphan}: the adapter changes it, but the base model lacks it`);
  }
  const model = base.map((tensor) => {
    const pair = pairs.get(tensor.name);
    if (pair === undefined) return tensor;
    // Fused in float32, rounded to the weight's own type when it is written.
    return { ...tensor, ...fusedRows(tensor, pair, scaleOfWeight(scaling, tensor.name)) };
  });
  return { model, lora, scaling };
}

/** A tied head is the embedding matrix: one copy is written, unless the two really differ. */
async function resolveTie(
  model: NamedSource[],
  { config, pairs }: { config: HuggingFaceConfig; pairs: MergeInput["split"]["pairs"] },
): Promise<{ model: NamedSource[]; isTied: boolean; warning: string | null }> {
  const isTied = config.tie_word_embeddings === true;
  const head = model.find(({ name }) => name === HEAD);
  const embeddings = model.find(({ name }) => name === EMBEDDINGS);
  if (!isTied || head === undefined || embeddings === undefined) {
    return { model, isTied, warning: null };
  }
  const isFused = [head, embeddings].some(({ name }) => pairs.has(name));
  if (!isFused && (await equalRows(head, embeddings))) {
    return { model: model.filter((tensor) => tensor !== head), isTied, warning: null };
  }
  const warning =
    `config.json ties ${HEAD} to ${EMBEDDINGS}, but the two differ in this ` +
    "checkpoint: both are kept, and tie_word_embeddings is written as false";
  return { model, isTied: false, warning };
}
