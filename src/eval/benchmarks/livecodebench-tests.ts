/**
 * LiveCodeBench's test columns: JSON text, or that text pickled, deflated and in base64. The pickle
 * is read as data, one string and nothing else; no code of it runs.
 */
import { inflateSync } from "node:zlib";
import { z } from "zod";
import { ShapeError } from "../../core/errors.js";
import { readPickle } from "../../formats/pickle.js";

const testsSchema = z.array(
  z.object({ input: z.string(), output: z.string(), testtype: z.string().optional() }),
);

/** One test of a row. */
export type LcbTest = z.infer<typeof testsSchema>[number];

/** A column decodes to some 100 MB at most; more is a bomb. */
const MAX_DECODED_BYTES = 512 * 2 ** 20;

/**
 * Decodes a test column.
 *
 * @throws {ShapeError} if it is neither JSON nor a packed string.
 */
export function decodeTests(column: string): LcbTest[] {
  const text = /^\s*\[/.test(column) ? column : unpack(column);
  const parsed = testsSchema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  throw new ShapeError(`tests must be a list of input and output, got ${text.slice(0, 80)}`);
}

function unpack(column: string): string {
  const bytes = inflateSync(Buffer.from(column, "base64"), { maxOutputLength: MAX_DECODED_BYTES });
  const value = readPickle(bytes, { path: "private_test_cases" });
  if (typeof value !== "string") {
    throw new ShapeError(`packed tests must be one pickled string, got ${typeof value}`);
  }
  return value;
}
