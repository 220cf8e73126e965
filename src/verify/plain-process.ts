/**
 * One Python process under limits, in a folder of its own that is removed afterwards.
 *
 * Standard input and output are files without a name, so that nothing waits for a pipe: a program
 * that does not read cannot block the writer, one that prints a lot cannot fill a pipe, and a
 * child that keeps standard output open delays nothing. Limits are looked after from outside;
 * those of the shell's `ulimit` are a second net.
 */
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { closeSync, fstatSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SandboxError } from "../core/errors.js";
import { ProcessTree } from "./process-tree.js";
import type { ProgramEnd, ProgramOutcome, SandboxLimits } from "./sandbox.js";

/** What is started. */
export interface PlainProcessOptions {
  python: string;
  /** Arguments of the interpreter; relative paths are seen from the process's own folder. */
  args: readonly string[];
  /** Files written into that folder first. */
  files: Readonly<Record<string, string>>;
  stdin: Uint8Array;
  limits: SandboxLimits;
  /** Opens descriptor 3 as a two-way channel. */
  channel: boolean;
}

const STDERR_BYTES = 4096;
const LOOK_EVERY_MS = 15;
/** Threads reserve stack beside the limit on resident memory; the outer net is this much wider. */
const RESERVE_BYTES = 4 * 2 ** 30;

/** A running process; `ended` resolves once it and everything it started is gone. */
export class PlainProcess {
  readonly ended: Promise<ProgramOutcome>;
  readonly child: ChildProcess;
  private readonly limits: SandboxLimits;
  private readonly tree: ProcessTree;
  private readonly folder: string;
  private readonly output: number;
  private readonly startedAt = performance.now();
  private stopped: ProgramEnd | null = null;
  private stderr = Buffer.alloc(0);
  private cpuMs = 0;
  private peakBytes = 0;
  /** Processor time at the start of the budget, and the end of the budget on the wall. */
  private budget: { fromCpuMs: number; untilMs: number } | null;

  private constructor(options: PlainProcessOptions, folder: string) {
    const { limits } = options;
    this.limits = limits;
    this.folder = folder;
    this.budget = { fromCpuMs: 0, untilMs: this.startedAt + limits.wallMs };
    const input = unnamedFile(join(folder, "stdin"), options.stdin);
    this.output = unnamedFile(join(folder, "stdout"), new Uint8Array());
    const mark = `RLVR_BOX=${folder}`;
    try {
      this.child = start(options, folder, [input, this.output]);
    } finally {
      closeSync(input);
    }
    this.tree = new ProcessTree(this.child.pid ?? 0, mark);
    this.ended = this.follow();
  }

  /** @throws {SandboxError} when the process cannot be started. */
  static async start(options: PlainProcessOptions): Promise<PlainProcess> {
    const folder = await mkdtemp(join(tmpdir(), "rlvr-"));
    try {
      await mkdir(join(folder, "box"));
      for (const [name, text] of Object.entries(options.files)) {
        await writeFile(join(folder, "box", name), text);
      }
      return new PlainProcess(options, folder);
    } catch (cause) {
      await removeFolder(folder);
      throw new SandboxError("a process for a program could not be started", { cause });
    }
  }

  /** Starts the limits anew. */
  restartBudget(): void {
    this.cpuMs = Math.max(this.cpuMs, this.tree.look().cpuMs);
    this.budget = { fromCpuMs: this.cpuMs, untilMs: performance.now() + this.limits.wallMs };
  }

  /** Stops the clocks; answers what continues them with what was left. */
  pauseBudget(): () => void {
    const { budget } = this;
    if (budget === null) return () => this.restartBudget();
    const leftMs = budget.untilMs - performance.now();
    this.budget = null;
    return () => {
      this.budget = { fromCpuMs: budget.fromCpuMs, untilMs: performance.now() + leftMs };
    };
  }

  /** Ends the process for this reason; the first reason counts. */
  stop(end: ProgramEnd): void {
    this.stopped ??= end;
    try {
      process.kill(-(this.child.pid ?? 0), "SIGKILL");
    } catch {
      // It has ended by itself; `follow` sees to what it left.
    }
  }

