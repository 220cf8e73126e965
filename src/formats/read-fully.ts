/** Positional reads that end early only with an error. */
import type { FileHandle } from "node:fs/promises";
import { DataError } from "../core/errors.js";

/**
 * Fills the whole of `bytes` from an offset of a file.
 *
 * @throws {DataError} if the file ends first.
 */
export async function readFully(
  file: FileHandle,
  { path, offset, bytes }: { path: string; offset: number; bytes: Buffer },
): Promise<void> {
  for (let filled = 0; filled < bytes.length;) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, offset + filled);
    if (bytesRead === 0) {
      throw new DataError(
        `expected ${bytes.length} bytes at ${offset}, found ${filled}; the file is cut short`,
        { path },
      );
    }
    filled += bytesRead;
  }
}
