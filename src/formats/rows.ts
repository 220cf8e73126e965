/** Rows of a file in any of the forms that data sets come in, one after the other. */
import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { ConfigError, DataError } from "../core/errors.js";
import { type JsonLine, readJsonl } from "./jsonl.js";
import { openParquet } from "./parquet.js";

/**
 * Reads the rows of a file, JSONL or a JSON list, either gzipped, or parquet, by its name's ending.
 *
 * @throws {ConfigError} if the file is of another kind.
 * @throws {DataError} if it cannot be read or a row is not an object.
 */
export async function* readRows(path: string): AsyncGenerator<JsonLine> {
  if (/\.jsonl(\.gz)?$/i.test(path)) yield* readJsonl(path);
  else if (/\.parquet$/i.test(path)) yield* readParquet(path);
  else if (/\.json(\.gz)?$/i.test(path)) yield* await readJsonList(path);
  else throw new ConfigError(`expected a .jsonl, .json (also .gz) or .parquet file, got ${path}`);
}

/**
 * Reads a JSON list of objects, gzipped or not.
 *
 * @throws {DataError} if the file cannot be read or is none.
 */
export async function readJsonList(path: string): Promise<JsonLine[]> {
  let value: unknown;
  try {
    const bytes = await readFile(path);
    const text = path.endsWith(".gz") ? gunzipSync(bytes) : bytes;
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(text));
  } catch (cause) {
    throw new DataError(`is not JSON: ${(cause as Error).message}`, { path, cause });
  }
  if (!Array.isArray(value)) {
    throw new DataError(`expected a JSON list of rows, found ${kindOf(value)}`, { path });
  }
  return value.map((row: unknown, index) => {
    const isObject = typeof row === "object" && row !== null && !Array.isArray(row);
    if (isObject) return { line: index + 1, value: row as JsonLine["value"] };
    throw new DataError(`expected an object, found ${kindOf(row)}`, { path, line: index + 1 });
  });
}

async function* readParquet(path: string): AsyncGenerator<JsonLine> {
  const file = await openParquet(path);
  try {
    for await (const { rows } of file.read()) {
      for (const { row, value } of rows) yield { line: row, value };
    }
  } finally {
    await file.close();
  }
}

function kindOf(value: unknown): string {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
