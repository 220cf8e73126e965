/**
 * The machine behind the pickle reader: a cursor over the bytes, the stack, the marks and the memo,
 * and the allow-list that decides what a name may mean. pickle.ts has the opcodes.
 */
import { DataError } from "../core/errors.js";

/**
 * What a pickle holds. `None` is null; integers are numbers where exact, else bigint; bytes are
 * Uint8Array; lists and tuples are both arrays; dicts are Map; sets are Set. Anything else was made
 * by an entry of the allow-list.
 */
export type PickleValue = unknown;

/** One allowed global. It may also stand in the data itself, as a class or a dtype does. */
export interface PickleGlobal {
  /** What calling it yields; absent where the name may stand as data but not be called. */
  construct?: (args: PickleValue[], keywords: Map<PickleValue, PickleValue>) => PickleValue;
  /** What an object of it becomes when its state is set; absent where it has none. */
  setState?: (object: PickleValue, state: PickleValue) => PickleValue;
}

/** How a pickle is read. */
export interface PickleOptions {
  /** Name of the file, for errors. */
  path: string;
  /** The allow-list: `module.name` to its meaning. */
  globals?: Readonly<Record<string, PickleGlobal>>;
  /** Resolves a persistent id, e.g. a tensor storage; absent means there may be none. */
  persistentLoad?: (id: PickleValue) => PickleValue;
}

// Longer than any size or shape in bytes; a longer one would only cost time to convert.
const MAX_INTEGER_BYTES = 4096;

/** The reader's state: a cursor, the stack, the stacks below each mark, and the memo. */
export class PickleMachine {
  readonly memo = new Map<number, PickleValue>();
  #stack: PickleValue[] = [];
  readonly #below: PickleValue[][] = [];
  readonly #madeBy = new WeakMap<object, { global: PickleGlobal; name: string }>();
  readonly #names = new Map<PickleGlobal, string>();
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #options: PickleOptions;
  #at = 0;

