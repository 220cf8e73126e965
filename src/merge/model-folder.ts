/** Model directories in Hugging Face's layout, opened for reading by rows. */
import { type FileHandle, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { CheckpointError } from "../core/errors.js";
import { readSafetensorsHeader } from "../formats/safetensors-header.js";
import type { HuggingFaceConfig } from "./expected.js";
import { isFile } from "./locate.js";
import { type NamedSource, storedRows } from "./rows.js";

/** The tensors of a model directory. Close it when they have been read. */
export interface OpenModel {
  tensors: NamedSource[];
  close(): Promise<void>;
}

const indexSchema = z.looseObject({ weight_map: z.record(z.string(), z.string()) });

/**
 * Opens the safetensors files of a directory, one or several with an index.
 *
 * @throws {CheckpointError} if there are none, or the index names what the files do not hold.
 */
export async function openModel(dir: string, stem = "model"): Promise<OpenModel> {
  const single = join(dir, `${stem}.safetensors`);
  if (await isFile(single)) return openFiles([single], null);
  const indexPath = join(dir, `${stem}.safetensors.index.json`);
  if (!(await isFile(indexPath))) {
    throw new CheckpointError(`${dir}: expected ${stem}.safetensors or its index, found neither`);
  }
  const { weight_map: map } = indexSchema.parse(JSON.parse(await readFile(indexPath, "utf8")));
  const names = [...new Set(Object.values(map))].sort();
  const outside = names.find((name) => name.includes("/") || name.includes("\\"));
  if (outside !== undefined) {
    throw new CheckpointError(`${indexPath}: the file name ${outside} leaves the directory`);
  }
  return openFiles(
    names.map((name) => join(dir, name)),
    new Set(Object.keys(map)),
  );
}

async function openFiles(paths: string[], expected: Set<string> | null): Promise<OpenModel> {
  const handles: FileHandle[] = [];
  const close = async () => {
    for (const handle of handles) await handle.close();
  };
  try {
    const tensors: NamedSource[] = [];
    for (const path of paths) {
      const header = await readSafetensorsHeader(path);
      const handle = await open(path, "r");
      handles.push(handle);
      for (const tensor of header.tensors.values()) {
        tensors.push({
          name: tensor.name,
          ownDtype: tensor.dtype,
          ...storedRows({ handle, path }, tensor),
        });
      }
    }
    const found = new Set(tensors.map(({ name }) => name));
    const lacking = [...(expected ?? [])].find((name) => !found.has(name));
    if (lacking !== undefined) {
      throw new CheckpointError(`${paths[0]}: the index names ${lacking}, which no file holds`);
    }
    return { tensors, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Reads config.json; null where there is none. */
export async function readConfig(dir: string): Promise<HuggingFaceConfig | null> {
  const path = join(dir, "config.json");
  if (!(await isFile(path))) return null;
  try {
    return z.looseObject({}).parse(JSON.parse(await readFile(path, "utf8")));
  } catch (cause) {
    throw new CheckpointError(`${path}: expected a JSON object`, { cause });
  }
}
