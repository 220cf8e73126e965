/**
 * Seeded randomness, the only source of it in the project.
 *
 * A stream is named by integers or strings, e.g. (seed, "rollout", step, prompt, sample), and is a
 * pure function of that name. So a resumed run draws what the undisturbed run would have drawn, and
 * nothing depends on the order in which work happens to finish.
 *
 * Source: the generator is sfc32 (Chris Doty-Humphrey, PractRand), seeded through a 32-bit
 * avalanche hash (the finaliser of MurmurHash3).
 */

/** A stream of pseudo-random numbers. */
export interface RandomStream {
  /** The next number in [0, 1), with 32 random bits. */
  next(): number;
  /** The next integer in [0, bound). */
  integer(bound: number): number;
  /** The next number from the standard normal distribution. */
  normal(): number;
  /** Shuffles `items` in place (Fisher–Yates) and returns them. */
  shuffle<T>(items: T[]): T[];
}

/** Opens the stream with this name. Equal names give equal streams. */
export function randomStream(...name: (number | string)[]): RandomStream {
  const next = sfc32(hashName(name));
  const stream: RandomStream = {
    next,
    integer: (bound) => Math.floor(next() * bound),
    // Box–Muller; 1 − u keeps the logarithm finite.
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    shuffle: (items) => {
      for (let i = items.length - 1; i > 0; i--) {
        const j = stream.integer(i + 1);
        [items[i], items[j]] = [items[j], items[i]];
      }
      return items;
    },
  };
  return stream;
}

function hashName(name: (number | string)[]): [number, number, number, number] {
  const text = name.map((part) => `${typeof part === "number" ? "n" : "s"}${part}`).join("\u0000");
  const lanes: [number, number, number, number] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, 0xdeadbeef];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    for (let lane = 0; lane < 4; lane++) {
      lanes[lane] = Math.imul(lanes[lane] ^ (code + lane), 0x85ebca6b);
      lanes[lane] ^= lanes[lane] >>> 13;
    }
  }
  return lanes.map(avalanche) as [number, number, number, number];
}

function avalanche(value: number): number {
  let h = value;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function sfc32([a, b, c, d]: [number, number, number, number]): () => number {
  const next = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4294967296;
  };
  // The first outputs still show the structure of the seed.
  for (let i = 0; i < 12; i++) next();
  return next;
}
