/**
 * Parquet, read in bounded memory: batches of plain rows, whatever the size of rows or row groups.
 *
 * Rows come out as JSON-like values: lists as arrays, structs as objects with every field (null
 * where it is null), text as strings, 64-bit integers as numbers where exact and else as bigint,
 * bytes without a text annotation as Uint8Array. A null list, an empty list and a list of nulls
 * stay three different things.
 */
import { open, type FileHandle } from "node:fs/promises";
import {
  parquetMetadata,
  parquetSchema,
  type DecodedArray,
  type FileMetaData,
  type SchemaTree,
} from "hyparquet";
import { assembleNested } from "hyparquet/src/assemble.js";
import { DEFAULT_PARSERS } from "hyparquet/src/convert.js";
import { getTreePath } from "hyparquet/src/schema.js";
import { DataError } from "../core/errors.js";
import { checkThrift } from "./parquet-checks.js";
import { ColumnCursor, RowDecodeError } from "./parquet-column.js";

/** One row with its number in the file. */
export interface ParquetRow {
  /** Counted from 1. */
  row: number;
  value: Record<string, unknown>;
}

/** What is read of a file. */
export interface ParquetReadOptions {
  /** Top-level columns to read; all when absent. */
  columns?: readonly string[];
  /** Leaves out rows by one flat column, before anything else of them is decoded. */
  where?: { column: string; keep: (value: unknown) => boolean };
}

/** Some rows that follow each other. */
export interface ParquetBatch {
  rows: ParquetRow[];
  /** Rows left out by `where`: their numbers and the value that decided. */
  skipped: { row: number; value: unknown }[];
}

/** An open file. */
export interface ParquetFile {
  path: string;
  rowCount: number;
  /** Names of the top-level columns, in order. */
  columns: string[];
  read(options?: ParquetReadOptions): AsyncGenerator<ParquetBatch>;
  close(): Promise<void>;
}

// The footer's length and the magic word.
const TRAILER_BYTES = 8;
// Bounds the work between two batches where every column is a dictionary of few values.
const MAX_BATCH_ROWS = 4096;

/**
 * Opens a parquet file and reads its footer.
 *
 * @throws {DataError} if the file cannot be read or is not whole.
 */
export async function openParquet(path: string): Promise<ParquetFile> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (cause) {
    throw new DataError(`cannot read: ${(cause as Error).message}`, { path, cause });
  }
  try {
    const metadata = await readMetadata(file);
    const tree = parquetSchema(metadata);
    return {
      path,
      rowCount: Number(metadata.num_rows),
      columns: tree.children.map((child) => child.element.name),
      read: (options = {}) => readRowGroups({ path, file, metadata, tree }, options),
      close: () => file.close(),
    };
  } catch (cause) {
    await file.close();
    throw new DataError(
      `is not a whole parquet file: ${(cause as Error).message}; fetch or write it again`,
      { path, cause },
    );
  }
}

async function readMetadata(file: FileHandle): Promise<FileMetaData> {
  const { size } = await file.stat();
  if (size < 12) throw new Error(`it has ${size} bytes`);
  const footerBytes = (await readAt(file, size - TRAILER_BYTES, TRAILER_BYTES)).readUInt32LE();
  if (footerBytes > size - TRAILER_BYTES) {
    throw new Error(`its footer claims ${footerBytes} of ${size} bytes`);
  }
  const start = size - TRAILER_BYTES - footerBytes;
  const footer = await readAt(file, start, footerBytes + TRAILER_BYTES);
  checkThrift(new DataView(footer.buffer, footer.byteOffset, footerBytes), 0);
  const metadata = parquetMetadata(footer, { geoparquet: false });
  checkRowCounts(metadata);
  for (const { meta_data } of metadata.row_groups.flatMap((group) => group.columns)) {
    const end = Number(meta_data?.data_page_offset ?? 0);
    if (end > size) throw new Error(`a column lies at byte ${end} of ${size}`);
  }
  return metadata;
}

/** Else a file without columns, or a group without one of them, would yield rows without end. */
function checkRowCounts({ row_groups: groups, num_rows: rows, schema }: FileMetaData): void {
  const counts = groups.map((group) => Number(group.num_rows));
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total !== Number(rows) || counts.some((count) => !(count >= 0)) || schema.length < 2) {
    throw new Error(
      `it has ${schema.length - 1} columns, ${rows} rows, and ${total} in its groups`,
    );
  }
}

async function readAt(file: FileHandle, start: number, length: number): Promise<Buffer> {
  // Memory of its own: values are views into it.
  const bytes = Buffer.from(new ArrayBuffer(length));
  for (let at = 0; at < length;) {
    const { bytesRead } = await file.read(bytes, at, length - at, start + at);
    if (bytesRead === 0) throw new Error("it ends early");
    at += bytesRead;
  }
  return bytes;
}

