/**
 * Raw rows of a benchmark or completions file: JSONL or JSON (a list), either gzipped, or parquet.
 */
import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { ConfigError, DataError } from "../core/errors.js";
import { readJsonl } from "../formats/jsonl.js";
import { openParquet } from "../formats/parquet.js";

/** One raw row, as parsed. */
export type Row = Record<string, unknown>;

/**
 * Reads all rows of a file by its name's ending.
 *
 * @throws {ConfigError} if the file is of another kind.
 * @throws {DataError} if it cannot be read or a row is not an object.
 */
export async function readRows(path: string): Promise<Row[]> {
  const rows: Row[] = [];
  if (/\.jsonl(\.gz)?$/.test(path)) {
    for await (const { value } of readJsonl(path)) rows.push(value);
    return rows;
  }
  if (path.endsWith(".parquet")) {
    const file = await openParquet(path);
    try {
      for await (const batch of file.read()) for (const { value } of batch.rows) rows.push(value);
    } finally {
      await file.close();
    }
    return rows;
  }
  if (/\.json(\.gz)?$/.test(path)) return readJsonList(path);
  throw new ConfigError(`expected a .jsonl, .json (also .gz) or .parquet file, got ${path}`);
}

async function readJsonList(path: string): Promise<Row[]> {
  let value: unknown;
  try {
    const bytes = await readFile(path);
    value = JSON.parse((path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8"));
  } catch (cause) {
    throw new DataError(`cannot read: ${(cause as Error).message}`, { path, cause });
  }
  if (!Array.isArray(value)) {
    throw new DataError(`expected a JSON list of rows, found ${kindOf(value)}`, { path });
  }
  return value.map((row: unknown, index) => {
    if (kindOf(row) === "object") return row as Row;
    throw new DataError(`expected an object, found ${kindOf(row)}`, { path, line: index + 1 });
  });
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "list" : typeof value;
}
