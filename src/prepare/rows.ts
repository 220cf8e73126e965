/**
 * Files of raw rows: parquet, JSON lines (plain or gzipped) and JSON lists, behind one reader that
 * streams and knows each row's number.
 */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { DataError } from "../core/errors.js";
import { readJsonl } from "../formats/jsonl.js";
import { openParquet } from "../formats/parquet.js";
import { readJsonList } from "../formats/rows.js";
import type { RawRow } from "./source.js";

/** A row with its number, counted from 1. */
export interface NumberedRow {
  line: number;
  value: RawRow;
}

/** Some rows that follow each other, and the numbers of those that were left out. */
export interface RowBatch {
  rows: NumberedRow[];
  skipped: { line: number; value: unknown }[];
}

/** Leaves rows out by one flat column. */
export interface RowFilter {
  column: string;
  keep: (value: unknown) => boolean;
}

/** An open file of rows. */
export interface RowFile {
  path: string;
  format: "parquet" | "jsonl" | "json";
  bytes: number;
  /** Null where only reading tells. */
  rowCount: number | null;
  read(where?: RowFilter): AsyncGenerator<RowBatch>;
  /** Where the row of this number stands, for errors; asked while that row is at hand. */
  place(line: number): { path: string; line: number };
  close(): Promise<void>;
}

const LINES_PER_BATCH = 256;

/**
 * Opens a file of rows; its name tells the format.
 *
 * @throws {DataError} if it cannot be read or its name tells no known format.
 */
export async function openRows(path: string): Promise<RowFile> {
  const bytes = await sizeOf(path);
  const name = basename(path).toLowerCase();
  if (name.endsWith(".parquet")) return openParquetRows(path, bytes);
  const nothing = () => Promise.resolve();
  const place = (line: number) => ({ path, line });
  if (/\.jsonl(\.gz)?$/.test(name)) {
    const read = (where?: RowFilter) => inBatches(readJsonl(path), where);
    return { path, format: "jsonl", bytes, rowCount: null, read, place, close: nothing };
  }
  if (/\.json(\.gz)?$/.test(name)) {
    const items = await readJsonList(path);
    const read = (where?: RowFilter) => inBatches(items, where);
    return { path, format: "json", bytes, rowCount: items.length, read, place, close: nothing };
  }
  throw new DataError(
    "expected a file that ends in .parquet, .jsonl, .jsonl.gz, .json or .json.gz",
    { path },
  );
}

/** Opens files that are read one after the other, as if they were one; rows are numbered on. */
export async function openRowFiles(paths: string[]): Promise<RowFile> {
  const files: RowFile[] = [];
  const closeAll = async () => {
    for (const file of files) await file.close();
  };
  try {
    for (const path of paths) files.push(await openRows(path));
  } catch (error) {
    await closeAll();
    throw error;
  }
  if (files.length === 1) return files[0];
  const counts = files.map((file) => file.rowCount);
  let current = { path: paths[0], offset: 0 };
  async function* read(where?: RowFilter): AsyncGenerator<RowBatch> {
    let offset = 0;
    for (const file of files) {
      current = { path: file.path, offset };
      let count = 0;
      for await (const { rows, skipped } of file.read(where)) {
        count += rows.length + skipped.length;
        const shift = <T extends { line: number }>(row: T): T => ({
          ...row,
          line: row.line + offset,
        });
        yield { rows: rows.map(shift), skipped: skipped.map(shift) };
      }
      offset += count;
    }
  }
  return {
    path: paths[0],
    format: files[0].format,
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
    rowCount: counts.includes(null) ? null : counts.reduce<number>((sum, n) => sum + (n ?? 0), 0),
    read,
    place: (line) => ({ path: current.path, line: line - current.offset }),
    close: closeAll,
  };
}

async function sizeOf(path: string): Promise<number> {
  try {
    const info = await stat(path);
    if (info.isFile()) return info.size;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") {
      throw new DataError("no such file", { path, cause });
    }
    throw new DataError(`cannot read: ${(cause as Error).message}`, { path, cause });
  }
  throw new DataError("expected a file, found a folder", { path });
}

async function openParquetRows(path: string, bytes: number): Promise<RowFile> {
  const file = await openParquet(path);
  async function* read(where?: RowFilter): AsyncGenerator<RowBatch> {
    const usable = where && file.columns.includes(where.column) ? { where } : {};
    for await (const batch of file.read(usable)) {
      yield {
        rows: batch.rows.map(({ row, value }) => ({ line: row, value })),
        skipped: batch.skipped.map(({ row, value }) => ({ line: row, value })),
      };
    }
  }
  return {
    path,
    format: "parquet",
    bytes,
    rowCount: file.rowCount,
    read,
    place: (line) => ({ path, line }),
    close: () => file.close(),
  };
}

async function* inBatches(
  lines: AsyncIterable<NumberedRow> | Iterable<NumberedRow>,
  where: RowFilter | undefined,
): AsyncGenerator<RowBatch> {
  let batch: RowBatch = { rows: [], skipped: [] };
  for await (const { line, value } of lines) {
    const isUsable = where !== undefined && where.column in value;
    if (isUsable && !where.keep(value[where.column])) {
      batch.skipped.push({ line, value: value[where.column] });
    } else {
      batch.rows.push({ line, value });
    }
    if (batch.rows.length + batch.skipped.length < LINES_PER_BATCH) continue;
    yield batch;
    batch = { rows: [], skipped: [] };
  }
  yield batch;
}
