/**
 * What a parquet file claims, checked before a decoder takes memory or time for it.
 *
 * A few bytes may name lists, runs and pages of two thousand million values; decoders fill arrays of
 * that size before they notice that the file ends.
 *
 * Source: Thrift's compact protocol and Parquet's encodings, https://github.com/apache/parquet-format.
 */

/** Values of one page. Writers end a page at about a megabyte; runs of equal values hold more. */
const MAX_PAGE_VALUES = 2 ** 24;
/** Metadata nests five deep. */
const MAX_DEPTH = 32;
/** The most that one byte can become, by the format of each codec; null is bounded by the page. */
const MOST_EXPANSION: Record<string, number> = {
  UNCOMPRESSED: 1,
  SNAPPY: 64,
  GZIP: 1100,
  LZ4: 260,
  LZ4_RAW: 260,
};
/** Values that a bit-packed run may have behind the last one, to fill its groups. */
const PADDED_VALUES = 512;

/** Checks one struct of the compact protocol, from `at` on. */
export function checkThrift(bytes: DataView, at: number): void {
  const cursor = { bytes, at };
  skipStruct(cursor, 0);
}

interface Cursor {
  bytes: DataView;
  at: number;
}

function skipStruct(cursor: Cursor, depth: number): void {
  if (depth > MAX_DEPTH) throw new Error(`metadata is nested more than ${MAX_DEPTH} deep`);
  for (;;) {
    const head = takeByte(cursor);
    const type = head & 15;
    if (type === STOP) return;
    if (head >> 4 === 0) takeVarint(cursor);
    // The value of a boolean field is its type.
    if (type > FALSE) skipValue(cursor, type, depth);
  }
}

const STOP = 0;
const FALSE = 2;
const LIST = 9;
const STRUCT = 12;

function skipValue(cursor: Cursor, type: number, depth: number): void {
  if (type <= 3) skipBytes(cursor, 1);
  else if (type <= 6) takeVarint(cursor);
  else if (type === 7) skipBytes(cursor, 8);
  else if (type === 8) skipBytes(cursor, takeVarint(cursor));
  else if (type === LIST) skipList(cursor, depth);
  else if (type === STRUCT) skipStruct(cursor, depth + 1);
  else throw new Error(`metadata holds the unknown type ${type}`);
}

function skipList(cursor: Cursor, depth: number): void {
  if (depth > MAX_DEPTH) throw new Error(`metadata is nested more than ${MAX_DEPTH} deep`);
  const head = takeByte(cursor);
  const count = head >> 4 === 15 ? takeVarint(cursor) : head >> 4;
  const left = cursor.bytes.byteLength - cursor.at;
  if (count > left) throw new Error(`a list of ${count} items stands in ${left} bytes`);
  for (let i = 0; i < count; i++) skipValue(cursor, head & 15, depth + 1);
}

function takeByte(cursor: Cursor): number {
  skipBytes(cursor, 1);
  return cursor.bytes.getUint8(cursor.at - 1);
}

function skipBytes(cursor: Cursor, count: number): void {
  if (count > cursor.bytes.byteLength - cursor.at) throw new Error("it ends early");
  cursor.at += count;
}

/** Ten bytes hold 70 bits, more than any number of the format. */
function takeVarint(cursor: Cursor): number {
  let value = 0;
  for (let i = 0; i < 10; i++) {
    const byte = takeByte(cursor);
    value += (byte & 127) * 2 ** (7 * i);
    if (byte < 128) return value;
  }
  throw new Error("a number of metadata has no end");
}

/** Checks how many values a page claims, and that its bytes can become as many as it says. */
export function checkPage(page: {
  values: number;
  nulls: number;
  storedBytes: number;
  plainBytes: number;
  codec: string;
}): void {
  const { values, nulls, storedBytes, plainBytes, codec } = page;
  if (!(values >= 0 && values <= MAX_PAGE_VALUES)) {
    throw new Error(`a page of ${values} values is over the limit of ${MAX_PAGE_VALUES}`);
  }
  if (!(nulls >= 0 && nulls <= values)) throw new Error(`${nulls} of ${values} values are null`);
  const most = MOST_EXPANSION[codec];
  if (most !== undefined && plainBytes > storedBytes * most + 64) {
    throw new Error(`a ${codec} page of ${storedBytes} bytes claims to hold ${plainBytes}`);
  }
}

/** Checks the levels of a page: their runs hold `values`, and none holds more than is left. */
export function checkLevels(bytes: Uint8Array, most: number, values: number): void {
  if (most === 0) return;
  const missing = checkRuns(bytes, 32 - Math.clz32(most), values);
  if (missing > 0) throw new Error(`a page of ${values} values lacks the levels of ${missing}`);
}

/**
 * Checks the runs of dictionary indices: none holds more than is left of `values`. Answers how many
 * are left at their end, as where values are null.
 */
export function checkRuns(bytes: Uint8Array, bitWidth: number, values: number): number {
  const cursor = { bytes: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), at: 0 };
  if (bitWidth > 32) throw new Error(`indices of ${bitWidth} bits`);
  let left = values;
  while (left > 0 && cursor.at < bytes.length) {
    const head = takeVarint(cursor);
    const isPacked = head % 2 === 1;
    const count = Math.floor(head / 2) * (isPacked ? 8 : 1);
    if (count > left + (isPacked ? PADDED_VALUES : 0)) {
      throw new Error(`a run of ${count} values where ${left} are left`);
    }
    left -= count;
    // Some writers leave out the last bytes of the last run.
    if (isPacked && left <= 0) break;
    skipBytes(cursor, isPacked ? (count / 8) * bitWidth : Math.ceil(bitWidth / 8));
  }
  return Math.max(left, 0);
}
