/**
 * Sources of rows: a tensor that can be read a block of rows at a time, wherever its bytes lie.
 *
 * A row is one index of the first dimension; a scalar is one row, and so is a tensor without
 * elements none. Merging, fusing, converting and comparing all work on blocks of rows, so memory is
 * bounded by the block, not by the tensor.
 */
import type { FileHandle } from "node:fs/promises";
import { CheckpointError } from "../core/errors.js";
import { readFully } from "../formats/read-fully.js";
import type { StoredTensor } from "../formats/safetensors-header.js";
import { DTYPE_BYTES, type TensorDtype, type TorchTensor } from "../formats/torch-values.js";
import type { TorchFile } from "../formats/torch.js";
import type { MergedTensor, Part } from "./layout.js";
import type { StorageCheck } from "./storage-check.js";

/** A tensor to be read in blocks of rows. */
export interface RowSource {
  dtype: TensorDtype;
  shape: number[];
  /** Fills `into` with `count` rows from row `first`, row-major, in `dtype`. */
  read(first: number, count: number, into: Buffer): Promise<void>;
}

/** A tensor under the name that it has in a model. */
export interface NamedSource extends RowSource {
  name: string;
  /** The type it is stored in unless another is asked for; reading may give a wider one. */
  ownDtype: TensorDtype;
}

// Only tensors saved transposed or with gaps need a span of their storage in memory at once.
const MAX_SPAN_BYTES = 2 ** 30;

/** Number of rows of a tensor of this shape. */
export function rowCount(shape: readonly number[]): number {
  return shape.includes(0) ? 0 : (shape[0] ?? 1);
}

/** Bytes of one row. */
export function rowBytes(dtype: TensorDtype, shape: readonly number[]): number {
  return shape.slice(1).reduce((product, size) => product * size, DTYPE_BYTES[dtype]);
}

// Tensors are compared in blocks of about this many bytes.
const BLOCK_BYTES = 4 * 2 ** 20;

/** Number of rows that make up a block of about `blockBytes`, at least one. */
export function rowsPerBlock(widthBytes: number, blockBytes = BLOCK_BYTES): number {
  return Math.max(1, Math.floor(blockBytes / Math.max(1, widthBytes)));
}

/** True when two tensors have one element type, one shape and the same bytes. */
export async function equalRows(a: RowSource, b: RowSource): Promise<boolean> {
  if (a.dtype !== b.dtype || a.shape.join() !== b.shape.join()) return false;
  const width = rowBytes(a.dtype, a.shape);
  const rows = rowCount(a.shape);
  const perBlock = Math.min(rows, rowsPerBlock(width));
  const [left, right] = [Buffer.alloc(perBlock * width), Buffer.alloc(perBlock * width)];
  for (let first = 0; first < rows; first += perBlock) {
    const count = Math.min(perBlock, rows - first);
    await a.read(first, count, left);
    await b.read(first, count, right);
    if (left.compare(right, 0, count * width, 0, count * width) !== 0) return false;
  }
  return true;
}

/** Reads a tensor of a safetensors file. */
export function storedRows(
  file: { handle: FileHandle; path: string },
  tensor: StoredTensor,
): RowSource {
  const bytes = rowBytes(tensor.dtype, tensor.shape);
  return {
    dtype: tensor.dtype,
    shape: tensor.shape,
    read: (first, count, into) =>
      readFully(file.handle, {
        path: file.path,
        offset: tensor.offset + first * bytes,
        bytes: into.subarray(0, count * bytes),
      }),
  };
}

