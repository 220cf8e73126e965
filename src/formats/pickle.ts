/**
 * Pickle, read as data: a reader that executes nothing.
 *
 * Python's own loader calls whatever a pickle names. This one turns opcodes into plain values and
 * knows no callables: a global is an entry of the caller's allow-list or an error, and what calling
 * it means is a TypeScript function of the caller. LiveCodeBench's test payloads need an empty list
 * (one pickled string); torch checkpoints need a few names.
 *
 * Covered: protocols 0 to 5. Not covered: the extension registry and out-of-band buffers.
 * Source: the opcode table of CPython's Lib/pickletools.py.
 */
import {
  decodeLatin1,
  PickleMachine,
  type PickleOptions,
  type PickleValue,
} from "./pickle-machine.js";

export type { PickleGlobal, PickleOptions, PickleValue } from "./pickle-machine.js";

/**
 * Reads one pickle to its STOP opcode.
 *
 * @throws {DataError} if the bytes are no pickle, end early or name a global that is not allowed.
 */
export function readPickle(bytes: Uint8Array, options: PickleOptions): PickleValue {
  const machine: PickleMachine = new PickleMachine(bytes, options);
  for (;;) {
    const code = machine.byte();
    if (code === STOP) return machine.pop();
    const execute = OPCODES.get(code);
    if (execute === undefined) {
      machine.fail(`opcode 0x${code.toString(16).padStart(2, "0")} is not known`);
    }
    execute(machine);
  }
}

/** UTF-8 where lone surrogates stand as three bytes, as Python's `surrogatepass` writes them. */
function decodeUtf8(bytes: Uint8Array): string {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  if (!text.includes("\ufffd")) return text;
  const latin = decodeLatin1(bytes);
  const parts = latin.split(/(\xed[\xa0-\xbf][\x80-\xbf])/);
  return parts
    .map((part, index) =>
      index % 2 === 1
        ? String.fromCharCode(
            0xd000 | ((part.charCodeAt(1) & 0x3f) << 6) | (part.charCodeAt(2) & 0x3f),
          )
        : Buffer.from(part, "latin1").toString("utf8"),
    )
    .join("");
}

const QUOTED_ESCAPE =
  /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\\'"nrtabfv0]))/g;
const PLAIN_ESCAPES: Record<string, string> = {
  n: "\n",
  r: "\r",
  t: "\t",
  a: "\x07",
  b: "\b",
  f: "\f",
  v: "\v",
  0: "\0",
};

function pushEscaped(machine: PickleMachine, text: string): void {
  const plain = text.replace(
    QUOTED_ESCAPE,
    (_, x?: string, u?: string, long?: string, letter?: string) => {
      const hex = x ?? u ?? long;
      if (hex === undefined) return PLAIN_ESCAPES[letter as string] ?? (letter as string);
      const code = parseInt(hex, 16);
      if (code > 0x10ffff) machine.fail(`\\U${hex} is no character`);
      return String.fromCodePoint(code);
    },
  );
  machine.push(plain);
}

const STOP = 0x2e;
type Execute = (machine: PickleMachine) => void;

