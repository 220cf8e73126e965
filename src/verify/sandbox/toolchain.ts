/** Finds compilers and interpreters on this machine. */
import { execFile } from "node:child_process";
import { realpathSync } from "node:fs";
import { promisify } from "node:util";
import { isReachable } from "./interpreter.js";

/** A program of the machine. */
export interface Tool {
  /** Its path, links of version managers resolved. */
  path: string;
  /** What it says of its version; part of the key of what it compiles. */
  version: string;
  /** Whether any user can run it, so that programs may have a user of their own. */
  isPublic: boolean;
}

/** Runs a tool of PATH for its output; null when it is not there. */
export async function ask(
  command: string,
  args: readonly string[],
  { timeoutMs = 30_000 } = {},
): Promise<string | null> {
  try {
    const { stdout, stderr } = await promisify(execFile)(command, [...args], {
      timeout: timeoutMs,
      maxBuffer: 2 ** 24,
    });
    return stdout.trim() || stderr.trim();
  } catch {
    return null;
  }
}

/** Finds the first of the commands that PATH has. */
export async function findTool(
  commands: readonly string[],
  versionArgs: readonly string[] = ["--version"],
): Promise<Tool | null> {
  for (const command of commands) {
    const version = await ask(command, versionArgs);
    const path = await ask("/bin/sh", ["-c", 'command -v "$0"', command]);
    if (version !== null && path !== null) return toolAt(path, version);
  }
  return null;
}

/** Describes the tool at a path. */
export function toolAt(path: string, version: string): Tool {
  const real = realpathSync(path);
  return { path: real, version, isPublic: isReachable(real) };
}
