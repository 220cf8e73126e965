/**
 * Files of torch.save, read without torch: the pickle inside becomes plain data, tensors become
 * views that say where their bytes lie (torch-values.ts), and no code of the file ever runs.
 *
 * Covered: the zip container (torch 1.6 and later), little-endian storages. Not covered: the older
 * container.
 * Source: torch/serialization.py (torch 2.5 to 2.15).
 */
import { type FileHandle, open } from "node:fs/promises";
import { DataError } from "../core/errors.js";
import { type PickleValue, readPickle } from "./pickle.js";
import { type Fail, loadStorage, torchGlobals } from "./torch-values.js";
import { readZipIndex, type ZipEntry } from "./zip.js";

/** An open torch.save file. Close it when its tensors have been read. */
export interface TorchFile {
  path: string;
  /** What was saved: Maps, arrays, numbers, tensors. */
  value: PickleValue;
  handle: FileHandle;
  close(): Promise<void>;
}

// The pickle holds names and shapes, about 1 kB per tensor; the weights lie outside it.
const MAX_PICKLE_BYTES = 256_000_000;

/**
 * Opens a torch.save file and reads everything but the weights.
 *
 * @throws {DataError} if it is no such file, is cut short, names code that is not allowed, or holds
 * a tensor that does not fit its storage.
 */
export async function openTorchFile(path: string): Promise<TorchFile> {
  const handle = await open(path, "r");
  try {
    const entries = await readZipIndex(handle, path);
    const value = await readValue(handle, path, entries);
    return { path, value, handle, close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function readValue(handle: FileHandle, path: string, entries: Map<string, ZipEntry>) {
  const fail: Fail = (message) => {
    throw new DataError(message, { path });
  };
  const pickles = [...entries.keys()].filter((name) => /^[^/]+\/data\.pkl$/.test(name));
  if (pickles.length !== 1) {
    fail(`expected one data.pkl as torch.save writes it, found ${pickles.length}`);
  }
  const root = pickles[0].slice(0, -"data.pkl".length);
  const byteOrder = entries.get(`${root}byteorder`);
  if (byteOrder !== undefined) {
    const order = (await readEntry(handle, byteOrder, fail)).toString("latin1");
    if (order !== "little") fail(`expected little-endian storages, found ${order.slice(0, 20)}`);
  }
  const bytes = await readEntry(handle, entries.get(pickles[0]) as ZipEntry, fail);
  return readPickle(bytes, {
    path,
    globals: torchGlobals(fail),
    persistentLoad: (id) => loadStorage(id, (key) => entries.get(`${root}data/${key}`), fail),
  });
}

async function readEntry(handle: FileHandle, entry: ZipEntry, fail: Fail): Promise<Buffer> {
  if (entry.sizeBytes > MAX_PICKLE_BYTES) {
    fail(`${entry.name} has ${entry.sizeBytes} bytes, over the limit of ${MAX_PICKLE_BYTES}`);
  }
  const buffer = Buffer.alloc(entry.sizeBytes);
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, entry.offset);
  if (bytesRead !== buffer.length) fail(`${entry.name} is cut short`);
  return buffer;
}
