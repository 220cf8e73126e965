/** Room on a disk. */
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/** Free bytes where a folder is, or would be made. */
export async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return freeBytes(dirname(resolve(folder)));
  }
}
