/** Disks of a few hundred kilobytes: file systems in memory, which only root may mount. */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A mounted disk. */
export interface TinyDisk {
  dir: string;
  /** Takes all space but `spareBytes`. */
  fill(spareBytes?: number): void;
  /** Gives it back. */
  free(): void;
  protect(): void;
  unprotect(): void;
  unmount(): void;
}

/** Mounts a disk at a folder, which is made if it is missing. */
export function mountTiny(dir: string, bytes = 4 * 2 ** 20): TinyDisk {
  mkdirSync(dir, { recursive: true });
  const mount = (...words: string[]) => execFileSync("mount", words, { stdio: "pipe" });
  mount("-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", dir);
  const balloon = join(dir, ".balloon");
  return {
    dir,
    fill: (spareBytes = 0) => truncateSync(balloon, Math.max(0, inflate(balloon) - spareBytes)),
    free: () => rmSync(balloon, { force: true }),
    protect: () => mount("-o", "remount,ro", dir),
    unprotect: () => mount("-o", "remount,rw", dir),
    // Lazily: a server of the test may still have a file open.
    unmount: () => execFileSync("umount", ["-l", dir], { stdio: "pipe" }),
  };
}

/** Writes until nothing more fits; answers how much did. */
function inflate(path: string): number {
  const file = openSync(path, "a");
  const page = Buffer.alloc(4096, 1);
  let size = 0;
  try {
    for (;;) size += writeSync(file, page);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(file);
  }
  return size;
}

/** Says whether disks can be mounted here. */
export function canMount(): boolean {
  const dir = mkdtempSync(join(tmpdir(), "rlvr-mount-"));
  try {
    mountTiny(dir).unmount();
    return true;
  } catch {
    return false;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
