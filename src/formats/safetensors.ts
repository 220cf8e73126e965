/**
 * Safetensors files as float32 arrays: reading into memory that is already there, and writing.
 *
 * A tensor of another floating type is widened when it is read and rounded to nearest, ties to even,
 * when it is written.
 */
import { open, rename, rm } from "node:fs/promises";
import { DataError } from "../core/errors.js";
import { cannotWrite, writeFully } from "../core/write.js";
import { readFully } from "./read-fully.js";
import type { TensorDtype } from "./torch-values.js";
import { encodeSafetensorsHeader, type StoredTensor } from "./safetensors-header.js";

/** Element types in which weights are written. */
export type WeightDtype = "F32" | "BF16" | "F16";

/** A tensor to be written. */
export interface WeightTensor {
  name: string;
  shape: readonly number[];
  data: Float32Array;
}

/** Widens the upper halves of float32 values (bfloat16). */
export function bfloat16ToFloat32(source: Uint16Array, target: Float32Array): void {
  const bits = new Uint32Array(target.buffer, target.byteOffset, target.length);
  for (let i = 0; i < bits.length; i++) bits[i] = source[i] << 16;
}

/** Widens IEEE half-precision values. */
export function float16ToFloat32(source: Uint16Array, target: Float32Array): void {
  for (let i = 0; i < target.length; i++) target[i] = halfToFloat(source[i]);
}

/** The value of one IEEE half-precision number. */
export function halfToFloat(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Rounds float32 to the 16 bits of `dtype`. */
export function narrowFloat32(source: Float32Array, dtype: "BF16" | "F16"): Uint16Array {
  const bits = new Uint32Array(source.buffer, source.byteOffset, source.length);
  const target = new Uint16Array(source.length);
  const narrow = dtype === "BF16" ? bitsToBfloat16 : bitsToFloat16;
  for (let i = 0; i < bits.length; i++) target[i] = narrow(bits[i]);
  return target;
}

function bitsToBfloat16(bits: number): number {
  // NaN keeps a set fraction bit; rounding could carry it into infinity.
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

function bitsToFloat16(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 127;
  const fraction = bits & 0x7fffff;
  if (exponent === 128) return sign | 0x7c00 | (fraction === 0 ? 0 : 0x200);
  if (exponent > 15) return sign | 0x7c00;
  if (exponent < -25) return sign;
  if (exponent < -14) {
    // Subnormal: the fraction with its leading one, shifted to units of 2^-24.
    return sign | roundShift(fraction | 0x800000, -exponent - 1);
  }
  // A carry out of the fraction raises the exponent, up to infinity, as it must.
  return sign | (((exponent + 15) << 10) + roundShift(fraction, 13));
}

/** value >> shift, rounded to nearest, ties to even. */
function roundShift(value: number, shift: number): number {
  const half = 2 ** (shift - 1);
  const low = value % 2 ** shift;
  const high = Math.floor(value / 2 ** shift);
  return low > half || (low === half && high % 2 === 1) ? high + 1 : high;
}

/**
 * Reads tensors of one file, each into the float32 array given for it.
 *
 * @throws {DataError} if a tensor's element type is not F32, F16 or BF16, or the file is cut short.
 */
export async function readFloatTensors(
  path: string,
  wanted: readonly { tensor: StoredTensor; target: Float32Array }[],
): Promise<void> {
  const file = await open(path, "r");
  try {
    for (const { tensor, target } of wanted) {
      const { offset, sizeBytes, dtype, name } = tensor;
      if (dtype === "F32") {
        const bytes = Buffer.from(target.buffer, target.byteOffset, target.byteLength);
        await readFully(file, { path, offset, bytes });
      } else if (dtype === "BF16" || dtype === "F16") {
        const bytes = Buffer.from(new ArrayBuffer(sizeBytes));
        await readFully(file, { path, offset, bytes });
        const halves = new Uint16Array(bytes.buffer, 0, target.length);
        if (dtype === "BF16") bfloat16ToFloat32(halves, target);
        else float16ToFloat32(halves, target);
      } else {
        throw new DataError(`tensor ${name} has type ${dtype}; expected F32, F16 or BF16`, {
          path,
        });
      }
    }
  } finally {
    await file.close();
  }
}

/** Element types that JavaScript numbers hold, with the bytes and the reader of one element. */
const READERS: Partial<Record<TensorDtype, (bytes: DataView, at: number) => number>> = {
  F64: (bytes, at) => bytes.getFloat64(8 * at, true),
  F32: (bytes, at) => bytes.getFloat32(4 * at, true),
  F16: (bytes, at) => halfToFloat(bytes.getUint16(2 * at, true)),
  BF16: (bytes, at) => {
    const bits = new DataView(new ArrayBuffer(4));
    bits.setUint32(0, bytes.getUint16(2 * at, true) << 16);
    return bits.getFloat32(0);
  },
  I32: (bytes, at) => bytes.getInt32(4 * at, true),
  I16: (bytes, at) => bytes.getInt16(2 * at, true),
  I8: (bytes, at) => bytes.getInt8(at),
  U32: (bytes, at) => bytes.getUint32(4 * at, true),
  U16: (bytes, at) => bytes.getUint16(2 * at, true),
  U8: (bytes, at) => bytes.getUint8(at),
  BOOL: (bytes, at) => bytes.getUint8(at),
};

/**
 * Reads one tensor of any type that numbers hold exactly; nothing is assumed about its alignment.
 *
 * @throws {DataError} if its type is another, or the file is cut short.
 */
export async function readTensorValues(path: string, tensor: StoredTensor): Promise<Float64Array> {
  const read = READERS[tensor.dtype];
  if (read === undefined) {
    throw new DataError(`tensor ${tensor.name} has type ${tensor.dtype}, which is not read`, {
      path,
    });
  }
  const bytes = Buffer.alloc(tensor.sizeBytes);
  const file = await open(path, "r");
  try {
    await readFully(file, { path, offset: tensor.offset, bytes });
  } finally {
    await file.close();
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = tensor.shape.reduce((product, length) => product * length, 1);
  return Float64Array.from({ length: size }, (_, at) => read(view, at));
}

/**
 * Writes tensors in their order; the file appears whole or not at all.
 *
 * @throws {DataError} if the disk is full or fails.
 */
export async function writeFloatTensors(
  path: string,
  tensors: readonly WeightTensor[],
  { dtype, metadata = {} }: { dtype: WeightDtype; metadata?: Record<string, string> },
): Promise<void> {
  const infos = tensors.map(({ name, shape }) => ({ name, dtype, shape: [...shape] }));
  const { bytes } = encodeSafetensorsHeader(infos, metadata);
  const partial = `${path}.partial`;
  try {
    const file = await open(partial, "w");
    try {
      await writeFully(file, bytes, { path });
      for (const { data } of tensors) {
        const stored = dtype === "F32" ? data : narrowFloat32(data, dtype);
        const view = new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength);
        await writeFully(file, view, { path });
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
  } catch (cause) {
    await rm(partial, { force: true });
    throw cannotWrite(path, cause);
  }
}
