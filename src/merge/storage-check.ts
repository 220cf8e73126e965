/**
 * Holds the bytes read from shards against the checksums that torch recorded for them, in passing.
 *
 * A storage is checked when its bytes were read in order from its start, which is how a merge reads
 * parameters; the padding of an uneven shard is read at the end. Files saved without checksums
 * (torch.serialization.set_crc32_options(False)) record zeros and are not checked.
 */
import { crc32 } from "node:zlib";
import { CheckpointError } from "../core/errors.js";
import { readFully } from "../formats/read-fully.js";
import type { TorchStorage } from "../formats/torch-values.js";
import type { TorchFile } from "../formats/torch.js";

interface Running {
  file: TorchFile;
  storage: TorchStorage;
  crc: number;
  /** Bytes seen in order. */
  seen: number;
}

// Padding is less than one row; more than this left unread means a view, which is not checked.
const MAX_PADDING_BYTES = 16 * 2 ** 20;

/** Collects checksums while a merge reads. */
export class StorageCheck {
  readonly #running = new Map<string, Running>();

  /** Takes note of bytes read from a storage. */
  saw(
    file: TorchFile,
    storage: TorchStorage,
    { start, bytes }: { start: number; bytes: Buffer },
  ): void {
    const key = `${file.path}\0${storage.key}`;
    const running = this.#running.get(key) ?? { file, storage, crc: 0, seen: 0 };
    if (start !== running.seen) return;
    running.crc = crc32(bytes, running.crc);
    running.seen += bytes.length;
    this.#running.set(key, running);
  }

  /**
   * Compares what was seen with what the files recorded; answers the number of storages compared.
   *
   * @throws {CheckpointError} if a storage's bytes differ from its checksum.
   */
  async finish(): Promise<number> {
    let compared = 0;
    for (const running of this.#running.values()) {
      const { entry } = running.storage;
      const rest = entry.sizeBytes - running.seen;
      if (entry.crc32 === 0 || rest > MAX_PADDING_BYTES) continue;
      if (rest > 0) {
        const padding = Buffer.allocUnsafe(rest);
        await readFully(running.file.handle, {
          path: running.file.path,
          offset: entry.offset + running.seen,
          bytes: padding,
        });
        running.crc = crc32(padding, running.crc);
      }
      if (running.crc !== entry.crc32) {
        throw new CheckpointError(
          `${running.file.path}: the bytes of ${entry.name} differ from their recorded checksum; ` +
            "the file was damaged after it was saved",
        );
      }
      compared++;
    }
    return compared;
  }
}
