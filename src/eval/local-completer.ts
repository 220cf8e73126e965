/** Completions from a model directory through the embedded engine. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { Sampler } from "../model/sample.js";
import { loadModel } from "../model/weights.js";
import type { Completer } from "./completer.js";
import { MODEL_DEFAULTS, modelCompleter } from "./model-completer.js";

/** How a model directory is used. */
export interface LocalOptions {
  /** Threads of the tensor runtime. */
  threads: number;
  /** Sequences sampled at a time; more is faster and takes more memory. */
  batchSize: number;
}

/**
 * Loads a model directory.
 *
 * @throws {CheckpointError} if it is not one, or not supported.
 */
export async function localCompleter(dir: string, options: LocalOptions): Promise<Completer> {
  const identity = await digestOf(dir);
  const { config, parameters, tokenizer } = await loadModel(dir);
  const sampler = await Sampler.create(config, parameters, { threads: options.threads });
  return modelCompleter({
    ...MODEL_DEFAULTS,
    sampler,
    tokenizer,
    // Checkpoints all end in the same word; with the folder above it a name says which.
    name: resolve(dir).split(sep).slice(-2).join("/"),
    identity,
    batchSize: options.batchSize,
    close: () => sampler.dispose(),
  });
}

/** Hashes what decides completions: weights, settings, tokenizer, template. */
async function digestOf(dir: string): Promise<string> {
  const hash = createHash("sha256");
  const names = await readdir(dir).catch(() => []);
  const files = names.filter((name) => /\.(safetensors|json|jinja)$/.test(name));
  for (const name of files.sort((a, b) => a.localeCompare(b, "en"))) {
    hash.update(`${name}\0`);
    for await (const chunk of createReadStream(join(dir, name))) hash.update(chunk as Buffer);
  }
  return `sha256:${hash.digest("hex").slice(0, 16)}`;
}