  private async follow(): Promise<ProgramOutcome> {
    this.child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr = Buffer.concat([this.stderr, chunk]).subarray(-STDERR_BYTES);
    });
    this.child.stderr?.on("error", () => undefined);
    const looking = setInterval(() => this.enforce(), LOOK_EVERY_MS);
    try {
      const [exitCode, signal] = await exitOf(this.child);
      const wallMs = performance.now() - this.startedAt;
      await this.tree.end();
      await drained(this.child);
      return { ...this.outcome(exitCode, signal), wallMs };
    } finally {
      clearInterval(looking);
      await this.tree.end();
      closeSync(this.output);
      await removeFolder(this.folder);
    }
  }

  private enforce(): void {
    const { cpuMs, residentBytes } = this.tree.look();
    this.cpuMs = Math.max(this.cpuMs, cpuMs);
    this.peakBytes = Math.max(this.peakBytes, residentBytes);
    const { budget, limits } = this;
    if (residentBytes > limits.memoryBytes) this.stop({ kind: "memory_limit" });
    if (fstatSync(this.output).size > limits.outputBytes) this.stop({ kind: "output_limit" });
    if (budget === null) return;
    if (this.cpuMs - budget.fromCpuMs > limits.cpuMs)
      this.stop({ kind: "time_limit", clock: "cpu" });
    if (performance.now() > budget.untilMs) this.stop({ kind: "time_limit", clock: "wall" });
  }

  private outcome(exitCode: number | null, signal: string | null): ProgramOutcome {
    const size = fstatSync(this.output).size;
    const stderr = this.stderr.toString("utf8");
    const end =
      size > this.limits.outputBytes
        ? ({ kind: "output_limit" } as const)
        : (this.stopped ?? endOf(exitCode, signal, stderr));
    const kept = Buffer.alloc(Math.min(size, this.limits.outputBytes));
    for (let at = 0; at < kept.length;) {
      const read = readSync(this.output, kept, at, kept.length - at, at);
      if (read === 0) break;
      at += read;
    }
    const { cpuMs, peakBytes } = this;
    return { end, stdout: kept, stderr, cpuMs, wallMs: 0, peakBytes };
  }
}

function endOf(exitCode: number | null, signal: string | null, stderr: string): ProgramEnd {
  if (signal === "SIGXCPU") return { kind: "time_limit", clock: "cpu" };
  if (signal !== null) return { kind: "signaled", signal };
  if (exitCode === 1 && isCompileError(stderr)) return { kind: "compile_error" };
  if (exitCode !== 0 && /(?:^|\n)MemoryError(?::.*)?\s*$/.test(stderr)) {
    return { kind: "memory_limit" };
  }
  return { kind: "exited", exitCode: exitCode ?? 0 };
}

/** The interpreter reports an error in the main file itself without a traceback. */
function isCompileError(stderr: string): boolean {
  const isReport = /^\s*File "/.test(stderr) || /^SyntaxError:/.test(stderr);
  return isReport && /\n?(?:SyntaxError|IndentationError|TabError|ValueError): .*\s*$/.test(stderr);
}

/** The environment of every program: nothing of ours, everything that makes runs alike. */
function environment(box: string, folder: string): Record<string, string> {
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: box,
    TMPDIR: box,
    LANG: "C.UTF-8",
    TZ: "UTC",
    PYTHONHASHSEED: "0",
    PYTHONINTMAXSTRDIGITS: "0",
    PYTHONUTF8: "1",
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONNOUSERSITE: "1",
    OMP_NUM_THREADS: "1",
    OPENBLAS_NUM_THREADS: "1",
    RLVR_BOX: folder,
  };
}

function start(options: PlainProcessOptions, folder: string, [input, output]: number[]) {
  const { limits, python, args, channel } = options;
  const box = join(folder, "box");
  // Each limit on its own: a system that refuses one still sets the others.
  const limit = [
    "ulimit -c 0",
    `ulimit -t ${Math.ceil(limits.cpuMs / 1000) + (channel ? 3600 : 1)}`,
    `ulimit -f ${Math.ceil(limits.outputBytes / 512) + 1}`,
    `ulimit -d ${Math.ceil((limits.memoryBytes + RESERVE_BYTES) / 1024)}`,
    "ulimit -n 256",
    "ulimit -S -s 65536",
  ].map((command) => `${command} 2>/dev/null || :`);
  const script = `${limit.join("; ")}; exec "$0" "$@"`;
  const stdio: StdioOptions = [input, output, "pipe", ...(channel ? ["pipe" as const] : [])];
  return spawn("/bin/sh", ["-c", script, python, "-s", "-B", ...args], {
    cwd: box,
    env: environment(box, folder),
    stdio,
    detached: true,
  });
}

function exitOf(child: ChildProcess): Promise<[number | null, string | null]> {
  return new Promise((resolve, reject) => {
    child.once("exit", (code, signal) => resolve([code, signal]));
    child.once("error", (cause) =>
      reject(new SandboxError("the process of a program failed", { cause })),
    );
  });
}

/** Waits until the streams have ended; a stream held open by something we cannot see is cut. */
async function drained(child: ChildProcess): Promise<void> {
  const { stderr } = child;
  if (stderr === null || stderr.readableEnded || stderr.destroyed) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, 200);
    stderr.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
  stderr.destroy();
}

function unnamedFile(path: string, content: Uint8Array): number {
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  for (let at = 0; at < content.length;) at += writeSync(file, content, at, undefined, at);
  return file;
}

/** Removes a folder, also when the program took away the right to look into it. */
async function removeFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    await openUp(folder);
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function openUp(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await openUp(join(folder, entry.name));
  }
}
