/**
 * One leaf column of a parquet row group, walked page by page.
 *
 * A cursor holds one decompressed page (and the column's dictionary), however large the row group
 * is: files written with a single row group of gigabytes read in the same few megabytes. Values are
 * decoded to text only for the rows that are kept.
 *
 * Source: the Parquet format, https://github.com/apache/parquet-format; pages, levels and value
 * encodings are decoded by hyparquet.
 */
import { isUtf8 } from "node:buffer";
import type { FileHandle } from "node:fs/promises";
import * as zlib from "node:zlib";
import type {
  ColumnMetaData,
  Compressors,
  DecodedArray,
  SchemaElement,
  SchemaTree,
} from "hyparquet";
import { compressors as pureCompressors } from "hyparquet-compressors";
import { assembleLists } from "hyparquet/src/assemble.js";
import { parquetHeader } from "hyparquet/src/column.js";
import { convert, DEFAULT_PARSERS } from "hyparquet/src/convert.js";
import { decompressPage, readDataPage, readDataPageV2 } from "hyparquet/src/datapage.js";
import { readPlain } from "hyparquet/src/plain.js";
import { getMaxDefinitionLevel, getMaxRepetitionLevel } from "hyparquet/src/schema.js";
import type { ColumnDecoder, PageHeader } from "hyparquet/src/types.js";
import { checkLevels, checkPage, checkRuns, checkThrift } from "./parquet-checks.js";

/** A value that cannot be decoded, in a row counted from 0 within the row group. */
export class RowDecodeError extends Error {
  readonly row: number;

  constructor(message: string, row: number) {
    super(message);
    this.row = row;
  }
}

const READ_BYTES = 256 * 2 ** 10;
// Headers hold a few numbers and at most two truncated values; a longer one is a broken file.
const MAX_HEADER_BYTES = 16 * 2 ** 20;
// A page may be one row of many megabytes, but a broken length must not claim all memory.
const MAX_PAGE_BYTES = 2 ** 30;

