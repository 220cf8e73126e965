/** Holds a model against another one, tensor by tensor. */
import { toFloat32 } from "./convert.js";
import { unravel } from "./layout.js";
import { openModel } from "./model-folder.js";
import { type NamedSource, rowBytes, rowCount, rowsPerBlock } from "./rows.js";

/** How one tensor differs. */
export type TensorDifference =
  | { name: string; kind: "compared"; largest: number; at: number[] }
  | { name: string; kind: "missing"; from: "model" | "reference" }
  | { name: string; kind: "shapes"; model: number[]; reference: number[] };

/**
 * Compares two model directories, both read as float32; the largest differences come first.
 *
 * @throws {CheckpointError} if one of them cannot be read.
 */
export async function compareModels(dir: string, reference: string): Promise<TensorDifference[]> {
  const [model, other] = [await openModel(dir), await openModel(reference)];
  try {
    const ours = new Map(model.tensors.map((tensor) => [tensor.name, tensor]));
    const theirs = new Map(other.tensors.map((tensor) => [tensor.name, tensor]));
    const differences: TensorDifference[] = [];
    for (const name of new Set([...ours.keys(), ...theirs.keys()])) {
      differences.push(await compareTensor(name, ours.get(name), theirs.get(name)));
    }
    const weight = (item: TensorDifference) => (item.kind === "compared" ? item.largest : Infinity);
    return differences.sort((a, b) => weight(b) - weight(a) || a.name.localeCompare(b.name));
  } finally {
    await model.close();
    await other.close();
  }
}

async function compareTensor(
  name: string,
  a: NamedSource | undefined,
  b: NamedSource | undefined,
): Promise<TensorDifference> {
  if (a === undefined) return { name, kind: "missing", from: "model" };
  if (b === undefined) return { name, kind: "missing", from: "reference" };
  if (a.shape.join() !== b.shape.join()) {
    return { name, kind: "shapes", model: a.shape, reference: b.shape };
  }
  const rows = rowCount(a.shape);
  const [widthA, widthB] = [a, b].map(({ dtype, shape }) => rowBytes(dtype, shape));
  const perBlock = Math.min(rows, rowsPerBlock(Math.max(widthA, widthB)));
  const [left, right] = [Buffer.alloc(perBlock * widthA), Buffer.alloc(perBlock * widthB)];
  let largest = 0;
  let index = 0;
  for (let first = 0; first < rows; first += perBlock) {
    const count = Math.min(perBlock, rows - first);
    await a.read(first, count, left);
    await b.read(first, count, right);
    const [x, y] = [numbersOf(left, a), numbersOf(right, b)];
    const size = (count * x.length) / perBlock;
    for (let i = 0; i < size; i++) {
      const difference = Math.abs(x[i] - y[i]);
      // NaN on one side only is the largest difference there is.
      if (!(difference <= largest) && !(Number.isNaN(x[i]) && Number.isNaN(y[i]))) {
        largest = Number.isNaN(difference) ? Infinity : difference;
        index = (first * x.length) / perBlock + i;
      }
    }
  }
  return { name, kind: "compared", largest, at: unravel(index, a.shape) };
}

function numbersOf(block: Buffer, { dtype }: NamedSource): ArrayLike<number> {
  switch (dtype) {
    case "I64":
    case "U64": {
      const wide = new BigInt64Array(block.buffer, block.byteOffset, block.length / 8);
      return Array.from(wide, Number);
    }
    case "I32":
      return new Int32Array(block.buffer, block.byteOffset, block.length / 4);
    case "U32":
      return new Uint32Array(block.buffer, block.byteOffset, block.length / 4);
    case "I16":
      return new Int16Array(block.buffer, block.byteOffset, block.length / 2);
    case "U16":
      return new Uint16Array(block.buffer, block.byteOffset, block.length / 2);
    case "I8":
      return new Int8Array(block.buffer, block.byteOffset, block.length);
    // Eight-bit floats are compared by their codes; equal codes are equal numbers.
    case "U8":
    case "BOOL":
    case "F8_E4M3":
    case "F8_E5M2":
      return block;
    case "F64":
    case "F32":
    case "F16":
    case "BF16":
      return toFloat32(block, dtype);
  }
}
