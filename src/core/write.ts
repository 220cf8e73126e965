/**
 * Writing to the last byte, with errors that name the file: a disk that fills up takes a part of what
 * it is given without a word, and refuses the rest in a message that says "write" and no name.
 */
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { type FileHandle, mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { DataError } from "./errors.js";

/** The error of a file that cannot be written. */
export function cannotWrite(path: string, cause: unknown): DataError {
  if (cause instanceof DataError) return cause;
  return new DataError(`cannot write: ${(cause as Error).message}`, { path, cause });
}

/**
 * Appends to a file, which is made if it is missing. What cannot be written whole is taken back.
 *
 * @throws {DataError} if the disk is full or fails.
 */
export function appendWhole(path: string, content: string | Uint8Array): void {
  try {
    const file = openSync(path, "a");
    const before = fstatSync(file).size;
    try {
      writeAll(file, content);
    } catch (cause) {
      ftruncateSync(file, before);
      throw cause;
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}

/**
 * Replaces a file so that readers see the old content or the new, never a mixture, also after a
 * power cut: the bytes are on disk before the name points at them.
 *
 * @throws {DataError} if the disk is full or fails; the old content stays.
 */
export async function writeAtomic(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.tmp-${process.pid}`;
  try {
    await mkdir(dirname(path), { recursive: true });
    const file = openSync(temporary, "w");
    try {
      writeAll(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw cannotWrite(path, cause);
  }
}

function writeAll(file: number, content: string | Uint8Array): void {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
}

/**
 * Writes all of `bytes`, from the handle's position on or at an offset.
 *
 * @throws {DataError} if the disk is full or fails.
 */
export async function writeFully(
  file: FileHandle,
  bytes: Uint8Array,
  { path, offset = null }: { path: string; offset?: number | null },
): Promise<void> {
  try {
    for (let at = 0; at < bytes.length;) {
      const place = offset === null ? null : offset + at;
      at += (await file.write(bytes, at, bytes.length - at, place)).bytesWritten;
    }
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}
