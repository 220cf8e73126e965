/** Hashes files on a thread of its own, beside the reading of their rows; inputs.ts starts it. */
import { parentPort, workerData } from "node:worker_threads";
import { hashFiles } from "./hash.js";

parentPort?.postMessage(await hashFiles(workerData as string[]));
