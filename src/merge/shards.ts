/**
 * Opens all ranks of a checkpoint, makes sure that they belong together, and lays out their
 * tensors.
 */
import { join } from "node:path";
import { CheckpointError, RlvrError } from "../core/errors.js";
import { readFully } from "../formats/read-fully.js";
import type { TorchDTensor, TorchTensor } from "../formats/torch-values.js";
import { OpaqueObject } from "../formats/torch-values.js";
import { openTorchFile, type TorchFile } from "../formats/torch.js";
import { layOutTensor, type MergedTensor, type Part } from "./layout.js";
import type { ShardFolder } from "./locate.js";
import { equalRows, mergedRows } from "./rows.js";

/** The open files of a checkpoint and the tensors in them. */
export interface OpenShards {
  files: TorchFile[];
  /** In the order of rank 0's state dict. */
  tensors: MergedTensor[];
  warnings: string[];
  close(): Promise<void>;
}

// Wrappers put their own word into parameter names; it is no part of the model's names.
const WRAPPERS = /(^|\.)(_fsdp_wrapped_module|_checkpoint_wrapped_module|_orig_mod)(?=\.)/g;

/**
 * Opens every rank and lays out every tensor.
 *
 * @throws {CheckpointError} if ranks differ in keys, shapes, step or in what must be equal copies.
 */
export async function openShards(folder: ShardFolder): Promise<OpenShards> {
  const files: TorchFile[] = [];
  const close = async () => {
    for (const file of files) await file.close();
  };
  try {
    for (const path of folder.shards) files.push(await openTorchFile(path));
    const warnings = await checkSteps(folder);
    const tensors = layOutAll(files);
    for (const tensor of tensors) await checkReplicas(files, tensor);
    return { files, tensors, warnings, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function layOutAll(files: TorchFile[]): MergedTensor[] {
  const dicts = files.map(stateDictOf);
  const names = [...dicts[0].keys()];
  for (const [rank, dict] of dicts.entries()) {
    const lacking = names.filter((name) => !dict.has(name));
    const extra = [...dict.keys()].filter((name) => !dicts[0].has(name));
    if (lacking.length + extra.length > 0) {
      throw new CheckpointError(
        `${files[rank].path}: expected the keys of rank 0, lacking ${lacking.length} ` +
          `(${lacking[0] ?? "none"}), extra ${extra.length} (${extra[0] ?? "none"}); ` +
          "the files are not of one checkpoint",
      );
    }
  }
  return names.map((name) =>
    layOutTensor(
      name,
      dicts.map((dict) => dict.get(name) as TorchTensor | TorchDTensor),
    ),
  );
}

function stateDictOf(file: TorchFile): Map<string, TorchTensor | TorchDTensor> {
  const dict = file.value;
  if (!(dict instanceof Map) || dict.size === 0) {
    throw new CheckpointError(`${file.path}: expected a state dict, found something else`);
  }
  const clean = new Map<string, TorchTensor | TorchDTensor>();
  for (const [name, value] of dict) {
    const kind = (value as TorchTensor | null)?.kind as string | undefined;
    if (typeof name !== "string" || (kind !== "tensor" && kind !== "dtensor")) {
      const what = typeof name === "string" ? name : "a key that is no text";
      throw new CheckpointError(`${file.path}: expected tensors only, found ${what}`);
    }
    clean.set(name.replace(WRAPPERS, "").replace(/^\./, ""), value as TorchTensor);
  }
  return clean;
}

/** Equal copies prove that the ranks were saved at one moment; different ones that they were not. */
async function checkReplicas(files: TorchFile[], tensor: MergedTensor): Promise<void> {
  for (const { of, copy } of tensor.replicas) {
    const [a, b] = [of.local.storage.entry, copy.local.storage.entry];
    const isWhole = [of, copy].every(
      ({ local, size }) => volume(size) === volume(local.shape) && local.offset === 0,
    );
    const sameLayout = of.local.stride.join() === copy.local.stride.join();
    if (isWhole && sameLayout && a.sizeBytes === b.sizeBytes && a.crc32 !== 0) {
      if (a.crc32 === b.crc32) continue;
    }
    const rowsOf = (part: Part) => {
      const alone = { ...part, start: part.start.map(() => 0) };
      return mergedRows(files, { ...tensor, shape: part.size, parts: [alone] }, null);
    };
    if (await equalRows(rowsOf(of), rowsOf(copy))) continue;
    throw new CheckpointError(
      `${tensor.name}: ranks ${of.rank} and ${copy.rank} must hold equal copies and differ; ` +
        "the shards are of different steps or runs",
    );
  }
}

const volume = (size: number[]) => size.reduce((a, b) => a * b, 1);

/** Compares the steps that the ranks' optimizer and scheduler files recorded. */
async function checkSteps(folder: ShardFolder): Promise<string[]> {
  const warnings: string[] = [];
  const readers = { extra_state: schedulerStep, optim: optimizerStep };
  for (const [kind, stepOf] of Object.entries(readers)) {
    const steps = new Map<number, number>();
    for (let rank = 0; rank < folder.worldSize; rank++) {
      const path = join(folder.dir, `${kind}_world_size_${folder.worldSize}_rank_${rank}.pt`);
      const step = await readStep(path, stepOf, warnings);
      if (step !== null) steps.set(rank, step);
    }
    const [first] = steps;
    const other = [...steps].find(([, step]) => step !== first[1]);
    if (other === undefined) continue;
    throw new CheckpointError(
      `${folder.dir}: shards of different steps are mixed: rank ${first[0]} was saved after ` +
        `${first[1]} updates, rank ${other[0]} after ${other[1]} (by their ${kind} files)`,
    );
  }
  return warnings;
}

async function readStep(
  path: string,
  stepOf: (file: TorchFile) => Promise<number | null>,
  warnings: string[],
): Promise<number | null> {
  let file: TorchFile;
  try {
    file = await openTorchFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    if (!(error instanceof RlvrError)) throw error;
    // These files are no part of the model; what cannot be read of them is told, not merged.
    warnings.push(`the step of this rank is not compared: ${error.message}`);
    return null;
  }
  try {
    return await stepOf(file);
  } finally {
    await file.close();
  }
}

async function schedulerStep(file: TorchFile): Promise<number | null> {
  const scheduler = asMap(asMap(file.value).get("lr_scheduler"));
  const step = scheduler.get("last_epoch") ?? scheduler.get("_step_count");
  return typeof step === "number" ? step : null;
}

async function optimizerStep(file: TorchFile): Promise<number | null> {
  const [first] = asMap(asMap(file.value).get("state")).values();
  const step = asMap(first).get("step");
  if (typeof step === "number") return step;
  const tensor = step as TorchTensor | undefined;
  if (tensor?.kind !== "tensor" || tensor.dtype !== "F32" || volume(tensor.shape) !== 1)
    return null;
  const bytes = Buffer.alloc(4);
  await readFully(file.handle, {
    path: file.path,
    offset: tensor.storage.entry.offset + tensor.offset * 4,
    bytes,
  });
  return bytes.readFloatLE();
}

function asMap(value: unknown): Map<unknown, unknown> {
  if (value instanceof OpaqueObject) return asMap(value.state);
  return value instanceof Map ? value : new Map<unknown, unknown>();
}
