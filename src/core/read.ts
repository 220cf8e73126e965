/** Reading files that may be missing, where a missing one is an answer and no error. */
import { readFile } from "node:fs/promises";

/** The text of a file; null where there is none. */
export async function readTextOrNull(path: string): Promise<string | null> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
}
