/** Opens what is to be merged: its tensors by rows, its config, and what is known of its adapter. */
import { CheckpointError } from "../core/errors.js";
import type { AdapterConfig } from "../model/adapter-config.js";
import type { HuggingFaceConfig } from "./expected.js";
import { locateCheckpoint, type ModelFolder, type ShardFolder } from "./locate.js";
import { replaceTrained, splitAdapter, type SplitCheckpoint } from "./lora.js";
import { openModel, readConfig } from "./model-folder.js";
import { mergedRows, type NamedSource } from "./rows.js";
import { planSidecars, type Sidecars } from "./sidecars.js";
import { openShards } from "./shards.js";
import { StorageCheck } from "./storage-check.js";

/** An opened checkpoint. Close it when its tensors have been read. */
export interface MergeInput {
  split: SplitCheckpoint;
  config: HuggingFaceConfig;
  /** Tokenizer, generation config and the like. */
  sidecars: Sidecars;
  lora: AdapterConfig | null;
  worldSize: number;
  warnings: string[];
  /** Compares what was read with recorded checksums; answers how many storages were compared. */
  finishChecks(): Promise<number>;
  close(): Promise<void>;
}

/**
 * Opens a checkpoint; `base` fills in the config, tokenizer and weights that it lacks.
 *
 * @throws {CheckpointError} if it is incomplete or inconsistent.
 */
export async function openInput(checkpoint: string, base: string | null): Promise<MergeInput> {
  const folder = await locateCheckpoint(checkpoint);
  const { config, huggingface: whole } = await findConfig(folder, base);
  const own = folder.huggingface ?? folder.dir;
  const sidecars = await planSidecars({ base, own, whole });
  const opened = folder.kind === "shards" ? await openRanks(folder) : await openFiles(folder);
  try {
    const split = splitAdapter(opened.tensors);
    const isAdapterOnly =
      split.base.length === 0 || (folder.kind === "model" && !folder.hasWeights);
    if (isAdapterOnly) {
      if (base === null) {
        throw new CheckpointError(
          `${checkpoint}: holds an adapter only; pass --base with the model it was trained on`,
        );
      }
      const below = await openModel(base);
      opened.closers.push(below.close);
      split.base = replaceTrained(below.tensors, {
        trained: split.base,
        isTied: config.tie_word_embeddings === true,
      });
    }
    return {
      split,
      config,
      sidecars,
      lora: folder.lora,
      worldSize: folder.kind === "shards" ? folder.worldSize : 1,
      warnings: opened.warnings,
      finishChecks: opened.finishChecks,
      close: () => closeAll(opened),
    };
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

async function findConfig(folder: ShardFolder | ModelFolder, base: string | null) {
  const huggingface = folder.huggingface ?? base;
  const config = huggingface === null ? null : await readConfig(huggingface);
  if (huggingface !== null && config !== null) return { huggingface, config };
  throw new CheckpointError(
    `${folder.dir}: expected the model's config.json (in ${huggingface ?? "huggingface/"}), found ` +
      "none; pass --base with the model directory that training started from",
  );
}

interface OpenTensors {
  tensors: NamedSource[];
  warnings: string[];
  finishChecks(): Promise<number>;
  closers: (() => Promise<void>)[];
}

async function closeAll({ closers }: OpenTensors): Promise<void> {
  for (const close of closers) await close();
}

async function openRanks(folder: ShardFolder): Promise<OpenTensors> {
  const { files, tensors, warnings, close } = await openShards(folder);
  const check = new StorageCheck();
  return {
    tensors: tensors.map((tensor) => ({
      name: tensor.name,
      ownDtype: tensor.dtype,
      ...mergedRows(files, tensor, check),
    })),
    warnings,
    finishChecks: () => check.finish(),
    closers: [close],
  };
}

async function openFiles(folder: ModelFolder): Promise<OpenTensors> {
  const opened: OpenTensors = {
    tensors: [],
    warnings: [],
    finishChecks: async () => 0,
    closers: [],
  };
  const stems = [folder.hasWeights && "model", folder.hasAdapter && "adapter_model"];
  for (const stem of stems) {
    if (stem === false) continue;
    const { tensors, close } = await openModel(folder.dir, stem);
    opened.tensors.push(...tensors);
    opened.closers.push(close);
  }
  return opened;
}
