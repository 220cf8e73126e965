/**
 * Which problems a step trains on: a pure function of the seed and of how many batches were drawn
 * before, so that a resumed run goes on exactly where it stopped.
 */
import { randomStream } from "../core/random.js";
import { ConfigError } from "../core/errors.js";

/** How the problems are walked through. */
export interface DataOrder {
  /** Problems in the data. */
  size: number;
  /** Problems per batch; what is left of an epoch is dropped, as in veRL. */
  batchSize: number;
  shuffle: boolean;
  seed: number;
}

/**
 * Batches in one pass over the data.
 *
 * @throws {ConfigError} if the data does not fill one batch.
 */
export function batchesPerEpoch({ size, batchSize }: DataOrder): number {
  const batches = Math.floor(size / batchSize);
  if (batches === 0) {
    throw new ConfigError(
      `data.train_batch_size (${batchSize}) is more than the ${size} problems in data.train_files`,
    );
  }
  return batches;
}

/** Indices of the problems in the batch drawn after `drawn` others. */
export function batchAt(order: DataOrder, drawn: number): number[] {
  const perEpoch = batchesPerEpoch(order);
  const epoch = Math.floor(drawn / perEpoch);
  const start = (drawn % perEpoch) * order.batchSize;
  return epochOrder(order, epoch).slice(start, start + order.batchSize);
}

/** The order of all problems in an epoch, counted from 0. */
export function epochOrder({ size, shuffle, seed }: DataOrder, epoch: number): number[] {
  const indices = Array.from({ length: size }, (_, i) => i);
  return shuffle ? randomStream(seed, "data", epoch).shuffle(indices) : indices;
}

/** A seeded subset of so many indices, in rising order; all of them when `count` is null. */
export function sampleIndices(
  size: number,
  count: number | null,
  { shuffle, seed, name }: { shuffle: boolean; seed: number; name: string },
): number[] {
  const indices = Array.from({ length: size }, (_, i) => i);
  if (count === null || count >= size) return indices;
  if (!shuffle) return indices.slice(0, count);
  return randomStream(seed, "subset", name)
    .shuffle(indices)
    .slice(0, count)
    .sort((a, b) => a - b);
}
