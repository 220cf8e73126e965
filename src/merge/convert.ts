/**
 * Element types converted and inspected, a block at a time.
 *
 * Narrowing rounds to nearest, ties to even, as torch does. NaN and infinity are looked for in the
 * written type, where an overflow of float16 also shows.
 */
import { CheckpointError } from "../core/errors.js";
import {
  bfloat16ToFloat32,
  float16ToFloat32,
  narrowFloat32,
  type WeightDtype,
} from "../formats/safetensors.js";
import type { TensorDtype } from "../formats/torch-values.js";

/** True for the types that conversion applies to; integers and booleans are never converted. */
export function isFloat(dtype: TensorDtype): dtype is WeightDtype | "F64" {
  return dtype === "F32" || dtype === "F16" || dtype === "BF16" || dtype === "F64";
}

/** Reads a block as float32, into `out` if it is given; the answer may share the block's memory. */
export function toFloat32(block: Buffer, dtype: TensorDtype, out?: Float32Array): Float32Array {
  if (dtype === "F32" && out === undefined) return viewOf(block, Float32Array);
  if (dtype === "F32" || dtype === "F64") {
    const values = dtype === "F32" ? viewOf(block, Float32Array) : viewOf(block, Float64Array);
    const target = out ?? new Float32Array(values.length);
    target.set(values);
    return target;
  }
  if (!isFloat(dtype)) throw new CheckpointError(`element type ${dtype} is no floating type`);
  const halves = viewOf(block, Uint16Array);
  const target = out ?? new Float32Array(halves.length);
  (dtype === "F16" ? float16ToFloat32 : bfloat16ToFloat32)(halves, target);
  return target;
}

/** Float32 values as the bytes of `dtype`; float32 itself shares the memory of `values`. */
export function fromFloat32(values: Float32Array, dtype: WeightDtype): Buffer {
  const narrow = dtype === "F32" ? values : narrowFloat32(values, dtype);
  return Buffer.from(narrow.buffer, narrow.byteOffset, narrow.byteLength);
}

/** What a block holds beside finite numbers. */
export interface Inspection {
  nan: boolean;
  infinite: boolean;
}

/** Looks for NaN and infinity in a block of any element type. */
export function inspect(block: Buffer, dtype: TensorDtype): Inspection {
  if (dtype === "F32") return inspectBits(viewOf(block, Uint32Array), 0x7f800000);
  if (dtype === "BF16") return inspectBits(viewOf(block, Uint16Array), 0x7f80);
  if (dtype === "F16") return inspectBits(viewOf(block, Uint16Array), 0x7c00);
  if (dtype !== "F64") return { nan: false, infinite: false };
  const values = viewOf(block, Float64Array);
  return {
    nan: values.some((value) => Number.isNaN(value)),
    infinite: values.some((value) => Math.abs(value) === Infinity),
  };
}

/** A number is not finite when all bits of its exponent are set; NaN when more than those are. */
function inspectBits(bits: Uint32Array | Uint16Array, exponent: number): Inspection {
  const mantissa = (exponent & -exponent) - 1;
  const found = { nan: false, infinite: false };
  // Every number of a model comes through here, and a callback for each would cost more.
  for (let i = 0; i < bits.length; i++) {
    if ((bits[i] & exponent) !== exponent) continue;
    if ((bits[i] & mantissa) === 0) found.infinite = true;
    else found.nan = true;
  }
  return found;
}

type ViewType<T> = {
  new (buffer: ArrayBufferLike, offset: number, length: number): T;
  BYTES_PER_ELEMENT: number;
};

/** Blocks come from our own aligned buffers; a view that is not aligned is copied first. */
function viewOf<T>(block: Buffer, type: ViewType<T>): T {
  const length = Math.floor(block.length / type.BYTES_PER_ELEMENT);
  if (block.byteOffset % type.BYTES_PER_ELEMENT === 0) {
    return new type(block.buffer, block.byteOffset, length);
  }
  const copy = new Uint8Array(block);
  return new type(copy.buffer, 0, length);
}
