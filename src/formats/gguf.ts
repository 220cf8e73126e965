/**
 * GGUF files (llama.cpp's format): metadata, and tensors widened to float32.
 *
 * A file is a magic word, a version, two counts, key-value pairs, tensor descriptions, padding to the
 * alignment, and the tensors. A tensor's sizes are stored fastest first; here they are row-major.
 * Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
import { type FileHandle, open } from "node:fs/promises";
import { DataError } from "../core/errors.js";
import { GGUF_TYPES, UNREAD_GGUF_TYPES } from "./gguf-blocks.js";
import { readFully } from "./read-fully.js";

/** A metadata value; 64-bit integers that a number cannot hold exactly stay bigint. */
export type GgufValue = string | number | bigint | boolean | GgufValue[];

/** A tensor as the header describes it. */
export interface GgufTensor {
  name: string;
  /** Name of the element type, e.g. `Q4_K`. */
  type: string;
  typeNumber: number;
  /** Row-major sizes. */
  shape: number[];
  /** Where its bytes start in the file. */
  offset: number;
}

/** What stands before the tensors' bytes. */
export interface GgufHeader {
  version: number;
  metadata: Map<string, GgufValue>;
  tensors: Map<string, GgufTensor>;
  /** Where the first tensor may start. */
  dataStart: number;
}

const MAGIC = 0x46554747;
const DEFAULT_ALIGNMENT = 32;
const FIRST_READ_BYTES = 1 << 20;
// The widest vocabularies take some 20 MB; a broken length must not read a whole model.
const MAX_HEADER_BYTES = 2 ** 28;
// Lists of lists are allowed and not used; every level of one is a call here.
const MAX_DEPTH = 8;
// ggml's own limit is 4.
const MAX_DIMENSIONS = 8;
const MAX_ALIGNMENT = 2 ** 20;

/**
 * Reads the header of a file.
 *
 * @throws {DataError} if it is no GGUF file of version 2 or 3, or is cut short.
 */
export async function readGgufHeader(path: string): Promise<GgufHeader> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    // The header's length is not stored, so more is read until it parses.
    for (let length = Math.min(size, FIRST_READ_BYTES); ; length = Math.min(size, length * 4)) {
      const bytes = Buffer.alloc(length);
      await readFully(file, { path, offset: 0, bytes });
      const header = parseHeader(new Cursor(bytes, { path, fileBytes: size }));
      if (header !== null) return header;
      if (length > MAX_HEADER_BYTES) {
        throw new DataError(`the header is over the limit of ${MAX_HEADER_BYTES} bytes`, { path });
      }
      if (length === size) {
        throw new DataError(`expected more header, found the end; the file is cut short`, { path });
      }
    }
  } finally {
    await file.close();
  }
}

/**
 * Reads tensors of a file, each into the float32 array given for it.
 *
 * @throws {DataError} if an element type is not read here, or the file is cut short.
 */
export async function readGgufTensors(
  path: string,
  wanted: readonly { tensor: GgufTensor; target: Float32Array }[],
): Promise<void> {
  const file = await open(path, "r");
  try {
    for (const { tensor, target } of wanted) await readTensor(file, { path, tensor, target });
  } finally {
    await file.close();
  }
}

async function readTensor(
  file: FileHandle,
  { path, tensor, target }: { path: string; tensor: GgufTensor; target: Float32Array },
): Promise<void> {
  const type = GGUF_TYPES.get(tensor.typeNumber);
  if (type === undefined) {
    const readable = [...GGUF_TYPES.values()].map(({ name }) => name).join(", ");
    throw new DataError(
      `tensor ${tensor.name} has the type ${tensor.type}, which is not supported (expected ${readable})`,
      { path },
    );
  }
  if (target.length % type.blockSize !== 0) {
    throw new DataError(
      `tensor ${tensor.name} has ${target.length} elements, not whole blocks of ${type.blockSize}`,
      { path },
    );
  }
  const bytes = Buffer.alloc((target.length / type.blockSize) * type.blockBytes);
  await readFully(file, { path, offset: tensor.offset, bytes });
  type.widen(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), target);
}

/** Thrown inside this file when the bytes read so far end too early. */
class EndOfBytes extends Error {}

/** Reads little-endian values one after the other. */
class Cursor {
  readonly path: string;
  readonly fileBytes: number;
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer, { path, fileBytes }: { path: string; fileBytes: number }) {
    this.#bytes = bytes;
    this.path = path;
    this.fileBytes = fileBytes;
  }

  fail(message: string): never {
    throw new DataError(message, { path: this.path });
  }

  take(length: number): Buffer {
    if (this.at + length > this.#bytes.length) throw new EndOfBytes();
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }

  u32(): number {
    return this.take(4).readUInt32LE();
  }

  /** A 64-bit number, which must be a safe integer. */
  u64(): number {
    const value = Number(this.take(8).readBigUInt64LE());
    return Number.isSafeInteger(value) ? value : this.fail(`expected a count, found ${value}`);
  }

  /** The number of things that follow, each of at least one byte. */
  count(): number {
    const value = this.u64();
    const left = this.fileBytes - this.at;
    return value <= left ? value : this.fail(`a count of ${value} stands before ${left} bytes`);
  }

  text(): string {
    return this.take(this.count()).toString("utf8");
  }
}

