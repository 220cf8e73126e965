/**
 * Zip archives whose entries are stored, not compressed: the container of torch.save.
 *
 * Only the index is read; an entry is then a range of the file, so tensors stream without a copy of
 * the archive in memory. The central directory is the one truth (torch writes zero sizes into local
 * headers), and whatever would make two readers see two different archives is refused: compressed
 * or encrypted entries, duplicate names, names that leave the archive, overlapping entries, and
 * local headers that disagree with the directory.
 *
 * Covered: zip64, data descriptors. Not covered: compression, several disks, encryption.
 * Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 to 4.5.
 */
import type { FileHandle } from "node:fs/promises";
import { DataError } from "../core/errors.js";

/** One stored entry: a range of the archive's bytes. */
export interface ZipEntry {
  name: string;
  /** Where the entry's own bytes start in the file. */
  offset: number;
  sizeBytes: number;
  /** CRC-32 of the bytes as recorded; 0 where the writer recorded none. */
  crc32: number;
}

// A 70B checkpoint has about a thousand tensors; the directory of this many is still only 100 MB.
const MAX_ENTRIES = 1_000_000;
// The directory is held in memory while it is read: 256 bytes for each of those entries.
const MAX_DIRECTORY_BYTES = 256_000_000;
// Names in torch files are short; 4096 is the longest path Linux takes.
const MAX_NAME_BYTES = 4096;
// The end record is 22 bytes, followed by a comment of at most 65535.
const END_BYTES = 22;
const MAX_COMMENT_BYTES = 65_535;
const LOCAL_HEADER_BYTES = 30;
const DIRECTORY_HEADER_BYTES = 46;
const IN_ZIP64 = 0xffffffff;

/** The directory's own view of an entry: where its local header is. */
interface DirectoryEntry {
  name: string;
  headerOffset: number;
  sizeBytes: number;
  crc32: number;
}

/**
 * Reads the index of a zip file.
 *
 * @throws {DataError} if the file is no zip, is cut short, or holds anything refused above.
 */
export async function readZipIndex(file: FileHandle, path: string): Promise<Map<string, ZipEntry>> {
  const { size } = await file.stat();
  const fail: Fail = (message) => {
    throw new DataError(message, { path });
  };
  const directory = await findDirectory(file, size, fail);
  const bytes = await readRange(file, directory.offset, directory.sizeBytes, fail);
  const listed = parseDirectory(bytes, directory.entries, fail);
  listed.sort((a, b) => a.headerOffset - b.headerOffset);
  const entries = new Map<string, ZipEntry>();
  for (const [index, item] of listed.entries()) {
    if (entries.has(item.name)) fail(`zip: the name ${quote(item.name)} stands there twice`);
    const end = listed[index + 1]?.headerOffset ?? directory.offset;
    entries.set(item.name, await locateEntry(file, item, end, fail));
  }
  return entries;
}

type Fail = (message: string) => never;

/** Finds the central directory from the end of the file, through zip64 where it is there. */
async function findDirectory(file: FileHandle, size: number, fail: Fail) {
  const tailBytes = Math.min(size, END_BYTES + MAX_COMMENT_BYTES);
  const tail = await readRange(file, size - tailBytes, tailBytes, fail);
  let at = tail.length - END_BYTES;
  // The record must close the file exactly, or a second one could hide in its comment.
  while (
    at >= 0 &&
    !(
      tail.readUInt32LE(at) === 0x06054b50 &&
      at + END_BYTES + tail.readUInt16LE(at + 20) === tail.length
    )
  ) {
    at--;
  }
  if (at < 0) {
    fail(
      `expected a zip archive as torch.save writes it, found ${size} bytes without its end record: ` +
        "the file is cut short or of another kind; copy it again from where it was saved",
    );
  }
  const end = {
    entries: tail.readUInt16LE(at + 10),
    sizeBytes: tail.readUInt32LE(at + 12),
    offset: tail.readUInt32LE(at + 16),
    at: size - tailBytes + at,
  };
  if (end.entries === 0xffff || end.sizeBytes === IN_ZIP64 || end.offset === IN_ZIP64) {
    Object.assign(end, await readZip64End(file, end.at, fail));
  }
  if (end.offset + end.sizeBytes > end.at) {
    fail("zip: the directory runs past its own end record; the file is cut short or altered");
  }
  if (end.entries > MAX_ENTRIES || end.sizeBytes > MAX_DIRECTORY_BYTES) {
    fail(
      `zip: a directory of ${end.entries} entries in ${end.sizeBytes} bytes is over the limit of ` +
        `${MAX_ENTRIES} entries in ${MAX_DIRECTORY_BYTES} bytes`,
    );
  }
  return end;
}

async function readZip64End(file: FileHandle, endAt: number, fail: Fail) {
  const locator = await readRange(file, endAt - 20, 20, fail);
  if (locator.readUInt32LE(0) !== 0x07064b50) fail("zip: the zip64 locator is missing");
  const at = toSafe(locator.readBigUInt64LE(8), fail);
  const record = await readRange(file, at, 56, fail);
  if (record.readUInt32LE(0) !== 0x06064b50) fail("zip: the zip64 end record is missing");
  return {
    entries: toSafe(record.readBigUInt64LE(32), fail),
    sizeBytes: toSafe(record.readBigUInt64LE(40), fail),
    offset: toSafe(record.readBigUInt64LE(48), fail),
    at,
  };
}

