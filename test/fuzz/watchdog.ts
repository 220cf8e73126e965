/**
 * Ends a process that hangs on one input. A parser that never returns also stops every timer of its
 * thread, so another thread looks whether the inputs go on, and tells which one did not.
 */
import { Worker } from "node:worker_threads";

/** Far more than any input takes on a busy machine. */
const LIMIT_MS = 60_000;
const SHOWN_BYTES = 2048;

/** In the shared memory: the number of the input, the length of its text, then the text. */
const WATCHER = `
const { workerData, parentPort } = require("node:worker_threads");
const { writeSync } = require("node:fs");
const { memory, name, seed, limitMs } = workerData;
const state = new Int32Array(memory, 0, 2);
let seen = -1;
let since = Date.now();
const timer = setInterval(() => {
  const now = Atomics.load(state, 0);
  if (now !== seen) { seen = now; since = Date.now(); return; }
  if (Date.now() - since < limitMs) return;
  const text = Buffer.from(memory, 8, Atomics.load(state, 1)).toString();
  writeSync(2, "fuzz " + name + ": seed " + seed + ", path " + (seen - 1) + " hangs: " + text + "\\n");
  process.kill(process.pid, "SIGKILL");
}, 1000);
parentPort.once("message", () => clearInterval(timer));
`;

/** Watches one target. */
export function watch(name: string, seed: number) {
  const memory = new SharedArrayBuffer(8 + SHOWN_BYTES);
  const state = new Int32Array(memory, 0, 2);
  const text = new Uint8Array(memory, 8);
  const encoder = new TextEncoder();
  const workerData = { memory, name, seed, limitMs: LIMIT_MS };
  const worker = new Worker(WATCHER, { eval: true, workerData });
  worker.unref();
  return {
    /** Says that the next input begins. */
    pat(input: unknown): void {
      const bytes = encoder.encode(shown(input)).subarray(0, SHOWN_BYTES);
      text.set(bytes);
      Atomics.store(state, 1, bytes.length);
      Atomics.add(state, 0, 1);
    },
    stop: async (): Promise<void> => void (await worker.terminate()),
  };
}

function shown(input: unknown): string {
  if (input instanceof Uint8Array) return `base64 ${Buffer.from(input).toString("base64")}`;
  return typeof input === "string" ? input : JSON.stringify(input);
}