/** Null when the bytes end inside the header. */
function parseHeader(cursor: Cursor): GgufHeader | null {
  try {
    return parseWholeHeader(cursor);
  } catch (error) {
    if (error instanceof EndOfBytes) return null;
    throw error;
  }
}

function parseWholeHeader(cursor: Cursor): GgufHeader {
  if (cursor.u32() !== MAGIC) cursor.fail("expected a GGUF file, found another");
  const version = cursor.u32();
  if (version !== 2 && version !== 3) {
    const cure = version > 0xffff ? "; a big-endian file is not supported" : "";
    cursor.fail(`expected GGUF version 2 or 3, found ${version}${cure}`);
  }
  const [tensorCount, pairCount] = [cursor.count(), cursor.count()];
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < pairCount; i++) {
    const key = cursor.text();
    metadata.set(key, readValue(cursor, cursor.u32(), 0));
  }
  const described = readList(tensorCount, () => readTensorInfo(cursor));
  const alignment = metadata.get("general.alignment") ?? DEFAULT_ALIGNMENT;
  if (typeof alignment !== "number" || !(alignment >= 1 && alignment <= MAX_ALIGNMENT)) {
    return cursor.fail(`expected general.alignment from 1 to ${MAX_ALIGNMENT}`);
  }
  const dataStart = Math.ceil(cursor.at / alignment) * alignment;
  const tensors = described.map((tensor) => ({ ...tensor, offset: dataStart + tensor.offset }));
  checkSizes(tensors, cursor);
  return {
    version,
    metadata,
    dataStart,
    tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])),
  };
}

/** Tensors take their bytes from the file once each, so what is made of them is bounded by it. */
function checkSizes(tensors: readonly GgufTensor[], cursor: Cursor): void {
  let total = 0;
  for (const { name, typeNumber, shape, offset } of tensors) {
    const elements = shape.reduce((product, size) => product * size, 1);
    const { blockSize, blockBytes } = GGUF_TYPES.get(typeNumber) ?? UNREAD_SIZE;
    const bytes = Math.ceil(elements / blockSize) * blockBytes;
    total += bytes;
    if (offset + bytes > cursor.fileBytes || total > cursor.fileBytes) {
      cursor.fail(
        `tensor ${name} of [${shape.join(", ")}] takes ${bytes} bytes at ${offset}, ` +
          `the file has ${cursor.fileBytes}; it is cut short`,
      );
    }
  }
}

/** Types that are not read are refused by name when they are asked for. */
const UNREAD_SIZE = { blockSize: 1, blockBytes: 0 };

function readTensorInfo(cursor: Cursor): GgufTensor {
  const name = cursor.text();
  const dimensions = cursor.u32();
  if (dimensions > MAX_DIMENSIONS) cursor.fail(`tensor ${name} has ${dimensions} dimensions`);
  const sizes = readList(dimensions, () => cursor.u64());
  const typeNumber = cursor.u32();
  const type =
    GGUF_TYPES.get(typeNumber)?.name ?? UNREAD_GGUF_TYPES.get(typeNumber) ?? `number ${typeNumber}`;
  return { name, type, typeNumber, shape: sizes.reverse(), offset: cursor.u64() };
}

const exact = (value: bigint) => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

/** Readers of scalar metadata by gguf_metadata_value_type. */
const SCALARS: Record<number, (cursor: Cursor) => GgufValue> = {
  0: (cursor) => cursor.take(1).readUInt8(),
  1: (cursor) => cursor.take(1).readInt8(),
  2: (cursor) => cursor.take(2).readUInt16LE(),
  3: (cursor) => cursor.take(2).readInt16LE(),
  4: (cursor) => cursor.u32(),
  5: (cursor) => cursor.take(4).readInt32LE(),
  6: (cursor) => cursor.take(4).readFloatLE(),
  7: (cursor) => cursor.take(1).readUInt8() !== 0,
  8: (cursor) => cursor.text(),
  10: (cursor) => exact(cursor.take(8).readBigUInt64LE()),
  11: (cursor) => exact(cursor.take(8).readBigInt64LE()),
  12: (cursor) => cursor.take(8).readDoubleLE(),
};
const ARRAY = 9;

function readValue(cursor: Cursor, type: number, depth: number): GgufValue {
  if (type === ARRAY) {
    if (depth === MAX_DEPTH) cursor.fail(`metadata lists are nested more than ${MAX_DEPTH} deep`);
    const itemType = cursor.u32();
    return readList(cursor.count(), () => readValue(cursor, itemType, depth + 1));
  }
  const read = SCALARS[type];
  return read === undefined
    ? cursor.fail(`expected a metadata type from 0 to 12, found ${type}`)
    : read(cursor);
}

/** Grows as it reads: a count that the bytes do not bear out takes no memory. */
function readList<T>(count: number, read: () => T): T[] {
  const items: T[] = [];
  for (let i = 0; i < count; i++) items.push(read());
  return items;
}