function parseDirectory(bytes: Buffer, count: number, fail: Fail): DirectoryEntry[] {
  const entries: DirectoryEntry[] = [];
  let at = 0;
  for (let index = 0; index < count; index++) {
    if (at + DIRECTORY_HEADER_BYTES > bytes.length || bytes.readUInt32LE(at) !== 0x02014b50) {
      fail(`zip: the directory promises ${count} entries and ends after ${index}`);
    }
    const nameBytes = bytes.readUInt16LE(at + 28);
    const extraBytes = bytes.readUInt16LE(at + 30);
    const commentBytes = bytes.readUInt16LE(at + 32);
    const end = at + DIRECTORY_HEADER_BYTES + nameBytes + extraBytes + commentBytes;
    if (end > bytes.length) fail(`zip: entry ${index} runs past the directory`);
    entries.push(parseEntry(bytes.subarray(at, end), { nameBytes, extraBytes }, fail));
    at = end;
  }
  return entries;
}

function parseEntry(
  bytes: Buffer,
  { nameBytes, extraBytes }: { nameBytes: number; extraBytes: number },
  fail: Fail,
): DirectoryEntry {
  const nameEnd = DIRECTORY_HEADER_BYTES + nameBytes;
  const name = checkName(bytes.subarray(DIRECTORY_HEADER_BYTES, nameEnd), fail);
  const flags = bytes.readUInt16LE(8);
  const method = bytes.readUInt16LE(10);
  if ((flags & 1) !== 0) fail(`zip: entry ${quote(name)} is encrypted`);
  if (method !== 0) {
    fail(
      `zip: entry ${quote(name)} is compressed (method ${method}); torch.save stores entries as ` +
        "they are, and a compressed one could unpack to any size",
    );
  }
  // In this order, each field that overflowed 32 bits stands in the zip64 extra field.
  const wide = zip64Fields(bytes.subarray(nameEnd, nameEnd + extraBytes), fail);
  const field = (at: number) => {
    const value = bytes.readUInt32LE(at);
    return value === IN_ZIP64 ? wide() : value;
  };
  const [sizeBytes, packedBytes, headerOffset] = [field(24), field(20), field(42)];
  if (packedBytes !== sizeBytes) {
    fail(`zip: stored entry ${quote(name)} claims ${sizeBytes} bytes held in ${packedBytes}`);
  }
  return { name, headerOffset, sizeBytes, crc32: bytes.readUInt32LE(16) };
}

/** Answers the values of the zip64 extra field one after the other. */
function zip64Fields(extra: Buffer, fail: Fail): () => number {
  let field: Buffer = Buffer.alloc(0);
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) === 1) {
      field = extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2));
    }
  }
  let next = 0;
  return () => {
    if (next + 8 > field.length) fail("zip: a size is missing in the zip64 field");
    next += 8;
    return toSafe(field.readBigUInt64LE(next - 8), fail);
  };
}

function checkName(bytes: Buffer, fail: Fail): string {
  const name = bytes.toString("utf8");
  if (bytes.length === 0 || bytes.length > MAX_NAME_BYTES) {
    fail(`zip: a name of ${bytes.length} bytes is not between 1 and ${MAX_NAME_BYTES}`);
  }
  const leaves = name.startsWith("/") || /^[A-Za-z]:/.test(name) || name.split("/").includes("..");
  if (leaves || name.includes("\\") || name.includes("\0")) {
    fail(`zip: the name ${quote(name)} leaves the archive`);
  }
  return name;
}

/** Reads the local header, which must agree with the directory, and finds where the bytes start. */
async function locateEntry(
  file: FileHandle,
  entry: DirectoryEntry,
  end: number,
  fail: Fail,
): Promise<ZipEntry> {
  const nameBytes = Buffer.byteLength(entry.name);
  const header = await readRange(file, entry.headerOffset, LOCAL_HEADER_BYTES + nameBytes, fail);
  const agrees =
    header.readUInt32LE(0) === 0x04034b50 &&
    header.readUInt16LE(8) === 0 &&
    header.readUInt16LE(26) === nameBytes &&
    header.toString("utf8", LOCAL_HEADER_BYTES) === entry.name;
  if (!agrees) fail(`zip: the local header of ${quote(entry.name)} disagrees with the directory`);
  const offset = entry.headerOffset + header.length + header.readUInt16LE(28);
  if (offset + entry.sizeBytes > end) {
    fail(`zip: entry ${quote(entry.name)} overlaps what follows it`);
  }
  return { name: entry.name, offset, sizeBytes: entry.sizeBytes, crc32: entry.crc32 };
}

async function readRange(file: FileHandle, offset: number, length: number, fail: Fail) {
  if (offset < 0) fail("zip: the file is cut short");
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, offset + filled);
    if (bytesRead === 0) fail(`zip: expected ${length} bytes at ${offset}, found ${filled}`);
    filled += bytesRead;
  }
  return buffer;
}

function toSafe(value: bigint, fail: Fail): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER))
    fail(`zip: a size of ${value} bytes is not possible`);
  return Number(value);
}

const quote = (name: string) => JSON.stringify(name.slice(0, 80));
