/**
 * Writes tensors as safetensors files and proves that the files hold what was read.
 *
 * Places are planned first; then a few lanes copy tensors side by side, each through its own block
 * of memory, so that disks and checksums overlap and memory stays bounded. Every written range is
 * read back and compared by CRC-32.
 */
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { CheckpointError } from "../core/errors.js";
import { writeAtomic, writeFully } from "../core/write.js";
import type { OnProgress } from "../core/progress.js";
import { readFully } from "../formats/read-fully.js";
import {
  encodeSafetensorsHeader,
  type StoredTensor,
  tensorBytes,
} from "../formats/safetensors-header.js";
import type { WeightDtype } from "../formats/safetensors.js";
import type { TensorDtype } from "../formats/torch-values.js";
import { fromFloat32, inspect, isFloat, toFloat32 } from "./convert.js";
import { type NamedSource, rowBytes, rowCount, rowsPerBlock } from "./rows.js";

/** Element type of the written weights; `keep` leaves each tensor's own. */
export type DtypeChoice = "keep" | WeightDtype;

/** What was written. */
export interface WrittenModel {
  files: string[];
  tensors: WrittenTensor[];
  totalBytes: number;
  warnings: string[];
}

/** One written tensor with the checksum under which it was read back. */
export interface WrittenTensor {
  name: string;
  file: string;
  dtype: TensorDtype;
  shape: number[];
  /** CRC-32 of its bytes. */
  crc32: number;
}

/** How the weights are written. */
export interface WriteOptions {
  dir: string;
  /** Stem of the file names: `model` or `adapter_model`. */
  stem: string;
  dtype: DtypeChoice;
  maxShardBytes: number;
  signal: AbortSignal | null;
  onProgress: OnProgress | null;
}

// Four lanes keep two disks' queues full; a block is large enough that calls cost nothing.
const LANES = 4;
const BLOCK_BYTES = 4 * 2 ** 20;

interface PlannedTensor {
  source: NamedSource;
  stored: StoredTensor;
  file: string;
  crc: number;
}

/**
 * Writes all tensors, reads them back, and writes the index when there are several files.
 *
 * @throws {CheckpointError} if a tensor holds NaN, or a file does not hold what was written to it.
 */
export async function writeModel(
  sources: NamedSource[],
  options: WriteOptions,
): Promise<WrittenModel> {
  const plan = planFiles(sources, options);
  const totalBytes = plan.tensors.reduce((sum, { stored }) => sum + stored.sizeBytes, 0);
  // Every byte is written once and read back once.
  const onBytes = countProgress(options.stem, 2 * totalBytes, options.onProgress);
  const handles = new Map<string, FileHandle>();
  const warnings: string[] = [];
  try {
    for (const { name, header, fileBytes } of plan.files) {
      const handle = await open(join(options.dir, name), "wx+");
      handles.set(name, handle);
      await handle.truncate(fileBytes);
      await writeFully(handle, header, { path: join(options.dir, name), offset: 0 });
    }
    const handleOf = (tensor: PlannedTensor) => handles.get(tensor.file) as FileHandle;
    await inLanes(plan.tensors, async (tensor, buffer) => {
      await copyTensor(tensor, {
        handle: handleOf(tensor),
        buffer,
        options,
        warnings,
        onBytes,
      });
    });
    for (const handle of handles.values()) await handle.datasync();
    await inLanes(plan.tensors, async (tensor, buffer) => {
      const path = join(options.dir, tensor.file);
      await readBack(tensor, { handle: handleOf(tensor), path }, { buffer, options, onBytes });
    });
  } finally {
    for (const handle of handles.values()) await handle.close();
  }
  if (plan.files.length > 1) await writeIndex(plan.tensors, { options, totalBytes });
  const tensors = plan.tensors.map(({ stored, file, crc }) => ({
    name: stored.name,
    file,
    dtype: stored.dtype,
    shape: stored.shape,
    crc32: crc,
  }));
  return { files: plan.files.map(({ name }) => name), tensors, totalBytes, warnings };
}

function countProgress(label: string, total: number, onProgress: OnProgress | null) {
  let done = 0;
  return (bytes: number) => {
    done += bytes;
    onProgress?.({ label, done, total, unit: "bytes" });
  };
}

