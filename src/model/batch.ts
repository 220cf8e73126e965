/**
 * Token sequences as the padded arrays a training or scoring graph reads.
 *
 * Padding stands on the right, so that causal attention keeps every real token away from it and no
 * padding mask is needed; only rows that predict a response token reach the head, so nothing of the
 * vocabulary is computed for prompts and padding.
 */
import { ShapeError } from "../core/errors.js";

/** One prompt with the response that followed it, in token ids. */
export interface Sequence {
  prompt: readonly number[];
  response: readonly number[];
}

/** A padded batch of B sequences of at most T input tokens with R response tokens in all. */
export interface TrainBatch {
  /** B */
  size: number;
  /** T, the padded number of input tokens; the last token of a sequence is never an input. */
  length: number;
  /** R, in the order of the sequences. */
  responseTokens: number;
  /** [B*T] Input token ids; padding is 0. */
  ids: BigInt64Array;
  /** [B, T] Position of each token in its sequence. */
  positions: BigInt64Array;
  /** [R] Index in B*T of the token that predicts each response token. */
  rows: BigInt64Array;
  /** [R] The response tokens. */
  targets: BigInt64Array;
}

/** How batches are padded. */
export interface PackOptions {
  /** T is rounded up to a multiple of this, so that few different shapes reach the runtime. */
  lengthMultiple?: number;
}

const DEFAULT_LENGTH_MULTIPLE = 8;

/** The number of input tokens of a sequence: all but the last, which is only predicted. */
export function inputLength({ prompt, response }: Sequence): number {
  return prompt.length + response.length - 1;
}

/**
 * Packs sequences into one batch.
 * @throws {ShapeError} if there is none, or one has no prompt or no response.
 */
export function packBatch(sequences: readonly Sequence[], options: PackOptions = {}): TrainBatch {
  const multiple = options.lengthMultiple ?? DEFAULT_LENGTH_MULTIPLE;
  if (sequences.length === 0) throw new ShapeError("a batch needs at least one sequence, got none");
  const empty = sequences.findIndex((s) => s.prompt.length === 0 || s.response.length === 0);
  if (empty !== -1) {
    throw new ShapeError(`sequence ${empty} needs a prompt token and a response token, lacks one`);
  }
  const size = sequences.length;
  const longest = Math.max(...sequences.map(inputLength));
  const length = Math.ceil(longest / multiple) * multiple;
  const responseTokens = sequences.reduce((sum, { response }) => sum + response.length, 0);
  const ids = new BigInt64Array(size * length);
  const positions = new BigInt64Array(size * length);
  const rows = new BigInt64Array(responseTokens);
  const targets = new BigInt64Array(responseTokens);
  let row = 0;
  sequences.forEach(({ prompt, response }, b) => {
    const start = b * length;
    for (let t = 0; t < length; t++) positions[start + t] = BigInt(t);
    prompt.forEach((id, t) => (ids[start + t] = BigInt(id)));
    response.forEach((id, t) => {
      const at = prompt.length + t;
      if (t < response.length - 1) ids[start + at] = BigInt(id);
      rows[row] = BigInt(start + at - 1);
      targets[row] = BigInt(id);
      row++;
    });
  });
  return { size, length, responseTokens, ids, positions, rows, targets };
}

/**
 * Splits sequences into micro-batches of at most `maxTokens` padded tokens, likes with likes by
 * length so that padding costs little. A sequence longer than that goes alone.
 *
 * @returns Indices into `sequences`, each exactly once; the order is a function of the lengths only.
 */
export function microBatches(sequences: readonly Sequence[], maxTokens: number): number[][] {
  const order = sequences.map((_, i) => i);
  order.sort((a, b) => inputLength(sequences[a]) - inputLength(sequences[b]) || a - b);
  const batches: number[][] = [];
  let batch: number[] = [];
  for (const index of order) {
    const length = Math.ceil(inputLength(sequences[index]) / DEFAULT_LENGTH_MULTIPLE);
    const padded = length * DEFAULT_LENGTH_MULTIPLE * (batch.length + 1);
    if (batch.length > 0 && padded > maxTokens) {
      batches.push(batch);
      batch = [];
    }
    batch.push(index);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
