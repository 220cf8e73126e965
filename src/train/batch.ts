/**
 * The rollouts of a step as arrays: B completions padded to T response tokens, row-major [B, T].
 *
 * The models see completions without padding, one after the other ([R] tokens); `spread` and
 * `gather` go between the two forms.
 */
import type { Sequence } from "../model/batch.js";

/** A step's rollouts in the form the estimators and losses read. */
export interface RolloutBatch {
  sequences: Sequence[];
  /** [B] Group of each completion: its prompt instance. */
  groups: number[];
  /** [B] What the verifier paid. */
  scores: Float32Array;
  /** [B] 1 where sampling reached the token limit. */
  truncated: Uint8Array;
  /** T */
  length: number;
  /** [B, T] 1 on the tokens that the policy chose. */
  mask: Uint8Array;
  /** [B, T] The part of `mask` that the losses use. */
  lossMask: Uint8Array;
}

/** A completion with what the batch needs of it. */
export interface BatchMember {
  sequence: Sequence;
  group: number;
  score: number;
  truncated: boolean;
}

/**
 * Makes a batch. `maskTruncated` leaves truncated completions out of the losses; their scores stay
 * in the baseline of their group.
 */
export function makeBatch(members: readonly BatchMember[], maskTruncated: boolean): RolloutBatch {
  const sequences = members.map(({ sequence }) => sequence);
  const length = Math.max(1, ...sequences.map(({ response }) => response.length));
  const mask = new Uint8Array(members.length * length);
  sequences.forEach(({ response }, b) => mask.fill(1, b * length, b * length + response.length));
  const truncated = Uint8Array.from(members, (member) => Number(member.truncated));
  const lossMask = maskTruncated
    ? mask.map((bit, i) => (truncated[Math.floor(i / length)] === 1 ? 0 : bit))
    : mask;
  return {
    sequences,
    groups: members.map(({ group }) => group),
    scores: Float32Array.from(members, ({ score }) => score),
    truncated,
    length,
    mask,
    lossMask,
  };
}

/** [R] → [B, T]: token values in their padded places, 0 elsewhere. */
export function spread(values: Float32Array, { sequences, length }: RolloutBatch): Float32Array {
  const padded = new Float32Array(sequences.length * length);
  let at = 0;
  sequences.forEach(({ response }, b) => {
    padded.set(values.subarray(at, at + response.length), b * length);
    at += response.length;
  });
  return padded;
}

/** [B, T] → [R]: the token values of the chosen completions, one after the other. */
export function gather(
  padded: Float32Array,
  { sequences, length }: RolloutBatch,
  chosen: readonly number[],
): Float32Array {
  const values = new Float32Array(chosen.reduce((sum, b) => sum + sequences[b].response.length, 0));
  let at = 0;
  for (const b of chosen) {
    const tokens = sequences[b].response.length;
    values.set(padded.subarray(b * length, b * length + tokens), at);
    at += tokens;
  }
  return values;
}
