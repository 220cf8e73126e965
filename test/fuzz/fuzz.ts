/**
 * What all fuzz tests share: how many inputs, from which seed, and what counts as a defect.
 *
 * A parser may answer or throw an error of core/errors.ts. Any other error, an input that is still
 * being parsed after a minute, and memory out of proportion to the input are defects.
 *
 *     CODE_RLVR_FUZZ=100000       inputs per parser; the ordinary suite takes fewer, of seed 1
 *     CODE_RLVR_FUZZ_SEED=7       the seed that a failure printed
 *     CODE_RLVR_FUZZ_PATH=31:0:2  the path that it printed: that input alone
 */
import fc from "fast-check";
import { expect } from "vitest";
import { RlvrError } from "../../src/core/errors.js";
import { watch } from "./watchdog.js";

const { CODE_RLVR_FUZZ, CODE_RLVR_FUZZ_SEED, CODE_RLVR_FUZZ_PATH } = process.env;
const isFull = CODE_RLVR_FUZZ !== undefined;
const SEED = Number(CODE_RLVR_FUZZ_SEED ?? (isFull ? Date.now() % 2 ** 31 : 1));

/** Long enough for the full count on a slow machine. */
export const TIMEOUT_MS = 60 * 60_000;

/** Inputs are below 200 kB; nothing that is parsed of them needs more at a time. */
const MOST_BYTES_OF_ONE_INPUT = 64 * 2 ** 20;
const MOST_BYTES_OF_ALL = 1.5 * 2 ** 30;

/** One parser under test. */
export interface Target<T> {
  name: string;
  inputs: fc.Arbitrary<T>;
  /** Inputs in the ordinary suite. */
  few: number;
  parse(input: T): unknown;
}

/** Feeds a parser; fails with the smallest input found that shows a defect, its seed and its path. */
export async function fuzz<T>({ name, inputs, few, parse }: Target<T>): Promise<void> {
  const count = isFull ? Number(CODE_RLVR_FUZZ) : few;
  let [parsed, refused] = [0, 0];
  const started = performance.now();
  const dog = watch(name, SEED);
  const check = async (input: T) => {
    dog.pat(input);
    const before = process.memoryUsage().arrayBuffers;
    try {
      await parse(input);
      parsed++;
    } catch (error) {
      if (!(error instanceof RlvrError)) throw error;
      refused++;
    }
    const grown = process.memoryUsage().arrayBuffers - before;
    if (grown > MOST_BYTES_OF_ONE_INPUT) throw new Error(`${grown} bytes taken for one input`);
  };
  try {
    await fc.assert(fc.asyncProperty(inputs, check), {
      numRuns: count,
      seed: SEED,
      ...(CODE_RLVR_FUZZ_PATH === undefined ? {} : { path: CODE_RLVR_FUZZ_PATH }),
    });
  } finally {
    await dog.stop();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const peak = Math.round(process.resourceUsage().maxRSS / 1024);
    console.log(
      `fuzz ${name}: seed ${SEED}, ${parsed} parsed, ${refused} refused, ${seconds} s, peak ${peak} MiB`,
    );
  }
  expect(process.resourceUsage().maxRSS * 1024).toBeLessThan(MOST_BYTES_OF_ALL);
}
