/**
 * Follows a JSONL file: each read hands over the lines that became whole since the last one.
 *
 * A last line without its newline is still being written, or was torn by a crash; it waits. A file
 * that shrank or was replaced, as a resume from an earlier step leaves it, is read anew.
 */
import { open, stat } from "node:fs/promises";
import { DataError } from "./errors.js";

/** Small enough that whoever else waits for the event loop gets a turn every few milliseconds. */
const CHUNK_BYTES = 2 ** 20;
const NEWLINE = 10;

/** What to do with lines. A line that `onLine` throws on is counted as bad and left out. */
export interface LineTailHandlers {
  onLine: (line: string) => void;
  onReset: () => void;
}

/** One followed file. */
export class LineTail {
  readonly #path: string;
  readonly #handlers: LineTailHandlers;
  #offset: number;
  #inode: number | null = null;
  #badLines = 0;
  #reading: Promise<void> | null = null;

  /** Reads from byte `offset` on; what comes before is never handed over. */
  constructor(path: string, handlers: LineTailHandlers, offset = 0) {
    this.#path = path;
    this.#handlers = handlers;
    this.#offset = offset;
  }

  /** Lines left out because they could not be understood. */
  get badLines(): number {
    return this.#badLines;
  }

  /** Bytes that the next read has to go through. */
  async backlog(): Promise<number> {
    const info = await stat(this.#path).catch(() => null);
    if (info === null) return 0;
    return this.#isReplaced(info) ? info.size : info.size - this.#offset;
  }

  /**
   * Hands over what was appended; a missing file has nothing yet. Calls at once share one read.
   *
   * @throws {DataError} if the file is there and cannot be read.
   */
  read(): Promise<void> {
    this.#reading ??= this.#read().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #read(): Promise<void> {
    const info = await stat(this.#path).catch(() => null);
    if (info === null) return;
    if (this.#isReplaced(info)) {
      this.#offset = 0;
      this.#badLines = 0;
      this.#handlers.onReset();
    }
    this.#inode = info.ino;
    if (info.size <= this.#offset) return;
    await this.#readAppended().catch((cause: Error) => {
      throw new DataError(`expected a file to read: ${cause.message}`, { path: this.#path, cause });
    });
  }

  #isReplaced({ size, ino }: { size: number; ino: number }): boolean {
    return this.#inode !== null && (size < this.#offset || ino !== this.#inode);
  }

  async #readAppended(): Promise<void> {
    const file = await open(this.#path);
    try {
      const buffer = Buffer.alloc(CHUNK_BYTES);
      let rest: Buffer = Buffer.alloc(0);
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, this.#offset + rest.length);
        if (bytesRead === 0) return;
        const chunk = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
        const end = chunk.lastIndexOf(NEWLINE) + 1;
        for (const line of chunk.toString("utf8", 0, end).split("\n")) {
          if (line !== "") this.#hand(line);
        }
        this.#offset += end;
        rest = chunk.subarray(end);
      }
    } finally {
      await file.close();
    }
  }

  #hand(line: string): void {
    try {
      this.#handlers.onLine(line);
    } catch {
      this.#badLines++;
    }
  }
}