/** Reads a tensor put together from the ranks' pieces. */
export function mergedRows(
  files: TorchFile[],
  tensor: MergedTensor,
  check: StorageCheck | null,
): RowSource {
  const { dtype, shape } = tensor;
  const width = rowBytes(dtype, shape);
  const read = async (first: number, count: number, into: Buffer) => {
    for (const part of tensor.parts) {
      const top = Math.max(first, part.start[0] ?? 0);
      const bottom = Math.min(first + count, (part.start[0] ?? 0) + (part.size[0] ?? 1));
      if (top >= bottom) continue;
      const file = files[part.rank];
      const target = into.subarray((top - first) * width, (bottom - first) * width);
      const rows = { first: top - (part.start[0] ?? 0), count: bottom - top };
      if (isWholeRows(part, shape)) await readWholeRows({ file, part, rows, target, check });
      else await readBox({ file, part, rows, target, shape });
    }
  };
  return { dtype, shape, read };
}

/** True when the piece spans all columns and its rows follow one another in its storage. */
function isWholeRows({ local, size }: Part, shape: number[]): boolean {
  if (size.some((n, dim) => dim > 0 && (n !== shape[dim] || n !== local.shape[dim]))) return false;
  let expected = 1;
  for (let dim = local.shape.length - 1; dim >= 0; dim--) {
    if (local.shape[dim] !== 1 && local.stride[dim] !== expected) return false;
    expected *= local.shape[dim];
  }
  return true;
}

interface RowRange {
  /** Rows of the local tensor. */
  first: number;
  count: number;
}

async function readWholeRows(the: {
  file: TorchFile;
  part: Part;
  rows: RowRange;
  target: Buffer;
  check: StorageCheck | null;
}): Promise<void> {
  const { local } = the.part;
  const start =
    local.offset * DTYPE_BYTES[local.dtype] + the.rows.first * (the.target.length / the.rows.count);
  await readFully(the.file.handle, {
    path: the.file.path,
    offset: local.storage.entry.offset + start,
    bytes: the.target,
  });
  the.check?.saw(the.file, local.storage, { start, bytes: the.target });
}

/** Gathers a box run by run: pieces cut along columns, and unusual strides. */
async function readBox(the: {
  file: TorchFile;
  part: Part;
  rows: RowRange;
  target: Buffer;
  shape: number[];
}): Promise<void> {
  const { part, rows, target, shape } = the;
  const { local } = part;
  const item = DTYPE_BYTES[local.dtype];
  const size = [rows.count, ...part.size.slice(1)];
  const from = local.offset + rows.first * (local.stride[0] ?? 0);
  const span = await readSpan(the.file, local, { from, size });
  // Elements of the whole between two neighbours along each dimension.
  const step = shape.map((_, dim) => shape.slice(dim + 1).reduce((a, b) => a * b, 1));
  const copy = (dim: number, source: number, to: number) => {
    const isRun = dim === size.length - 1 && local.stride[dim] === 1;
    if (isRun || dim === size.length) {
      const count = isRun ? size[dim] : 1;
      span.copy(target, to * item, source * item, (source + count) * item);
      return;
    }
    for (let i = 0; i < size[dim]; i++) {
      copy(dim + 1, source + i * local.stride[dim], to + i * step[dim]);
    }
  };
  const columns = part.start.slice(1).reduce((sum, at, index) => sum + at * step[index + 1], 0);
  copy(0, 0, columns);
}

async function readSpan(
  file: TorchFile,
  local: TorchTensor,
  { from, size }: { from: number; size: number[] },
): Promise<Buffer> {
  const item = DTYPE_BYTES[local.dtype];
  const last = size.reduce((sum, n, dim) => sum + (n - 1) * local.stride[dim], 0);
  const bytes = (last + 1) * item;
  if (bytes > MAX_SPAN_BYTES) {
    throw new CheckpointError(
      `${file.path}: a tensor of shape [${local.shape}] and stride [${local.stride}] needs ` +
        `${bytes} bytes at once, over the limit of ${MAX_SPAN_BYTES}`,
    );
  }
  const span = Buffer.allocUnsafe(bytes);
  await readFully(file.handle, {
    path: file.path,
    offset: local.storage.entry.offset + from * item,
    bytes: span,
  });
  return span;
}
