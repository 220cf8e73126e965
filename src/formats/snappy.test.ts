import fc from "fast-check";
import { compressors } from "hyparquet-compressors";
import { describe, expect, test } from "vitest";
import { randomStream } from "../core/random.js";
import { snappyCompress } from "./snappy.js";

const decompress = compressors.SNAPPY!;

/** Bytes with repetitions near and far, as text has them. */
const blocks = fc
  .array(
    fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.integer({ min: 1, max: 400 })),
    { maxLength: 12 },
  )
  .map((parts) =>
    Buffer.concat(parts.flatMap(([bytes, times]) => Array<Buffer>(times).fill(Buffer.from(bytes)))),
  );

describe("snappyCompress", () => {
  test("makes blocks that another reader gives back", () => {
    fc.assert(
      fc.property(blocks, (block) => {
        const packed = snappyCompress(block);
        expect(Buffer.from(decompress(packed, block.length)).equals(block)).toBe(true);
      }),
    );
  });

  test("makes repeated text small and random bytes hardly larger", () => {
    const text = Buffer.from("the quick brown fox ".repeat(10_000));
    expect(snappyCompress(text).length).toBeLessThan(text.length / 15);
    const random = randomStream("snappy");
    const noise = Uint8Array.from({ length: 200_000 }, () => random.integer(256));
    expect(snappyCompress(noise).length).toBeLessThan(noise.length * 1.001);
  });
});
