/** The text of a config file that the command line names. */
import { readFile } from "node:fs/promises";
import { ConfigError } from "../core/errors.js";
import { whyUnreadable } from "../core/read.js";

/**
 * Reads it.
 *
 * @throws {ConfigError} naming what was `expected` if the file cannot be read.
 */
export async function readConfigFile(path: string, expected: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new ConfigError(`expected ${expected}, found ${path}: ${whyUnreadable(cause)}`, {
      cause,
    });
  }
}
