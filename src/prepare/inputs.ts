/**
 * The files of a run, opened and recognised before anything is written.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { DataError } from "../core/errors.js";
import type { ManifestInput, Split } from "./manifest.js";
import { openRows, type RowFile } from "./rows.js";
import type { Source } from "./source.js";
import { detectSource, sourceNamed } from "./sources/table.js";

/** One opened file. */
export interface Input {
  split: Split;
  file: RowFile;
  source: Source;
  description: Omit<ManifestInput, "sha256">;
  /** SHA-256 of the file, in hex. */
  hash(): Promise<string>;
}

/** What decides the inputs. */
export interface InputOptions {
  train: string;
  validation: string | null;
  /** Name of a data set, or `auto`. */
  source: string;
}

/**
 * Opens the files, validation first.
 *
 * @throws {DataError} if one cannot be read, is empty or is of no known data set.
 */
export async function openInputs(options: InputOptions): Promise<Input[]> {
  const inputs: Input[] = [];
  try {
    if (options.validation !== null) {
      inputs.push(await openInput("validation", options.validation, options.source));
    }
    inputs.push(await openInput("train", options.train, options.source));
    return inputs;
  } catch (error) {
    await closeInputs(inputs);
    throw error;
  }
}

/** Closes the files. */
export async function closeInputs(inputs: Input[]): Promise<void> {
  for (const { file } of inputs) await file.close();
}

async function openInput(split: Split, path: string, sourceName: string): Promise<Input> {
  const named = sourceName === "auto" ? null : sourceNamed(sourceName);
  const file = await openRows(path);
  try {
    const source = named ?? detectSource(await firstRow(file), path);
    const { format, bytes } = file;
    return {
      split,
      file,
      source,
      description: { split, path, revision: null, source: source.name, format, bytes },
      hash: () => hashFile(path),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function firstRow(file: RowFile) {
  for await (const batch of file.read()) {
    if (batch.rows.length > 0) return batch.rows[0].value;
  }
  throw new DataError("expected rows, found none", { path: file.path });
}

/** SHA-256 of a file, in hex. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    hash.update(chunk as Buffer);
  }
  return hash.digest("hex");
}
