/** Python environments that tests use where they exist; see test/venvs.sh. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Path of an environment's Python, and null where it is not installed. */
export function venvPython(name: string): string | null {
  const root = process.env.CODE_RLVR_VENVS ?? join(homedir(), ".cache", "code-rlvr", "venvs");
  const path = join(root, name, "bin", "python");
  return existsSync(path) ? path : null;
}
