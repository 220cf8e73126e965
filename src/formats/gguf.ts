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
      const header = parseHeader(new Cursor(bytes, path));
      if (header !== null) return header;
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
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer, path: string) {
    this.#bytes = bytes;
    this.path = path;
  }

  take(length: number): Buffer {
    if (this.at + length > this.#bytes.length) throw new EndOfBytes();
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }

  u32(): number {
    return this.take(4).readUInt32LE();
  }

  /** A 64-bit count, which must be a safe integer. */
  count(): number {
    const value = Number(this.take(8).readBigUInt64LE());
    if (Number.isSafeInteger(value)) return value;
    throw new DataError(`expected a count, found ${value}`, { path: this.path });
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
  const { path } = cursor;
  if (cursor.u32() !== MAGIC) throw new DataError("expected a GGUF file, found another", { path });
  const version = cursor.u32();
  if (version !== 2 && version !== 3) {
    const cure = version > 0xffff ? "; a big-endian file is not supported" : "";
    throw new DataError(`expected GGUF version 2 or 3, found ${version}${cure}`, { path });
  }
  const [tensorCount, pairCount] = [cursor.count(), cursor.count()];
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < pairCount; i++) {
    const key = cursor.text();
    metadata.set(key, readValue(cursor, cursor.u32()));
  }
  const described = Array.from({ length: tensorCount }, () => readTensorInfo(cursor));
  const alignment = Number(metadata.get("general.alignment") ?? DEFAULT_ALIGNMENT);
  const dataStart = Math.ceil(cursor.at / alignment) * alignment;
  const tensors = described.map((tensor) => ({ ...tensor, offset: dataStart + tensor.offset }));
  return {
    version,
    metadata,
    dataStart,
    tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])),
  };
}

function readTensorInfo(cursor: Cursor): GgufTensor {
  const name = cursor.text();
  const sizes = Array.from({ length: cursor.u32() }, () => cursor.count());
  const typeNumber = cursor.u32();
  const type =
    GGUF_TYPES.get(typeNumber)?.name ?? UNREAD_GGUF_TYPES.get(typeNumber) ?? `number ${typeNumber}`;
  return { name, type, typeNumber, shape: sizes.reverse(), offset: cursor.count() };
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

function readValue(cursor: Cursor, type: number): GgufValue {
  if (type === ARRAY) {
    const itemType = cursor.u32();
    return Array.from({ length: cursor.count() }, () => readValue(cursor, itemType));
  }
  const read = SCALARS[type];
  if (read === undefined) {
    throw new DataError(`expected a metadata type from 0 to 12, found ${type}`, {
      path: cursor.path,
    });
  }
  return read(cursor);
}
