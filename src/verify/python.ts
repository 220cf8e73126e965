/** Finds the real Python interpreter behind launchers such as pyenv's, which cost half a second. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { SandboxError } from "../core/errors.js";

const found = new Map<string, Promise<string>>();

/**
 * Resolves a command such as `python3` to the path of the interpreter that answers to it.
 *
 * @throws {SandboxError} when there is none.
 */
export function resolvePython(command = "python3"): Promise<string> {
  const known = found.get(command);
  if (known !== undefined) return known;
  const asked = askForPath(command);
  found.set(command, asked);
  return asked;
}

async function askForPath(command: string): Promise<string> {
  const script = "import sys; print(sys.executable)";
  try {
    const { stdout } = await promisify(execFile)(command, ["-I", "-c", script]);
    return stdout.trim();
  } catch (cause) {
    found.delete(command);
    throw new SandboxError(
      `a Python 3 interpreter is needed to run programs, but ${command} does not start; ` +
        "install python3, or put the folder of one on PATH",
      { cause },
    );
  }
}
