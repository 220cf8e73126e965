/**
 * The inner loop of AdamW as WebAssembly: four parameters an instruction, in float32.
 *
 * Compiled JavaScript takes one at a time through float64, about twice as long. The module is a few
 * dozen instructions, so it is written out here instead of built by a compiler.
 * Source: https://webassembly.github.io/spec/core/binary/ with the vector instructions of release 2.
 */

/** Parameters that one call of the kernel can update; what it reads stays in a core's cache. */
export const CHUNK = 16_384;

/** What is the same for all parameters of one update. */
interface AdamWCoefficients {
  beta1: number;
  /** 1 − β₁ */
  ofGradient: number;
  beta2: number;
  /** 1 − β₂ */
  ofSquare: number;
  /** What a parameter is multiplied by, 1 − lr · weight decay. */
  decay: number;
  /** lr · √(1 − β₂ⁿ) / (1 − β₁ⁿ) for update n. */
  stepSize: number;
  /** ε · √(1 − β₂ⁿ) */
  epsilon: number;
}

/** The kernel and its memory: [CHUNK] of parameters, gradients and both moments. */
interface AdamWKernel {
  params: Float32Array;
  gradients: Float32Array;
  m: Float32Array;
  v: Float32Array;
  /** Updates the first `count` of params, m and v from gradients. */
  run(count: number, coefficients: AdamWCoefficients): void;
}

const BYTES = 4 * CHUNK;
const PAGE = 65_536;
/** Places of the four arrays in memory. */
const AT = { params: 0, gradients: BYTES, m: 2 * BYTES, v: 3 * BYTES };

/** What is used of WebAssembly, which the types of Node do not declare. */
interface WebAssemblyApi {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: object };
}

let kernel: AdamWKernel | undefined;

/** Answers the kernel, made at the first call. */
export function adamWKernel(): AdamWKernel {
  kernel ??= makeKernel();
  return kernel;
}

function makeKernel(): AdamWKernel {
  const { Instance, Module } = (globalThis as unknown as { WebAssembly: WebAssemblyApi })
    .WebAssembly;
  const { memory, step } = new Instance(new Module(moduleBytes())).exports as {
    memory: { buffer: ArrayBuffer };
    step: (bytes: number, ...coefficients: number[]) => void;
  };
  const array = (at: number) => new Float32Array(memory.buffer, at, CHUNK);
  return {
    params: array(AT.params),
    gradients: array(AT.gradients),
    m: array(AT.m),
    v: array(AT.v),
    run: (count, c) => {
      const { beta1, ofGradient, beta2, ofSquare, decay, stepSize, epsilon } = c;
      step(4 * count, beta1, ofGradient, beta2, ofSquare, decay, stepSize, epsilon);
    },
  };
}

/** An unsigned integer in LEB128. */
function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}

/** Items preceded by their number. */
const vector = (items: readonly (readonly number[])[]) => [
  ...unsigned(items.length),
  ...items.flat(),
];
const sized = (bytes: readonly number[]) => [...unsigned(bytes.length), ...bytes];
const section = (id: number, bytes: readonly number[]) => [id, ...sized(bytes)];
const text = (word: string) => sized([...Buffer.from(word)]);

const I32 = 0x7f;
const F32 = 0x7d;
const V128 = 0x7b;
const COEFFICIENTS = 7;

const get = (local: number) => [0x20, local];
const set = (local: number) => [0x21, local];
const vectorOp = (code: number) => [0xfd, ...unsigned(code)];
const SPLAT = vectorOp(0x13);
const SQRT = vectorOp(0xe3);
const ADD = vectorOp(0xe4);
const SUB = vectorOp(0xe5);
const MUL = vectorOp(0xe6);
const DIV = vectorOp(0xe7);

/** The function step(bytes, …coefficients) over locals: parameters, then index and vectors. */
function stepBody(): number[] {
  const [bytes, index] = [0, 1 + COEFFICIENTS];
  const [beta1, ofGradient, beta2, ofSquare, decay, stepSize, epsilon, g, m, v] = Array.from(
    { length: COEFFICIENTS + 3 },
    (_, i) => index + 1 + i,
  );
  const load = (at: number) => [...get(index), ...vectorOp(0x00), 2, ...unsigned(at)];
  const store = (at: number, value: readonly number[]) => [
    ...[...get(index), ...value, ...vectorOp(0x0b), 2],
    ...unsigned(at),
  ];
  const splats = Array.from({ length: COEFFICIENTS }, (_, i) => [
    ...get(1 + i),
    ...SPLAT,
    ...set(beta1 + i),
  ]);
  const mul = (a: readonly number[], b: readonly number[]) => [...a, ...b, ...MUL];
  const add = (a: readonly number[], b: readonly number[]) => [...a, ...b, ...ADD];
  const root = add([...get(v), ...SQRT], get(epsilon));
  const move = [...mul(get(stepSize), get(m)), ...root, ...DIV];
  const code = [
    ...splats.flat(),
    ...[0x03, 0x40],
    ...[...load(AT.gradients), ...set(g)],
    ...[...add(mul(get(beta1), load(AT.m)), mul(get(ofGradient), get(g))), ...set(m)],
    ...add(mul(get(beta2), load(AT.v)), mul(mul(get(ofSquare), get(g)), get(g))),
    ...set(v),
    ...store(AT.m, get(m)),
    ...store(AT.v, get(v)),
    ...store(AT.params, [...mul(load(AT.params), get(decay)), ...move, ...SUB]),
    // index += 16, and again while index < bytes
    ...[...get(index), 0x41, 16, 0x6a, 0x22, index, ...get(bytes), 0x49, 0x0d, 0],
    ...[0x0b, 0x0b],
  ];
  const locals = vector([
    [1, I32],
    [COEFFICIENTS + 3, V128],
  ]);
  return sized([...locals, ...code]);
}

function moduleBytes(): Uint8Array {
  const parameters = [[I32], ...Array.from({ length: COEFFICIENTS }, () => [F32])];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, vector([[0x60, ...vector(parameters), 0]])),
    ...section(3, vector([[0]])),
    ...section(5, vector([[0x00, ...unsigned((4 * BYTES) / PAGE)]])),
    ...section(
      7,
      vector([
        [...text("memory"), 0x02, 0],
        [...text("step"), 0x00, 0],
      ]),
    ),
    ...section(10, vector([stepBody()])),
  ]);
}
