/**
 * The files of a run, opened and recognised before anything is written.
 */
import { DataError } from "../core/errors.js";
import type { OnProgress } from "../core/progress.js";
import type { ManifestInput } from "./manifest.js";
import { hashFilesAside } from "./hash.js";
import { fetchSplit, type HubAccess, isHubId } from "./hub.js";
import { openRowFiles, type RowFile } from "./rows.js";
import type { Source, Split } from "./source.js";
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
  hub: HubAccess;
  onProgress?: OnProgress;
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
      inputs.push(await openInput("validation", options.validation, options));
    }
    inputs.push(await openInput("train", options.train, options));
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

async function openInput(split: Split, path: string, options: InputOptions): Promise<Input> {
  const named = options.source === "auto" ? null : sourceNamed(options.source);
  const { revision, paths } = isHubId(path)
    ? await fetchSplit(path, split, { ...options.hub, ...progressOf(options) })
    : { revision: null, paths: [path] };
  const file = await openRowFiles(paths);
  try {
    const source = named ?? detectSource(await firstRow(file), path);
    const { format, bytes } = file;
    return {
      split,
      file,
      source,
      description: { split, path, revision, source: source.name, format, bytes },
      hash: () => hashFilesAside(paths, bytes),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

const progressOf = ({ onProgress }: InputOptions) => (onProgress ? { onProgress } : {});

async function firstRow(file: RowFile) {
  for await (const batch of file.read()) {
    if (batch.rows.length > 0) return batch.rows[0].value;
  }
  throw new DataError("expected rows, found none", { path: file.path });
}
