/**
 * The command `rlvr` and the package `code-rlvr` as a user has them, made from the sources under test.
 *
 * `dist/` may be older than `src/`, and starting each command through a TypeScript loader costs a
 * second; so the sources are translated once into a folder of their own, laid out as the package is.
 */
import { spawn } from "node:child_process";
import { chmod, cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformWithOxc } from "vite";

/** Path of a file of the project. */
export const inProject = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The package in a folder, with `rlvr` and what else commands in the docs call. */
export interface Toolbox {
  /** Folder of the package. */
  packageDir: string;
  /** Folder of executables, to stand first in PATH. */
  bin: string;
}

/** How a command went. */
export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Makes the package below `root`. */
export async function makeToolbox(root: string): Promise<Toolbox> {
  const packageDir = join(root, "code-rlvr");
  const files = await readdir(inProject("src"), { recursive: true });
  const sources = files.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  await Promise.all(sources.map((file) => translate(file, packageDir)));
  for (const name of ["package.json", "python", "starter", "node_modules"]) {
    await symlink(inProject(name), join(packageDir, name));
  }
  const bin = join(root, "bin");
  await mkdir(bin);
  const main = join(packageDir, "dist/cli/main.js");
  await writeScript(join(bin, "rlvr"), `exec "${process.execPath}" "${main}" "$@"`);
  const loader = inProject("node_modules/tsx/dist/loader.mjs");
  const tsx = `exec "${process.execPath}" --import "${loader}" "$@"`;
  const npx = `name=$1; shift\ncase $name in rlvr) exec rlvr "$@";; tsx) ${tsx};; esac\nexit 127`;
  await writeScript(join(bin, "npx"), npx);
  return { packageDir, bin };
}

async function translate(file: string, packageDir: string): Promise<void> {
  const to = join(packageDir, "dist", file.replace(/\.ts$/, ".js"));
  const from = inProject(`src/${file}`);
  const { code } = await transformWithOxc(await readFile(from, "utf8"), from, { sourcemap: false });
  await mkdir(dirname(to), { recursive: true });
  await writeFile(to, code);
}

/** Writes an executable shell script. */
export async function writeScript(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
}

/** A folder in which `import … from "code-rlvr"` finds the package. */
export async function makeWorkFolder(dir: string, { packageDir }: Toolbox): Promise<string> {
  await mkdir(join(dir, "node_modules"), { recursive: true });
  await symlink(packageDir, join(dir, "node_modules/code-rlvr"));
  await writeFile(join(dir, "package.json"), '{"type": "module"}\n');
  return dir;
}

/** The environment of commands: `rlvr` in PATH, a home folder of their own, no keys of the tutorial's. */
export function environmentOf({ bin }: Toolbox, home: string): NodeJS.ProcessEnv {
  const { PATH, LANG } = process.env;
  return {
    PATH: `${bin}:${PATH}`,
    HOME: home,
    HF_ENDPOINT: "http://127.0.0.1:9",
    // Go's own packages take a minute to build; they are the machine's, not the reader's.
    GOCACHE: process.env["GOCACHE"] ?? join(homedir(), ".cache/go-build"),
    ...(LANG === undefined ? {} : { LANG }),
  };
}

/** Runs a shell command in a folder. `onText` sees what it wrote so far, and may stop it. */
export function shell(
  command: string,
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
  onText: (text: string, stop: () => void) => void = () => {},
): Promise<Outcome> {
  // Its own process group, so that stopping reaches what the shell started.
  const child = spawn("bash", ["-c", command], {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  let isStopped = false;
  const stop = () => {
    if (!isStopped) process.kill(-(child.pid as number), "SIGTERM");
    isStopped = true;
  };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk: Buffer) => {
      said[name] += chunk.toString();
      onText(said.stdout + said.stderr, stop);
    });
  }
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, ...said })));
}

/** Runs a service until it says that it serves, gives its address to `use`, and ends it. */
export async function whileServing(
  command: string,
  place: { cwd: string; env: NodeJS.ProcessEnv },
  use: (url: string) => Promise<void> = async () => {},
): Promise<Outcome> {
  let work: Promise<void> | null = null;
  const outcome = await shell(`exec ${command}`, place, (text, stop) => {
    const url = /serving on (\S+)/.exec(text)?.[1];
    if (url === undefined || work !== null) return;
    work = use(url).finally(stop);
  });
  if (work === null) throw new Error(`${command} did not serve:\n${outcome.stderr}`);
  await work;
  return outcome;
}

/** Copies a file or folder of the project. */
export const copyFromProject = (from: string, to: string) =>
  cp(inProject(from), to, { recursive: true });
