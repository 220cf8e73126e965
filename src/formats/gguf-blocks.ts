/**
 * The element types of GGUF files, widened to float32.
 *
 * A quantized type stores blocks of 32 or 256 elements: a scale, sometimes an offset, and a few bits
 * per element.
 * Source: ggml's ggml-common.h and ggml-quants.c (https://github.com/ggml-org/ggml).
 */
import { bfloat16ToFloat32, halfToFloat } from "./safetensors.js";

/** How one element type is stored. */
export interface GgufType {
  name: string;
  /** Elements of a block. */
  blockSize: number;
  blockBytes: number;
  /** Widens whole blocks; `target` has the elements of all of them. */
  widen(source: DataView, target: Float32Array): void;
}

type Block = (block: DataView, target: Float32Array) => void;

function blocks(name: string, blockSize: number, blockBytes: number, widenBlock: Block): GgufType {
  return {
    name,
    blockSize,
    blockBytes,
    widen: (source, target) => {
      for (let i = 0; i * blockSize < target.length; i++) {
        const block = new DataView(source.buffer, source.byteOffset + i * blockBytes, blockBytes);
        widenBlock(block, target.subarray(i * blockSize, (i + 1) * blockSize));
      }
    },
  };
}

const half = (block: DataView, at: number) => halfToFloat(block.getUint16(at, true));

/** 32 elements of 4 bits: the low halves of 16 bytes, then their high halves. */
function nibbles(start: number, value: (nibble: number, block: DataView) => number): Block {
  return (block, target) => {
    for (let i = 0; i < 16; i++) {
      const byte = block.getUint8(start + i);
      target[i] = value(byte & 15, block);
      target[i + 16] = value(byte >> 4, block);
    }
  };
}

/** 256 elements of 4 bits in 8 groups, each with a scale and an offset of 6 bits. */
function widenQ4K(block: DataView, target: Float32Array): void {
  const [scale, offset] = [half(block, 0), half(block, 2)];
  const packed = (i: number) => block.getUint8(4 + i);
  for (let group = 0; group < 8; group++) {
    const isEarly = group < 4;
    const scaleBits = isEarly
      ? packed(group) & 63
      : (packed(group + 4) & 15) | ((packed(group - 4) >> 6) << 4);
    const offsetBits = isEarly
      ? packed(group + 4) & 63
      : (packed(group + 4) >> 4) | ((packed(group) >> 6) << 4);
    const shift = group % 2 === 0 ? 0 : 4;
    for (let i = 0; i < 32; i++) {
      const byte = block.getUint8(16 + Math.floor(group / 2) * 32 + i);
      const quant = (byte >> shift) & 15;
      target[group * 32 + i] = scale * scaleBits * quant - offset * offsetBits;
    }
  }
}

/** 256 elements of 6 bits (4 low, 2 high) in 16 groups, each with a scale of 8 bits. */
function widenQ6K(block: DataView, target: Float32Array): void {
  const scale = half(block, 208);
  for (let i = 0; i < 256; i++) {
    // Halves of 128 hold four runs of 32; runs 0 and 2, and 1 and 3, share bytes of low bits.
    const [part, run, lane] = [Math.floor(i / 128), Math.floor((i % 128) / 32), i % 32];
    const lowByte = block.getUint8(part * 64 + (run % 2) * 32 + lane);
    const low = run < 2 ? lowByte & 15 : lowByte >> 4;
    const high = (block.getUint8(128 + part * 32 + lane) >> (2 * run)) & 3;
    const group = block.getInt8(192 + part * 8 + run * 2 + Math.floor(lane / 16));
    target[i] = scale * group * ((low | (high << 4)) - 32);
  }
}

/** Element types by ggml's number. */
export const GGUF_TYPES: ReadonlyMap<number, GgufType> = new Map<number, GgufType>([
  [0, blocks("F32", 1, 4, (block, target) => (target[0] = block.getFloat32(0, true)))],
  [1, blocks("F16", 1, 2, (block, target) => (target[0] = half(block, 0)))],
  [
    2,
    blocks(
      "Q4_0",
      32,
      18,
      nibbles(2, (nibble, block) => half(block, 0) * (nibble - 8)),
    ),
  ],
  [
    3,
    blocks(
      "Q4_1",
      32,
      20,
      nibbles(4, (nibble, block) => half(block, 0) * nibble + half(block, 2)),
    ),
  ],
  [
    8,
    blocks("Q8_0", 32, 34, (block, target) => {
      const scale = half(block, 0);
      for (let i = 0; i < 32; i++) target[i] = scale * block.getInt8(2 + i);
    }),
  ],
  [12, blocks("Q4_K", 256, 144, widenQ4K)],
  [14, blocks("Q6_K", 256, 210, widenQ6K)],
  [
    30,
    {
      name: "BF16",
      blockSize: 1,
      blockBytes: 2,
      widen: (source, target) => {
        const bits = Uint16Array.from(target, (_, i) => source.getUint16(2 * i, true));
        bfloat16ToFloat32(bits, target);
      },
    },
  ],
]);

/** Names of the types that ggml numbers but that are not read here, for messages. */
export const UNREAD_GGUF_TYPES: ReadonlyMap<number, string> = new Map([
  [6, "Q5_0"],
  [7, "Q5_1"],
  [9, "Q8_1"],
  [10, "Q2_K"],
  [11, "Q3_K"],
  [13, "Q5_K"],
  [15, "Q8_K"],
  [16, "IQ2_XXS"],
  [17, "IQ2_XS"],
  [18, "IQ3_XXS"],
  [19, "IQ1_S"],
  [20, "IQ4_NL"],
  [21, "IQ3_S"],
  [22, "IQ2_S"],
  [23, "IQ4_XS"],
  [29, "IQ1_M"],
  [34, "TQ1_0"],
  [35, "TQ2_0"],
  [39, "MXFP4"],
]);