  constructor(bytes: Uint8Array, options: PickleOptions) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#options = options;
  }

  fail(message: string): never {
    throw new DataError(`pickle: ${message} (byte ${this.#at})`, { path: this.#options.path });
  }

  take(length: number): Uint8Array {
    if (length > this.#bytes.length - this.#at) {
      this.fail(`expected ${length} more bytes, found ${this.#bytes.length - this.#at}`);
    }
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  byte = () => this.take(1)[0];
  uint16 = () => this.#view.getUint16(this.#advance(2), true);
  uint32 = () => this.#view.getUint32(this.#advance(4), true);
  int32 = () => this.#view.getInt32(this.#advance(4), true);
  float64 = () => this.#view.getFloat64(this.#advance(8), false);
  /** A length of 8 bytes; one beyond the file is caught by `take`. */
  uint64 = () => Number(this.#view.getBigUint64(this.#advance(8), true));

  #advance(length: number): number {
    this.take(length);
    return this.#at - length;
  }

  /** The text up to the next newline, for the opcodes of protocol 0. */
  line(): string {
    const end = this.#bytes.indexOf(0x0a, this.#at);
    if (end === -1) this.fail("a line has no end");
    const text = decodeLatin1(this.take(end - this.#at));
    this.#at++;
    return text;
  }

  push(value: PickleValue): void {
    this.#stack.push(value);
  }

  pop(): PickleValue {
    if (this.#stack.length === 0) this.fail("the stack is empty");
    return this.#stack.pop();
  }

  peek(): PickleValue {
    if (this.#stack.length === 0) this.fail("the stack is empty");
    return this.#stack[this.#stack.length - 1];
  }

  /** POP also takes a mark when nothing lies above it. */
  discard(): void {
    if (this.#stack.length > 0) this.#stack.pop();
    else this.popMark();
  }

  mark(): void {
    this.#below.push(this.#stack);
    this.#stack = [];
  }

  popMark(): PickleValue[] {
    const below = this.#below.pop();
    if (below === undefined) this.fail("a mark is missing");
    const items = this.#stack;
    this.#stack = below;
    return items;
  }

  popArray(what: string): PickleValue[] {
    const value = this.pop();
    return Array.isArray(value) ? (value as PickleValue[]) : this.fail(`expected ${what}`);
  }

  recall(index: number): void {
    if (!this.memo.has(index)) this.fail(`memo ${index} is not set`);
    this.push(this.memo.get(index));
  }

  pushGlobal(module: string, name: string): void {
    const key = `${module}.${name}`;
    const globals = this.#options.globals ?? {};
    if (!Object.hasOwn(globals, key)) {
      this.fail(`it names ${key}, which is not on the allow-list; nothing was executed`);
    }
    this.#names.set(globals[key], key);
    this.push(globals[key]);
  }

  call(
    callee: PickleValue,
    args: PickleValue[],
    keywords: Map<PickleValue, PickleValue> = new Map(),
  ): void {
    const global = callee as PickleGlobal;
    const name = this.#names.get(global);
    if (name === undefined) this.fail("it calls a value that is not a global");
    if (global.construct === undefined) this.fail(`it calls ${name}, which may only be data`);
    const made = global.construct(args, keywords);
    if (typeof made === "object" && made !== null) this.#madeBy.set(made, { global, name });
    this.push(made);
  }

  build(): void {
    const state = this.pop();
    const object = this.pop();
    const maker = typeof object === "object" && object ? this.#madeBy.get(object) : undefined;
    if (maker?.global.setState === undefined) {
      this.fail(`it sets the state of ${maker?.name ?? "a plain value"}, which takes none`);
    }
    const built = maker.global.setState(object, state);
    if (typeof built === "object" && built !== null) this.#madeBy.set(built, maker);
    this.push(built);
  }

  persistent(id: PickleValue): void {
    const load = this.#options.persistentLoad;
    if (load === undefined) this.fail("it holds a persistent id, which is not expected here");
    this.push(load(id));
  }

  append(items: PickleValue[]): void {
    const list = this.peek();
    if (!Array.isArray(list)) this.fail("it appends to what is not a list");
    for (const item of items) list.push(item);
  }

  setItems(pairs: PickleValue[]): void {
    const map = this.peek();
    if (!(map instanceof Map)) this.fail("it sets items of what is not a dict");
    if (pairs.length % 2 !== 0) this.fail("a key has no value");
    for (let i = 0; i < pairs.length; i += 2) map.set(pairs[i], pairs[i + 1]);
  }

  addItems(items: PickleValue[]): void {
    const set = this.peek();
    if (!(set instanceof Set)) this.fail("it adds to what is not a set");
    for (const item of items) set.add(item);
  }

  /** Pushes an integer given as little-endian two's complement. */
  pushInteger(bytes: Uint8Array): void {
    if (bytes.length > MAX_INTEGER_BYTES) {
      this.fail(`an integer of ${bytes.length} bytes is over the limit of ${MAX_INTEGER_BYTES}`);
    }
    if (bytes.length === 0) return this.push(0);
    const hex = [...bytes].reverse().map((byte) => byte.toString(16).padStart(2, "0"));
    this.push(narrow(BigInt.asIntN(bytes.length * 8, BigInt(`0x${hex.join("")}`))));
  }

  /** Pushes an integer given as decimal text; `L` at the end is protocol 0's long. */
  pushDecimal(text: string): void {
    const digits = text.replace(/L$/, "");
    if (!/^[+-]?\d{1,9864}$/.test(digits)) this.fail(`expected an integer, found ${text}`);
    this.push(narrow(BigInt(digits.replace(/^\+/, ""))));
  }
}

const narrow = (value: bigint) =>
  BigInt(Number.MIN_SAFE_INTEGER) <= value && value <= BigInt(Number.MAX_SAFE_INTEGER)
    ? Number(value)
    : value;

/** Bytes as the characters with their codes. */
export const decodeLatin1 = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
