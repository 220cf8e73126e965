/**
 * Byte mutations as fast-check arbitraries, so that what fails also shrinks: valid files of a small
 * corpus, each with a few edits of the kinds that break parsers.
 */
import fc from "fast-check";

/** Lengths and counts at which arithmetic goes wrong. */
const WORDS = [
  ...[0n, 1n, 2n, 127n, 128n, 255n, 256n, 32767n, 65535n, 2n ** 24n, 2n ** 28n],
  ...[2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n, 2n ** 53n - 1n],
  ...[2n ** 62n, 2n ** 63n, 2n ** 64n - 1n],
];

type Edit = (bytes: Buffer) => Buffer;

// Headers and footers decide the most, so every second place is near an end.
const place = fc
  .tuple(fc.constantFrom("start", "end", "any"), fc.nat(64), fc.nat(2 ** 30))
  .map(([from, near, any]) => (length: number) => {
    if (length === 0) return 0;
    if (from === "any") return any % length;
    return Math.max(0, from === "start" ? near % length : length - 1 - (near % length));
  });

const setByte: fc.Arbitrary<Edit> = fc.tuple(place, fc.nat(255)).map(([at, value]) => (bytes) => {
  if (bytes.length > 0) bytes[at(bytes.length)] = value;
  return bytes;
});

const flipBit: fc.Arbitrary<Edit> = fc.tuple(place, fc.nat(7)).map(([at, bit]) => (bytes) => {
  if (bytes.length > 0) bytes[at(bytes.length)] ^= 1 << bit;
  return bytes;
});

const setWord: fc.Arbitrary<Edit> = fc
  .tuple(place, fc.constantFrom(...WORDS), fc.constantFrom(2, 4, 8), fc.boolean())
  .map(([at, word, width, isBig]) => (bytes) => {
    const whole = Buffer.alloc(8);
    whole.writeBigUInt64LE(word);
    const part = isBig ? whole.subarray(0, width).reverse() : whole.subarray(0, width);
    part.copy(bytes, at(bytes.length));
    return bytes;
  });

const cutOff: fc.Arbitrary<Edit> = place.map(
  (at) => (bytes) => bytes.subarray(0, at(bytes.length)),
);

const remove: fc.Arbitrary<Edit> = fc.tuple(place, fc.nat(32)).map(
  ([at, size]) =>
    (bytes) =>
      spliced(bytes, at(bytes.length), size, Buffer.alloc(0)),
);

const insert: fc.Arbitrary<Edit> = fc.tuple(place, fc.uint8Array({ maxLength: 16 })).map(
  ([at, more]) =>
    (bytes) =>
      spliced(bytes, at(bytes.length), 0, more),
);

const repeat: fc.Arbitrary<Edit> = fc
  .tuple(place, fc.integer({ min: 1, max: 24 }), fc.integer({ min: 2, max: 400 }))
  .map(([at, size, times]) => (bytes) => {
    const from = at(bytes.length);
    const unit = bytes.subarray(from, from + size);
    return spliced(bytes, from, size, Buffer.concat(Array<Buffer>(times).fill(unit)));
  });

const edit = fc.oneof(setByte, flipBit, setWord, cutOff, remove, insert, repeat);

function spliced(bytes: Buffer, at: number, size: number, more: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at + size)]);
}

/** Files of a corpus with up to six edits; one in nine is noise. */
export function mutated(corpus: readonly Uint8Array[]): fc.Arbitrary<Buffer> {
  const edited = fc
    .tuple(fc.constantFrom(...corpus), fc.array(edit, { maxLength: 6 }))
    .map(([valid, edits]) =>
      edits.reduce((bytes: Buffer, change) => change(bytes), Buffer.from(valid)),
    );
  const noise = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  return fc.oneof({ weight: 8, arbitrary: edited }, { weight: 1, arbitrary: noise });
}

/** Texts of a corpus, mutated as bytes. */
export function mutatedText(corpus: readonly string[]): fc.Arbitrary<string> {
  return mutated(corpus.map((text) => Buffer.from(text))).map((bytes) => bytes.toString("utf8"));
}

/** Texts that are pieces of a language put together at random, some many times over. */
export function pieced(pieces: readonly string[], most = 40): fc.Arbitrary<string> {
  const piece = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...pieces) },
    { weight: 2, arbitrary: fc.string({ maxLength: 8, unit: "binary" }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom(...pieces), fc.nat(300))
        .map(([text, times]) => text.repeat(times)),
    },
  );
  return fc.array(piece, { maxLength: most }).map((parts) => parts.join(""));
}
