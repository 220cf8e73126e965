/**
 * An output folder that is filled all at once: files are written into a hidden folder beside their
 * places and moved there when all are whole. Whatever goes wrong before leaves the output as it was.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
} from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../core/errors.js";

/** An output folder in the making. */
export interface Stage {
  /** The path to write the file of this name to. */
  path(name: string): string;
  /** Moves every file to its place; the one named last comes last. */
  commit(last: string): void;
  /** Takes away everything that was written. */
  rollback(): void;
}

/**
 * Opens a stage for an output folder, which is made if it is missing.
 *
 * @throws {ConfigError} if the folder cannot be made.
 */
export function openStage(out: string): Stage {
  const isNew = !existsSync(out);
  let folder: string;
  try {
    mkdirSync(out, { recursive: true });
    folder = mkdtempSync(join(out, ".prepare-"));
  } catch (cause) {
    throw new ConfigError(`output folder ${out} cannot be made: ${(cause as Error).message}`, {
      cause,
    });
  }
  return {
    path: (name) => join(folder, name),
    commit: (last) => {
      const names = readdirSync(folder).filter((name) => name !== last);
      for (const name of [...names, last]) renameSync(join(folder, name), join(out, name));
      rmdirSync(folder);
    },
    rollback: () => {
      rmSync(folder, { recursive: true, force: true });
      if (isNew && readdirSync(out).length === 0) rmdirSync(out);
    },
  };
}