interface OpenTable {
  path: string;
  file: FileHandle;
  metadata: FileMetaData;
  tree: SchemaTree;
}

async function* readRowGroups(
  table: OpenTable,
  options: ParquetReadOptions,
): AsyncGenerator<ParquetBatch> {
  const wanted = wantedColumns(table, options);
  let groupStart = 0;
  for (const [index, group] of table.metadata.row_groups.entries()) {
    try {
      yield* readRowGroup(table, wanted, { index, groupStart, where: options.where });
    } catch (cause) {
      if (cause instanceof DataError) throw cause;
      const { path } = table;
      if (cause instanceof RowDecodeError) {
        throw new DataError(cause.message, { path, line: groupStart + cause.row + 1, cause });
      }
      const rows = `rows ${groupStart + 1} to ${groupStart + Number(group.num_rows)}`;
      throw new DataError(`cannot decode ${rows}: ${(cause as Error).message}`, { path, cause });
    }
    groupStart += Number(group.num_rows);
  }
}

function wantedColumns({ path, tree }: OpenTable, options: ParquetReadOptions): SchemaTree[] {
  const names = tree.children.map((child) => child.element.name);
  const needed = [...(options.columns ?? []), ...(options.where ? [options.where.column] : [])];
  const missing = needed.filter((name) => !names.includes(name));
  if (missing.length > 0) {
    throw new DataError(`expected the column ${missing.join(", ")}, found ${names.join(", ")}`, {
      path,
    });
  }
  const { columns } = options;
  return tree.children.filter((child) => !columns || columns.includes(child.element.name));
}

interface RowGroupPlan {
  index: number;
  groupStart: number;
  where: ParquetReadOptions["where"];
}

async function* readRowGroup(
  { file, metadata, tree }: OpenTable,
  wanted: SchemaTree[],
  { index, groupStart, where }: RowGroupPlan,
): AsyncGenerator<ParquetBatch> {
  const group = metadata.row_groups[index];
  const cursorsOf = (name: string) =>
    group.columns.flatMap(({ meta_data: meta }) => {
      if (meta?.path_in_schema[0] !== name) return [];
      const schemaPath = getTreePath(tree, meta.path_in_schema);
      return [
        {
          key: meta.path_in_schema.join("."),
          cursor: new ColumnCursor({ file, meta, schemaPath }),
        },
      ];
    });
  const columns = wanted.map((node) => ({ node, leaves: cursorsOf(node.element.name) }));
  const missing = columns.find(({ leaves }) => leaves.length === 0)?.node.element.name;
  if (missing !== undefined) throw new Error(`the column ${missing} is missing`);
  const filter = where === undefined ? null : cursorsOf(where.column)[0].cursor;
  const cursors = columns.flatMap((column) => column.leaves.map((leaf) => leaf.cursor));
  const total = Number(group.num_rows);
  for (let done = 0; done < total;) {
    let count = Math.min(MAX_BATCH_ROWS, total - done);
    for (const cursor of filter === null ? cursors : [filter, ...cursors]) {
      count = Math.min(count, await cursor.ready());
    }
    if (count === 0) throw new Error(`a column has fewer than ${total} rows`);
    const deciding = filter === null ? null : plain(filter.take(count, null));
    const mask = deciding?.map((value) => where?.keep(value) ?? true) ?? null;
    const tables = columns.map(({ node, leaves }) => {
      const data = new Map(leaves.map(({ key, cursor }) => [key, cursor.take(count, mask)]));
      return { name: node.element.name, values: assembleColumn(data, node) };
    });
    const first = groupStart + done + 1;
    yield batchOf({ first, count, mask, deciding, tables });
    done += count;
  }
}

function assembleColumn(data: Map<string, DecodedArray>, node: SchemaTree): unknown[] {
  const isEmpty = [...data.values()].every((values) => values.length === 0);
  if (isEmpty) return [];
  assembleNested(data, node, DEFAULT_PARSERS);
  return plain(data.get(node.path.join(".")) ?? []);
}

const plain = (values: DecodedArray): unknown[] => Array.from(values as ArrayLike<unknown>);

function batchOf(read: {
  first: number;
  count: number;
  mask: boolean[] | null;
  deciding: unknown[] | null;
  tables: { name: string; values: unknown[] }[];
}): ParquetBatch {
  const { first, count, mask, deciding, tables } = read;
  const batch: ParquetBatch = { rows: [], skipped: [] };
  for (let i = 0; i < count; i++) {
    if (mask !== null && !mask[i]) {
      batch.skipped.push({ row: first + i, value: deciding?.[i] ?? null });
      continue;
    }
    const at = batch.rows.length;
    const value: Record<string, unknown> = {};
    for (const { name, values } of tables) value[name] = values[at] ?? null;
    batch.rows.push({ row: first + i, value });
  }
  return batch;
}