function planFiles(sources: NamedSource[], { stem, dtype, maxShardBytes }: WriteOptions) {
  const groups: NamedSource[][] = [[]];
  let filled = 0;
  const infoOf = (source: NamedSource) => ({
    name: source.name,
    dtype: dtype !== "keep" && isFloat(source.ownDtype) ? dtype : source.ownDtype,
    shape: source.shape,
  });
  for (const source of sources) {
    const bytes = tensorBytes(infoOf(source).dtype, source.shape);
    if (filled > 0 && filled + bytes > maxShardBytes) {
      groups.push([]);
      filled = 0;
    }
    groups[groups.length - 1].push(source);
    filled += bytes;
  }
  const number = (index: number) => String(index).padStart(5, "0");
  const nameOf = (index: number) =>
    groups.length === 1
      ? `${stem}.safetensors`
      : `${stem}-${number(index + 1)}-of-${number(groups.length)}.safetensors`;
  const tensors: PlannedTensor[] = [];
  const files = groups.map((group, index) => {
    // Loaders of transformers refuse files that do not say which framework's layout they hold.
    const { bytes, stored, fileBytes } = encodeSafetensorsHeader(group.map(infoOf), {
      format: "pt",
    });
    const name = nameOf(index);
    for (const [at, source] of group.entries()) {
      tensors.push({ source, stored: stored[at], file: name, crc: 0 });
    }
    return { name, header: bytes, fileBytes };
  });
  return { files, tensors };
}

/** The memory of one lane; a row wider than a block makes it grow. */
class LaneBuffer {
  #buffer = Buffer.alloc(0);

  take(bytes: number): Buffer {
    if (this.#buffer.length < bytes) this.#buffer = Buffer.alloc(bytes);
    return this.#buffer.subarray(0, bytes);
  }
}

async function inLanes(
  tensors: PlannedTensor[],
  work: (tensor: PlannedTensor, buffer: LaneBuffer) => Promise<void>,
): Promise<void> {
  let next = 0;
  let isFailed = false;
  const lane = async () => {
    const buffer = new LaneBuffer();
    while (next < tensors.length && !isFailed) await work(tensors[next++], buffer);
  };
  const lanes = Array.from({ length: LANES }, () =>
    lane().catch((error: unknown) => {
      isFailed = true;
      throw error;
    }),
  );
  const results = await Promise.allSettled(lanes);
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

async function copyTensor(
  tensor: PlannedTensor,
  the: {
    handle: FileHandle;
    buffer: LaneBuffer;
    options: WriteOptions;
    warnings: string[];
    onBytes: (bytes: number) => void;
  },
): Promise<void> {
  const { source, stored } = tensor;
  const rows = rowCount(source.shape);
  const [width, widthOut] = [source, stored].map(({ dtype, shape }) => rowBytes(dtype, shape));
  const perBlock = rowsPerBlock(Math.max(width, widthOut), BLOCK_BYTES);
  for (let first = 0; first < rows; first += perBlock) {
    the.options.signal?.throwIfAborted();
    const count = Math.min(perBlock, rows - first);
    const block = the.buffer.take(count * width);
    await source.read(first, count, block);
    const out =
      source.dtype === stored.dtype
        ? block
        : fromFloat32(toFloat32(block, source.dtype), stored.dtype as WeightDtype);
    const found = inspect(out, stored.dtype);
    if (found.nan) {
      throw new CheckpointError(
        `${source.name}: holds NaN in rows ${first} to ${first + count - 1}; the model is broken, ` +
          "merge an earlier step",
      );
    }
    if (found.infinite) the.warnings.push(`${source.name} holds infinite values`);
    tensor.crc = crc32(out, tensor.crc);
    const path = join(the.options.dir, tensor.file);
    await writeFully(the.handle, out, { path, offset: stored.offset + first * widthOut });
    the.onBytes(out.length);
  }
}

async function readBack(
  { stored, crc, file }: PlannedTensor,
  from: { handle: FileHandle; path: string },
  {
    buffer,
    options,
    onBytes,
  }: { buffer: LaneBuffer; options: WriteOptions; onBytes: (bytes: number) => void },
): Promise<void> {
  let found = 0;
  for (let at = 0; at < stored.sizeBytes; at += BLOCK_BYTES) {
    options.signal?.throwIfAborted();
    const block = buffer.take(Math.min(BLOCK_BYTES, stored.sizeBytes - at));
    await readFully(from.handle, { path: from.path, offset: stored.offset + at, bytes: block });
    found = crc32(block, found);
    onBytes(block.length);
  }
  if (found === crc) return;
  throw new CheckpointError(
    `${stored.name}: ${file} does not hold what was written to it; check the disk`,
  );
}

async function writeIndex(
  tensors: PlannedTensor[],
  { options, totalBytes }: { options: WriteOptions; totalBytes: number },
): Promise<void> {
  const index = {
    metadata: { total_size: totalBytes },
    weight_map: Object.fromEntries(tensors.map(({ stored, file }) => [stored.name, file])),
  };
  const path = join(options.dir, `${options.stem}.safetensors.index.json`);
  await writeAtomic(path, JSON.stringify(index, null, 2) + "\n");
}
