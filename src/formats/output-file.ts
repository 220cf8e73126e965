/**
 * A file that is being written: buffered, hashed on the way, with errors that name the file.
 */
import { createHash, type Hash } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { DataError } from "../core/errors.js";

const BUFFER_BYTES = 2 ** 20;

/** Writes one file from start to end. */
export class OutputFile {
  readonly path: string;
  #file: number | null;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #bytes = 0;
  readonly #hash: Hash = createHash("sha256");

  /** @throws {DataError} if the file cannot be created. */
  constructor(path: string) {
    this.path = path;
    try {
      this.#file = openSync(path, "w");
    } catch (cause) {
      throw new DataError(`cannot write: ${(cause as Error).message}`, { path, cause });
    }
  }

  /** Bytes given so far. */
  get byteLength(): number {
    return this.#bytes;
  }

  /** SHA-256 of the whole content, in hex; to be asked once, after the last `write`. */
  digest(): string {
    return this.#hash.digest("hex");
  }

  /**
   * Adds bytes or text. The bytes must not change afterwards.
   *
   * @throws {DataError} if the disk is full or fails.
   */
  write(content: string | Uint8Array): void {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    this.#hash.update(bytes);
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    this.#bytes += bytes.length;
    if (this.#heldBytes >= BUFFER_BYTES) this.flush();
  }

  /** Hands everything to the operating system. */
  flush(): void {
    // Small pieces are joined for fewer calls; one large piece needs no copy.
    const bytes = this.#held.length === 1 ? this.#held[0] : Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(this.#file as number, bytes, at);
    } catch (cause) {
      const { path } = this;
      throw new DataError(`cannot write: ${(cause as Error).message}`, { path, cause });
    }
  }

  /** Closes the file; what was not flushed is lost. */
  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }
}
