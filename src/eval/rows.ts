/** Raw rows of a benchmark, all at once. */
import { readRows as streamRows } from "../formats/rows.js";

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
  for await (const { value } of streamRows(path)) rows.push(value);
  return rows;
}