/** One row per opcode, by the character that stands for it in pickletools. */
const BY_CHARACTER: Record<string, Execute> = {
  "(": (m) => m.mark(),
  "0": (m) => m.discard(),
  "1": (m) => void m.popMark(),
  "2": (m) => m.push(m.peek()),
  N: (m) => m.push(null),
  "\x88": (m) => m.push(true),
  "\x89": (m) => m.push(false),
  I: (m) => {
    const text = m.line();
    if (text === "00" || text === "01") m.push(text === "01");
    else m.pushDecimal(text);
  },
  L: (m) => m.pushDecimal(m.line()),
  J: (m) => m.push(m.int32()),
  K: (m) => m.push(m.byte()),
  M: (m) => m.push(m.uint16()),
  "\x8a": (m) => m.pushInteger(m.take(m.byte())),
  "\x8b": (m) => m.pushInteger(m.take(m.uint32())),
  F: (m) => m.push(Number(m.line())),
  G: (m) => m.push(m.float64()),
  S: (m) => pushEscaped(m, m.line().slice(1, -1)),
  T: (m) => m.push(decodeLatin1(m.take(m.uint32()))),
  U: (m) => m.push(decodeLatin1(m.take(m.byte()))),
  V: (m) => pushEscaped(m, m.line()),
  X: (m) => m.push(decodeUtf8(m.take(m.uint32()))),
  "\x8c": (m) => m.push(decodeUtf8(m.take(m.byte()))),
  "\x8d": (m) => m.push(decodeUtf8(m.take(m.uint64()))),
  B: (m) => m.push(m.take(m.uint32()).slice()),
  C: (m) => m.push(m.take(m.byte()).slice()),
  "\x8e": (m) => m.push(m.take(m.uint64()).slice()),
  "\x96": (m) => m.push(m.take(m.uint64()).slice()),
  "]": (m) => m.push([]),
  l: (m) => m.push(m.popMark()),
  a: (m) => m.append([m.pop()]),
  e: (m) => m.append(m.popMark()),
  ")": (m) => m.push([]),
  t: (m) => m.push(m.popMark()),
  "\x85": (m) => m.push([m.pop()]),
  "\x86": (m) => m.push([m.pop(), m.pop()].reverse()),
  "\x87": (m) => m.push([m.pop(), m.pop(), m.pop()].reverse()),
  "}": (m) => m.push(new Map()),
  d: (m) => {
    const pairs = m.popMark();
    m.push(new Map());
    m.setItems(pairs);
  },
  s: (m) => m.setItems([m.pop(), m.pop()].reverse()),
  u: (m) => m.setItems(m.popMark()),
  "\x8f": (m) => m.push(new Set()),
  "\x90": (m) => m.addItems(m.popMark()),
  "\x91": (m) => m.push(new Set(m.popMark())),
  p: (m) => void m.memo.set(Number(m.line()), m.peek()),
  q: (m) => void m.memo.set(m.byte(), m.peek()),
  r: (m) => void m.memo.set(m.uint32(), m.peek()),
  "\x94": (m) => void m.memo.set(m.memo.size, m.peek()),
  g: (m) => m.recall(Number(m.line())),
  h: (m) => m.recall(m.byte()),
  j: (m) => m.recall(m.uint32()),
  c: (m) => m.pushGlobal(m.line(), m.line()),
  "\x93": (m) => {
    const name = m.pop();
    const module = m.pop();
    // A list here could contain itself many times over; turning it into text would never end.
    if (typeof module !== "string" || typeof name !== "string")
      return m.fail("a global has no name");
    return m.pushGlobal(module, name);
  },
  R: (m) => {
    const args = m.popArray("a tuple of arguments");
    m.call(m.pop(), args);
  },
  i: (m) => {
    const args = m.popMark();
    m.pushGlobal(m.line(), m.line());
    m.call(m.pop(), args);
  },
  o: (m) => {
    const [callee, ...args] = m.popMark();
    m.call(callee, args);
  },
  "\x81": (m) => {
    const args = m.popArray("a tuple of arguments");
    m.call(m.pop(), args);
  },
  "\x92": (m) => {
    const keywords = m.pop();
    if (!(keywords instanceof Map)) return m.fail("expected a dict of arguments");
    const args = m.popArray("a tuple of arguments");
    m.call(m.pop(), args, keywords);
  },
  b: (m) => m.build(),
  P: (m) => m.persistent(m.line()),
  Q: (m) => m.persistent(m.pop()),
  "\x80": (m) => {
    const protocol = m.byte();
    if (protocol > 5) m.fail(`protocol ${protocol} is not known`);
  },
  "\x95": (m) => void m.take(8),
};

const OPCODES = new Map<number, Execute>(
  Object.entries(BY_CHARACTER).map(([character, execute]) => [character.charCodeAt(0), execute]),
);
