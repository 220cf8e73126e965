/**
 * The header of a safetensors file: which tensor lies where.
 *
 * A file is the header's length (8 bytes), the header (JSON), and the tensors' bytes, which must
 * cover the rest exactly, without holes or overlaps. Only the header is held in memory; tensors are
 * ranges of the file.
 *
 * Source: https://github.com/huggingface/safetensors, README "Format".
 */
import { type FileHandle, open } from "node:fs/promises";
import { DataError } from "../core/errors.js";
import { DTYPE_BYTES, type TensorDtype } from "./torch-values.js";

/** A tensor's name, element type and shape. */
export interface TensorInfo {
  name: string;
  dtype: TensorDtype;
  shape: number[];
}

/** A tensor of a file: a range of its bytes. */
export interface StoredTensor extends TensorInfo {
  /** Where its bytes start in the file. */
  offset: number;
  sizeBytes: number;
}

/** What a header says. */
export interface SafetensorsHeader {
  tensors: Map<string, StoredTensor>;
  metadata: Record<string, string>;
}

// The limit of the reference implementation.
const MAX_HEADER_BYTES = 100_000_000;
const LENGTH_BYTES = 8;

/** Bytes of a tensor with this element type and shape. */
export function tensorBytes(dtype: TensorDtype, shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, DTYPE_BYTES[dtype]);
}

/**
 * Lays tensors out one after the other and answers the bytes that open the file, with each tensor's
 * place in it.
 */
export function encodeSafetensorsHeader(
  tensors: TensorInfo[],
  metadata: Record<string, string>,
): { bytes: Buffer; stored: StoredTensor[]; fileBytes: number } {
  const header: Record<string, unknown> = { __metadata__: metadata };
  let end = 0;
  const placed = tensors.map(({ name, dtype, shape }) => {
    const sizeBytes = tensorBytes(dtype, shape);
    header[name] = { dtype, shape, data_offsets: [end, end + sizeBytes] };
    end += sizeBytes;
    return { name, dtype, shape, offset: end - sizeBytes, sizeBytes };
  });
  const json = Buffer.from(JSON.stringify(header));
  // Padding with blanks keeps the data aligned to 8 bytes, as the reference writer does.
  const bytes = Buffer.alloc(LENGTH_BYTES + Math.ceil(json.length / 8) * 8, " ");
  bytes.writeBigUInt64LE(BigInt(bytes.length - LENGTH_BYTES));
  json.copy(bytes, LENGTH_BYTES);
  const stored = placed.map((tensor) => ({ ...tensor, offset: tensor.offset + bytes.length }));
  return { bytes, stored, fileBytes: bytes.length + end };
}

/**
 * Reads the header of a file and checks every range against the file's size.
 *
 * @throws {DataError} if the file is cut short or its header breaks the format.
 */
export async function readSafetensorsHeader(path: string): Promise<SafetensorsHeader> {
  const file = await open(path, "r");
  try {
    return await readHeader(file, path);
  } finally {
    await file.close();
  }
}

async function readHeader(file: FileHandle, path: string): Promise<SafetensorsHeader> {
  const fail: Fail = (message) => {
    throw new DataError(message, { path });
  };
  const { size } = await file.stat();
  const length = Buffer.alloc(LENGTH_BYTES);
  const { bytesRead } = await file.read(length, 0, LENGTH_BYTES, 0);
  if (bytesRead < LENGTH_BYTES) return fail(`expected a safetensors file, found ${size} bytes`);
  const headerBytes = Number(length.readBigUInt64LE());
  if (headerBytes > MAX_HEADER_BYTES || headerBytes + LENGTH_BYTES > size) {
    return fail(`the header claims ${headerBytes} bytes in a file of ${size}; it is cut short`);
  }
  const json = Buffer.alloc(headerBytes);
  await file.read(json, 0, headerBytes, LENGTH_BYTES);
  const header = parseHeader(json, LENGTH_BYTES + headerBytes, fail);
  const ends = [...header.tensors.values()].reduce((sum, tensor) => sum + tensor.sizeBytes, 0);
  const expected = LENGTH_BYTES + headerBytes + ends;
  if (expected !== size) {
    fail(`the header describes a file of ${expected} bytes, found ${size}`);
  }
  return header;
}

type Fail = (message: string) => never;

function parseHeader(json: Buffer, dataStart: number, fail: Fail): SafetensorsHeader {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(json));
  } catch {
    return fail("the header is not JSON");
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    return fail("the header is not an object");
  }
  const { __metadata__: metadata = {}, ...entries } = parsed as Record<string, unknown>;
  const tensors = Object.entries(entries).map(([name, entry]) =>
    parseTensor(name, entry, { dataStart, fail }),
  );
  tensors.sort((a, b) => a.offset - b.offset || a.sizeBytes - b.sizeBytes);
  let end = dataStart;
  for (const tensor of tensors) {
    if (tensor.offset !== end) fail(`tensor ${tensor.name} leaves a hole or overlaps another`);
    end += tensor.sizeBytes;
  }
  return {
    tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])),
    metadata: metadata as Record<string, string>,
  };
}

function parseTensor(
  name: string,
  entry: unknown,
  { dataStart, fail }: { dataStart: number; fail: Fail },
): StoredTensor {
  const { dtype, shape, data_offsets: offsets } = Object(entry) as Record<string, unknown>;
  if (typeof dtype !== "string" || !Object.hasOwn(DTYPE_BYTES, dtype)) {
    const found = typeof dtype === "string" ? dtype : typeof dtype;
    return fail(`tensor ${name} has the element type ${found}, which is not known`);
  }
  const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
  if (!Array.isArray(shape) || !shape.every(isCount)) return fail(`tensor ${name} has no shape`);
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) {
    return fail(`tensor ${name} has no data_offsets`);
  }
  const [start, end] = offsets as number[];
  const sizeBytes = tensorBytes(dtype as TensorDtype, shape as number[]);
  if (end - start !== sizeBytes) {
    return fail(`tensor ${name} needs ${sizeBytes} bytes and has ${end - start}`);
  }
  return {
    name,
    dtype: dtype as TensorDtype,
    shape: shape as number[],
    offset: dataStart + start,
    sizeBytes,
  };
}
