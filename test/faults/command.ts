/** The command line in a process of its own, from the sources. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** How a command ended. */
export interface Ended {
  code: number | null;
  stderr: string;
}

/** Runs `rlvr` to its end. */
export function rlvr(...words: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const args = ["--import", "tsx", MAIN, ...words];
    const child = execFile(process.execPath, args, (_, __, stderr) =>
      resolve({ code: child.exitCode, stderr: stderr.replace(/^npm warn.*\n/gm, "") }),
    );
  });
}