/** Native where Node has the codec; zstd came to Node in 22.15. */
const COMPRESSORS: Compressors = {
  ...pureCompressors,
  GZIP: (input) => zlib.gunzipSync(input, { maxOutputLength: MAX_PAGE_BYTES }),
};
const nativeZstd = (
  zlib as {
    zstdDecompressSync?: (input: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;
  }
).zstdDecompressSync;
if (nativeZstd) {
  COMPRESSORS.ZSTD = (input) => nativeZstd(input, { maxOutputLength: MAX_PAGE_BYTES });
}

/** Where a column chunk lies and what it holds. */
export interface ColumnChunk {
  file: FileHandle;
  meta: ColumnMetaData;
  /** From the root of the schema to the leaf. */
  schemaPath: SchemaTree[];
}

/** Walks one leaf column of one row group. */
export class ColumnCursor {
  readonly #file: FileHandle;
  readonly #decoder: ColumnDecoder;
  readonly #element: SchemaElement;
  readonly #isText: boolean;
  readonly #maxDefinition: number;
  readonly #maxRepetition: number;
  /** File offsets of the bytes not read yet. */
  #fileAt: number;
  readonly #fileEnd: number;
  #buffer: Uint8Array = new Uint8Array(0);
  #bufferAt = 0;
  #dictionary: DecodedArray | null = null;
  /** Levels and values of rows not taken yet; `#values` holds the defined ones alone. */
  #repetitions: number[] = [];
  #definitions: number[] = [];
  #values: unknown[] = [];
  #levelAt = 0;
  #valueAt = 0;
  #rowsReady = 0;
  #rowsTaken = 0;

  constructor({ file, meta, schemaPath }: ColumnChunk) {
    this.#file = file;
    const start = Number(meta.dictionary_page_offset || meta.data_page_offset);
    this.#fileAt = start;
    this.#fileEnd = start + Number(meta.total_compressed_size);
    this.#element = schemaPath[schemaPath.length - 1].element;
    this.#decoder = {
      ...meta,
      pathInSchema: meta.path_in_schema,
      element: this.#element,
      schemaPath,
      compressors: COMPRESSORS,
      parsers: DEFAULT_PARSERS,
      utf8: false,
    } as ColumnDecoder;
    this.#isText = isTextElement(this.#element);
    this.#maxDefinition = getMaxDefinitionLevel(schemaPath);
    this.#maxRepetition = getMaxRepetitionLevel(schemaPath);
  }

  get #isRepeated(): boolean {
    return this.#maxRepetition > 0;
  }

  /** Loads pages until at least one whole row is ready; answers how many are, 0 at the end. */
  async ready(): Promise<number> {
    while (this.#rowsReady === 0 && !this.#isAtEnd()) await this.#loadPage();
    return this.#rowsReady;
  }

  /**
   * Takes the next `count` rows, at most as many as are ready, and answers the kept ones in the
   * nested form that hyparquet's `assembleNested` joins. A null `mask` keeps all.
   *
   * @throws {RowDecodeError} if a text value is not UTF-8.
   */
  take(count: number, mask: readonly boolean[] | null): DecodedArray {
    const repetitions: number[] = [];
    const definitions: number[] = [];
    const values: unknown[] = [];
    for (let row = 0; row < count; row++) {
      const isKept = mask === null || mask[row];
      do {
        const definition = this.#definitions[this.#levelAt];
        if (isKept) {
          definitions.push(definition);
          if (this.#isRepeated) repetitions.push(this.#repetitions[this.#levelAt]);
        }
        if (definition === this.#maxDefinition) {
          if (isKept) values.push(this.#decode(this.#values[this.#valueAt], row));
          this.#valueAt++;
        }
        this.#levelAt++;
      } while (this.#isRepeated && this.#repetitions[this.#levelAt] > 0);
    }
    this.#rowsReady -= count;
    this.#rowsTaken += count;
    if (definitions.length === 0) return [];
    const { schemaPath } = this.#decoder;
    return assembleLists([], definitions, repetitions, this.#finish(values), schemaPath);
  }

  #isAtEnd(): boolean {
    return this.#fileAt >= this.#fileEnd && this.#bufferAt >= this.#buffer.length;
  }

  async #loadPage(): Promise<void> {
    const header = await this.#header();
    const size = header.compressed_page_size;
    if (!(size >= 0 && size <= MAX_PAGE_BYTES && header.uncompressed_page_size <= MAX_PAGE_BYTES)) {
      throw new Error(`page of ${header.uncompressed_page_size} bytes is over ${MAX_PAGE_BYTES}`);
    }
    await this.#fill(size);
    const bytes = this.#buffer.subarray(this.#bufferAt, this.#bufferAt + size);
    this.#bufferAt += size;
    if (header.type === "DICTIONARY_PAGE") this.#loadDictionary(header, bytes);
    else if (header.type !== "INDEX_PAGE") this.#loadData(header, bytes);
  }

  /** Reads a page header, whose length only its end tells. */
  async #header(): Promise<PageHeader> {
    for (let length = 1024; ; length *= 8) {
      const available = await this.#fill(length, { orLess: true });
      const view = new DataView(
        this.#buffer.buffer,
        this.#buffer.byteOffset + this.#bufferAt,
        Math.min(available, length),
      );
      try {
        checkThrift(view, 0);
        const reader = { view, offset: 0 };
        const header = parquetHeader(reader);
        this.#bufferAt += reader.offset;
        return header;
      } catch (error) {
        if (available < length || length >= MAX_HEADER_BYTES) throw error;
      }
    }
  }

  /** Makes the next `length` bytes available in the buffer. */
  async #fill(length: number, { orLess = false } = {}): Promise<number> {
    const held = this.#buffer.length - this.#bufferAt;
    if (held >= length) return held;
    const wanted = Math.min(Math.max(length - held, READ_BYTES), this.#fileEnd - this.#fileAt);
    if (held + wanted < length && !orLess) throw new Error("column ends inside a page");
    // A new buffer each time: values of an uncompressed page are views into the old one.
    const buffer = new Uint8Array(held + wanted);
    buffer.set(this.#buffer.subarray(this.#bufferAt));
    for (let at = held; at < buffer.length;) {
      const { bytesRead } = await this.#file.read(buffer, at, buffer.length - at, this.#fileAt);
      if (bytesRead === 0) throw new Error("file ends inside a column");
      at += bytesRead;
      this.#fileAt += bytesRead;
    }
    this.#buffer = buffer;
    this.#bufferAt = 0;
    return buffer.length;
  }

  #loadDictionary(header: PageHeader, bytes: Uint8Array): void {
    const { codec, type } = this.#decoder;
    const count = header.dictionary_page_header?.num_values ?? 0;
    checkPage({ values: count, nulls: 0, ...this.#sizes(header, bytes) });
    const page = decompressPage(bytes, header.uncompressed_page_size, codec, COMPRESSORS);
    const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
    this.#dictionary = readPlain({ view, offset: 0 }, type, count, this.#element.type_length);
  }

  #loadData(header: PageHeader, bytes: Uint8Array): void {
    const v1 = header.data_page_header;
    const v2 = header.data_page_header_v2;
    const count = v1?.num_values ?? v2?.num_values ?? 0;
    const encoding = v1?.encoding ?? v2?.encoding ?? "PLAIN";
    checkPage({ values: count, nulls: v2?.num_nulls ?? 0, ...this.#sizes(header, bytes) });
    const { definitionLevels, repetitionLevels, dataPage } = v1
      ? this.#readV1(header, v1, bytes)
      : this.#readV2(header, bytes);
    const definitions = definitionLevels?.length
      ? definitionLevels
      : new Array<number>(count).fill(this.#maxDefinition);
    const values = encoding.endsWith("_DICTIONARY") ? this.#resolve(dataPage) : dataPage;
    this.#dropTaken();
    this.#definitions = concat(this.#definitions, definitions);
    this.#values = concat(this.#values, values);
    if (this.#isRepeated) this.#repetitions = concat(this.#repetitions, repetitionLevels);
    this.#rowsReady = this.#countRows();
  }

  #sizes(header: PageHeader, bytes: Uint8Array) {
    const plainBytes = header.uncompressed_page_size;
    return { storedBytes: bytes.length, plainBytes, codec: this.#decoder.codec };
  }

  #readV1(header: PageHeader, v1: NonNullable<PageHeader["data_page_header"]>, bytes: Uint8Array) {
    const { codec } = this.#decoder;
    const page = decompressPage(bytes, header.uncompressed_page_size, codec, COMPRESSORS);
    let rest = page;
    for (const most of [this.#maxRepetition, this.#maxDefinition]) {
      if (most === 0) continue;
      const length = new DataView(rest.buffer, rest.byteOffset, rest.length).getUint32(0, true);
      checkLevels(rest.subarray(4, 4 + length), most, v1.num_values);
      rest = rest.subarray(4 + length);
    }
    this.#checkIndices(v1.encoding, rest, v1.num_values);
    return readDataPage(page, v1, this.#decoder);
  }

  #readV2(header: PageHeader, bytes: Uint8Array) {
    const v2 = header.data_page_header_v2;
    if (v2 === undefined) throw new Error("a page has no header of its own");
    const repetition = v2.repetition_levels_byte_length;
    const levels = repetition + v2.definition_levels_byte_length;
    if (!(repetition >= 0 && levels >= repetition && levels <= bytes.length)) {
      throw new Error(`levels of ${levels} bytes stand in a page of ${bytes.length}`);
    }
    checkLevels(bytes.subarray(0, repetition), this.#maxRepetition, v2.num_values);
    checkLevels(bytes.subarray(repetition, levels), this.#maxDefinition, v2.num_values);
    const size = header.uncompressed_page_size - levels;
    const stored = bytes.subarray(levels);
    // A page with no values may have zero compressed bytes, which is not a valid stream.
    const isPlain =
      v2.is_compressed === false || size === 0 || this.#decoder.codec === "UNCOMPRESSED";
    const body = isPlain ? stored : decompressPage(stored, size, this.#decoder.codec, COMPRESSORS);
    this.#checkIndices(v2.encoding, body, v2.num_values - v2.num_nulls);
    const page = isPlain ? bytes : Buffer.concat([bytes.subarray(0, levels), body]);
    const plainHeader = { ...header, data_page_header_v2: { ...v2, is_compressed: false } };
    return readDataPageV2(page, plainHeader, this.#decoder);
  }

  #checkIndices(encoding: string, bytes: Uint8Array, values: number): void {
    if (values === 0) return;
    if (encoding.endsWith("_DICTIONARY")) checkRuns(bytes.subarray(1), bytes[0], values);
    // Booleans: their length stands before them.
    if (encoding === "RLE") checkRuns(bytes.subarray(4), 1, values);
  }

  #resolve(indices: DecodedArray): unknown[] {
    const dictionary = this.#dictionary;
    if (dictionary === null) throw new Error("page refers to a dictionary that is missing");
    return Array.from(indices as ArrayLike<number>, (index) => {
      if (index >= dictionary.length) throw new Error(`dictionary has no entry ${index}`);
      return dictionary[index] as unknown;
    });
  }

  #dropTaken(): void {
    this.#definitions = this.#definitions.slice(this.#levelAt);
    this.#repetitions = this.#repetitions.slice(this.#levelAt);
    this.#values = this.#values.slice(this.#valueAt);
    this.#levelAt = 0;
    this.#valueAt = 0;
  }

  /** Whole rows held. A list may go on in the next page, so its last row waits for it. */
  #countRows(): number {
    if (!this.#isRepeated) return this.#definitions.length;
    let starts = 0;
    for (const level of this.#repetitions) if (level === 0) starts++;
    return this.#isAtEnd() ? starts : Math.max(starts - 1, 0);
  }

  #decode(value: unknown, row: number): unknown {
    if (!this.#isText) return value;
    const bytes = value as Uint8Array;
    if (!isUtf8(bytes)) {
      const name = this.#decoder.pathInSchema.join(".");
      throw new RowDecodeError(`${name} is not valid UTF-8`, this.#rowsTaken + row);
    }
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  }

  /** Turns stored values into what they stand for: dates, decimals, plain numbers. */
  #finish(values: unknown[]): DecodedArray {
    if (this.#isText) return values;
    // A small copy: values of a page keep the whole page alive.
    if (values[0] instanceof Uint8Array && this.#element.converted_type === undefined) {
      return values.map((value) => (value as Uint8Array).slice());
    }
    return Array.from(convert(values, this.#decoder) as ArrayLike<unknown>, narrowInteger);
  }
}

function concat<T>(head: T[], tail: ArrayLike<T>): T[] {
  if (head.length === 0) return Array.isArray(tail) ? (tail as T[]) : Array.from(tail);
  return head.concat(Array.isArray(tail) ? (tail as T[]) : Array.from(tail));
}

function isTextElement({ type, converted_type, logical_type }: SchemaElement): boolean {
  if (type !== "BYTE_ARRAY") return false;
  return (
    ["UTF8", "ENUM", "JSON"].includes(converted_type ?? "") ||
    ["STRING", "ENUM", "JSON"].includes(logical_type?.type ?? "")
  );
}

/** A 64-bit integer as a number where that is exact; a larger one stays a bigint. */
function narrowInteger(value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  const narrow = Number(value);
  return Number.isSafeInteger(narrow) ? narrow : value;
}
