import { describe, expect, test } from "vitest";
import { DataError } from "../core/errors.js";
import { readPickle } from "./pickle.js";

const bytes = (base64: string) => new Uint8Array(Buffer.from(base64, "base64"));
const read = (base64: string) => readPickle(bytes(base64), { path: "a.pkl" });
const text = (source: string) => new Uint8Array(Buffer.from(source, "latin1"));

/** Made by CPython 3.11: `pickle.dumps(value, protocol)` of the value each line names. */
const VALUE = new Map<unknown, unknown>([
  ["a", [1, -2, 70000, 2 ** 40, 2n ** 70n, 1.5]],
  ["t", [true, false, null]],
  ["s", "é\ud800x"],
  ["b", new Uint8Array([0, 255])],
]);
const PICKLED: Record<number, string> = {
  0: "KGRwMApWYQpwMQoobHAyCkkxCmFJLTIKYUk3MDAwMAphTDEwOTk1MTE2Mjc3NzZMCmFMMTE4MDU5MTYyMDcxNzQxMTMwMzQyNEwKYUYxLjUKYXNWdApwMwooSTAxCkkwMApOdHA0CnNWcwpwNQpW6Vx1ZDgwMHgKcDYKc1ZiCnA3CmNfY29kZWNzCmVuY29kZQpwOAooVlx1MDAwMP8KcDkKVmxhdGluMQpwMTAKdHAxMQpScDEyCnMu",
  2: "gAJ9cQAoWAEAAABhcQFdcQIoSwFK/v///0pwEQEAigYAAAAAAAGKCQAAAAAAAAAAQEc/+AAAAAAAAGVYAQAAAHRxA4iJTodxBFgBAAAAc3EFWAYAAADDqe2ggHhxBlgBAAAAYnEHY19jb2RlY3MKZW5jb2RlCnEIWAMAAAAAw79xCVgGAAAAbGF0aW4xcQqGcQtScQx1Lg==",
  5: "gAWVVAAAAAAAAAB9lCiMAWGUXZQoSwFK/v///0pwEQEAigYAAAAAAAGKCQAAAAAAAAAAQEc/+AAAAAAAAGWMAXSUiIlOh5SMAXOUjAbDqe2ggHiUjAFilEMCAP+UdS4=",
};

describe("readPickle", () => {
  test.each(
    Object.keys(PICKLED)
      .map(Number)
      .filter((protocol) => protocol !== 0 && protocol !== 2),
  )("reads plain values of protocol %i", (protocol) => {
    expect(read(PICKLED[protocol])).toEqual(VALUE);
  });

  test("reads protocol 0 and 2, where bytes are a call of _codecs.encode", () => {
    for (const protocol of [0, 2]) {
      const value = readPickle(bytes(PICKLED[protocol]), {
        path: "a.pkl",
        globals: {
          "_codecs.encode": {
            construct: ([encoded]) => new Uint8Array(Buffer.from(String(encoded), "latin1")),
          },
        },
      });
      expect(value).toEqual(VALUE);
    }
  });

  test("shares what the memo shares", () => {
    const [first, second] = read("gASVCgAAAAAAAABdlEsBYWgAhpQu") as [unknown, unknown];
    expect(first).toBe(second);
  });

  test("refuses a global that is not allowed, and says that nothing ran", () => {
    const attack = text("cos\nsystem\n(S'touch /tmp/pickle-ran'\ntR.");
    expect(() => readPickle(attack, { path: "a.pkl" })).toThrow(
      /names os\.system, which is not on the allow-list; nothing was executed/,
    );
  });

  test("does not take an inherited name for an allowed global", () => {
    const attack = text("cconstructor\nx\n.");
    expect(() => readPickle(attack, { path: "a.pkl", globals: {} })).toThrow(DataError);
    const inherited = text("c__proto__\n\n.");
    expect(() => readPickle(inherited, { path: "a.pkl", globals: {} })).toThrow(DataError);
  });

  test("gives calls, states and persistent ids to the caller", () => {
    // collections.OrderedDict() with one item and a state, beside a persistent id.
    const source = text("ccollections\nOrderedDict\n)RVkey\nI7\ns}VX\nI1\nsb\x85Pstorage\n\x86.");
    const value = readPickle(source, {
      path: "a.pkl",
      globals: {
        "collections.OrderedDict": { construct: () => new Map(), setState: (object) => object },
      },
      persistentLoad: (id) => `loaded ${String(id)}`,
    });
    expect(value).toEqual([[new Map([["key", 7]])], "loaded storage"]);
  });

  test("refuses to call a value that is not a global", () => {
    expect(() => readPickle(text("I1\n)R."), { path: "a.pkl" })).toThrow(/not a global/);
  });

  test("says where a pickle that was cut short ends", () => {
    const whole = bytes(PICKLED[5]);
    for (let length = 0; length < whole.length; length++) {
      expect(() => readPickle(whole.subarray(0, length), { path: "cut.pkl" })).toThrow(DataError);
    }
  });

  test.each([
    ["an unknown opcode", "\xff."],
    ["an empty stack", "."],
    ["a missing mark", "t."],
    ["a length beyond the file", "\x8d\xff\xff\xff\xff\xff\xff\xff\x7fab"],
    ["an append to a number", "I1\nI2\na."],
    ["an unset memo", "h\x07."],
    ["an integer of 5 kB", `\x8b\x88\x13\x00\x00${"\x01".repeat(5000)}.`],
  ])("refuses %s", (_, source) => {
    expect(() => readPickle(text(source), { path: "a.pkl" })).toThrow(DataError);
  });
});
