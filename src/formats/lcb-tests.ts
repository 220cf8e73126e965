/**
 * LiveCodeBench's test payloads: JSON text, or base64 of zlib of a pickle that holds JSON text.
 *
 * The pickle is read as data (pickle.ts) with an empty allow-list: a payload that names any Python
 * object is refused.
 */
import { inflateSync } from "node:zlib";
import { z } from "zod";
import { DataError } from "../core/errors.js";
import { readPickle } from "./pickle.js";

const lcbTestsSchema = z.array(
  z.object({
    input: z.string(),
    output: z.string(),
    testtype: z.enum(["stdin", "functional"]).default("stdin"),
  }),
);

/** One test of a LiveCodeBench problem. */
export type LcbTest = z.infer<typeof lcbTestsSchema>[number];

// The widest release decompresses to under 100 MB a row; a bomb would claim all memory.
const MAX_PAYLOAD_BYTES = 512 * 2 ** 20;

/**
 * Decodes the tests of one column, JSON first.
 *
 * @throws {DataError} if the text is neither form, or the payload holds anything but tests.
 */
export function decodeLcbTests(text: string, at: { path: string; line?: number }): LcbTest[] {
  const json = text.trimStart().startsWith("[") ? text : unpack(text, at);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw new DataError(`tests are not JSON: ${(cause as Error).message}`, { ...at, cause });
  }
  const tests = lcbTestsSchema.safeParse(value);
  if (tests.success) return tests.data;
  throw new DataError(`tests: ${z.prettifyError(tests.error)}`, at);
}

function unpack(text: string, at: { path: string; line?: number }): string {
  let bytes: Uint8Array;
  try {
    bytes = inflateSync(Buffer.from(text, "base64"), { maxOutputLength: MAX_PAYLOAD_BYTES });
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new DataError(`tests are neither JSON nor base64 of zlib: ${reason}`, { ...at, cause });
  }
  const value = readPickle(bytes, { path: at.path });
  if (typeof value === "string") return value;
  throw new DataError(`pickled tests must be one text, found ${typeof value}`, at);
}
