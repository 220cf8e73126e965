/**
 * Parquet, written row group by row group with an explicit schema, so that no type is ever guessed
 * from the data and a file of any size needs the memory of one row group.
 *
 * Equal rows give equal bytes: nothing in the file depends on time or machine.
 */
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { OutputFile } from "./output-file.js";
import { snappyCompress } from "./snappy.js";

/** One node of a schema; a schema lists its nodes depth first, the root first. */
export type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]["schema"][number];

// Rows of a group are held twice while it is encoded. The count is what Hugging Face's own writer
// uses, so that readers can seek; the bytes bound memory for rows of megabytes.
const ROWS_PER_GROUP = 1000;
const BYTES_PER_GROUP = 32 * 2 ** 20;

/** Writes rows to one parquet file. */
export interface RowWriter<Row> {
  readonly rowCount: number;
  /** The file itself, for its size and hash once finished. */
  readonly output: OutputFile;
  /**
   * Adds a row. `bytes` is about its size.
   *
   * @throws {DataError} if the file cannot be written.
   */
  write(row: Row, bytes: number): void;
  /** Writes what is held and the footer. */
  finish(): void;
  /** Closes the file, whole or not. */
  close(): void;
}

/** Creates a parquet file with this schema; the schema's first element is the root. */
export function createParquet<Row extends object>(
  path: string,
  schema: SchemaElement[],
): RowWriter<Row> {
  const output = new OutputFile(path);
  const file = new FileWriter(output);
  const writer = new ParquetWriter({
    writer: file,
    schema,
    createdBy: "code-rlvr",
    compressors: { SNAPPY: snappyCompress },
  });
  const names = topLevelNames(schema);
  let held: Row[] = [];
  let heldBytes = 0;
  let rowCount = 0;
  const flush = () => {
    if (held.length === 0) return;
    const columnData = names.map((name) => ({
      name,
      data: held.map((row) => (row as Record<string, unknown>)[name]),
    }));
    void writer.write({ columnData, rowGroupSize: held.length });
    held = [];
    heldBytes = 0;
  };
  return {
    get rowCount() {
      return rowCount;
    },
    write: (row, bytes) => {
      held.push(row);
      heldBytes += bytes;
      rowCount++;
      if (held.length >= ROWS_PER_GROUP || heldBytes >= BYTES_PER_GROUP) flush();
    },
    finish: () => {
      flush();
      void writer.finish();
    },
    output,
    close: () => output.close(),
  };
}

/** The names of the columns: the children of the root, in order. */
function topLevelNames(schema: SchemaElement[]): string[] {
  const names: string[] = [];
  for (let at = 1; at < schema.length;) {
    names.push(schema[at].name);
    at = skipElement(schema, at);
  }
  return names;
}

function skipElement(schema: SchemaElement[], at: number): number {
  let next = at + 1;
  for (let child = 0; child < (schema[at].num_children ?? 0); child++) {
    next = skipElement(schema, next);
  }
  return next;
}

/** Hands encoded bytes on after each row group. */
class FileWriter extends ByteWriter {
  readonly #output: OutputFile;

  constructor(output: OutputFile) {
    super(2 ** 20);
    this.#output = output;
  }

  flush(): void {
    this.#output.write(this.getBytes().slice());
    this.#output.flush();
    this.index = 0;
  }

  override finish(): void {
    this.flush();
  }
}
