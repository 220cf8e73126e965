/** SHA-256 of files: the names under which the manifest knows them. */
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

/** SHA-256 of files one after the other, in hex. */
export async function hashFiles(paths: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const path of paths) {
    for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) {
      hash.update(chunk as Buffer);
    }
  }
  return hash.digest("hex");
}

// Starting a thread costs more than hashing what is smaller.
const THREAD_BYTES = 64 * 2 ** 20;

/** The same on another thread, where the files are large and the code is built. */
export async function hashFilesAside(paths: readonly string[], bytes: number): Promise<string> {
  const worker = new URL("./hash-worker.js", import.meta.url);
  // Run from source, the worker exists as TypeScript only.
  if (bytes < THREAD_BYTES || !existsSync(fileURLToPath(worker))) return hashFiles(paths);
  return new Promise((resolve, reject) => {
    const thread = new Worker(worker, { workerData: paths });
    thread.once("message", resolve);
    thread.once("error", reject);
    // After an error in the rows nobody waits for the hash.
    thread.unref();
  });
}
