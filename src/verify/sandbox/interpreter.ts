/**
 * Finds the Python that runs programs: a real binary (never a shim, whose start costs more than
 * most programs), and one that other users can reach when programs run as another user.
 */
import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { ConfigError } from "../../core/errors.js";

/** What the sandbox needs to know of an interpreter. */
export interface Interpreter {
  /** The binary itself, without links of version managers. */
  executable: string;
  version: string;
  /** Folder of the standard library. */
  library: string;
  /** Folders of installed packages; programs may import from them. */
  packages: string[];
  hasNumpy: boolean;
}

const QUESTION = `
import json, os, site, sys
from importlib.util import find_spec
packages = [path for path in site.getsitepackages() if os.path.isdir(path)]
print(json.dumps({
    "executable": sys.executable, "version": sys.version.split()[0],
    "library": os.path.dirname(os.__file__), "packages": packages,
    "hasNumpy": find_spec("numpy") is not None, "isRecent": sys.version_info >= (3, 9)}))
`;
const CANDIDATES = ["python3", "/usr/bin/python3", "/usr/local/bin/python3"];

/**
 * Finds an interpreter: the one asked for, else the first of PATH and the usual places. A process
 * of root's prefers one that an ordinary user can read, since programs then get a user of their own.
 *
 * @throws {ConfigError} when there is none, or it is older than 3.9.
 */
export async function findInterpreter(asked?: string): Promise<Interpreter> {
  const found: Interpreter[] = [];
  const problems: string[] = [];
  for (const candidate of asked === undefined ? CANDIDATES : [asked]) {
    try {
      found.push(await question(candidate));
    } catch (error) {
      problems.push(`${candidate}: ${(error as Error).message.split("\n")[0]}`);
    }
  }
  const isRoot = process.geteuid?.() === 0;
  const best = found.find(({ library }) => !isRoot || isReachable(library)) ?? found[0];
  if (best !== undefined) return best;
  throw new ConfigError(
    `the sandbox needs Python 3.9 or newer as python3; tried ${problems.join("; ")}`,
  );
}

async function question(candidate: string): Promise<Interpreter> {
  const { stdout } = await promisify(execFile)(candidate, ["-c", QUESTION], { timeout: 30_000 });
  const { isRecent, ...interpreter } = JSON.parse(stdout) as Interpreter & { isRecent: boolean };
  if (!isRecent) throw new ConfigError(`version ${interpreter.version} is older than 3.9`);
  return interpreter;
}

/** Whether any user can enter every folder on the way to `path` and read it. */
export function isReachable(path: string): boolean {
  if ((statSync(path).mode & 0o005) !== 0o005) return false;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
