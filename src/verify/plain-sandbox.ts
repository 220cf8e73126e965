/**
 * The sandbox for systems without the fork server: one process per test.
 *
 * Covered: time on the processor and on the wall, memory and output limits, a private folder, a
 * clean environment, the end of everything a program started. Not covered: files, network and
 * signals to other processes of the same user are open to the program, hence level `none`.
 */
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { SandboxError } from "../core/errors.js";
import { PlainProcess } from "./plain-process.js";
import { resolvePython } from "./python.js";
import type {
  ProgramJob,
  ProgramOutcome,
  Sandbox,
  Session,
  SessionEvent,
  SessionJob,
} from "./sandbox.js";

/** How the plain sandbox is set up. */
export interface PlainSandboxOptions {
  /** Processes at a time. */
  workers: number;
  /** The interpreter's command or path. */
  python?: string;
}

/** What a message takes in memory beyond its text. */
const MESSAGE_BYTES = 256;

const CALLS = fileURLToPath(new URL("../../python/sandbox/calls.py", import.meta.url));

/**
 * Opens the plain sandbox.
 *
 * @throws {SandboxError} when there is no Python interpreter.
 */
export async function openPlainSandbox(options: PlainSandboxOptions): Promise<Sandbox> {
  return new PlainSandbox(options.workers, await resolvePython(options.python));
}

class PlainSandbox implements Sandbox {
  readonly level = "none";
  private readonly python: string;
  private readonly waiting: (() => void)[] = [];
  private readonly running = new Set<PlainProcess>();
  private free: number;
  private isClosed = false;

  constructor(workers: number, python: string) {
    this.free = workers;
    this.python = python;
  }

  async run(job: ProgramJob): Promise<ProgramOutcome[]> {
    if (job.language !== "python") {
      throw new SandboxError(
        `the plain sandbox runs python programs only, not ${job.language}; ` +
          "other languages need the fork server (Linux)",
      );
    }
    await this.enter();
    try {
      return await this.runTests(job);
    } finally {
      this.leave();
    }
  }

  /** Sessions wait on each other, so they do not queue: the caller bounds their number. */
  async openSession(job: SessionJob): Promise<Session> {
    const running = await this.start({
      args: [CALLS, job.role, "3", "3"],
      files: {},
      stdin: new Uint8Array(),
      limits: job.limits,
      channel: true,
    });
    job.signal?.addEventListener("abort", () =>
      running.stop({ kind: "signaled", signal: "SIGKILL" }),
    );
    const session = new PlainSession(running, job.limits.outputBytes);
    session.send(JSON.stringify(["load", job.source, job.prelude ?? false]));
    return session;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.waiting.splice(0).forEach((wake) => wake());
    const ended = [...this.running].map((running) => {
      running.stop({ kind: "signaled", signal: "SIGKILL" });
      return running.ended;
    });
    await Promise.allSettled(ended);
  }

  private async runTests(job: ProgramJob): Promise<ProgramOutcome[]> {
    const outcomes: ProgramOutcome[] = [];
    for (const [index, stdin] of job.stdins.entries()) {
      job.signal?.throwIfAborted();
      const outcome = await this.runTest(job, stdin);
      job.signal?.throwIfAborted();
      outcomes.push(outcome);
      const goesOn = job.onOutcome?.(index, outcome, true) ?? true;
      if (!goesOn || outcome.end.kind === "compile_error") break;
    }
    return outcomes;
  }

  private async runTest(job: ProgramJob, stdin: Uint8Array): Promise<ProgramOutcome> {
    const { source, limits, signal } = job;
    const files = { "main.py": source };
    const running = await this.start({ args: ["main.py"], files, stdin, limits, channel: false });
    const stop = () => running.stop({ kind: "signaled", signal: "SIGKILL" });
    signal?.addEventListener("abort", stop);
    try {
      return await running.ended;
    } finally {
      signal?.removeEventListener("abort", stop);
      if (this.isClosed) throw new SandboxError("the sandbox was closed while a program ran");
    }
  }

  private async start(
    options: Omit<Parameters<typeof PlainProcess.start>[0], "python">,
  ): Promise<PlainProcess> {
    if (this.isClosed) throw new SandboxError("the sandbox is closed");
    const running = await PlainProcess.start({ ...options, python: this.python });
    this.running.add(running);
    const forget = () => this.running.delete(running);
    running.ended.then(forget, forget);
    return running;
  }

  private async enter(): Promise<void> {
    if (this.free > 0) {
      this.free--;
      return;
    }
    await new Promise<void>((wake) => this.waiting.push(wake));
    if (this.isClosed) throw new SandboxError("the sandbox was closed");
  }

  private leave(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free++;
    else next();
  }
}

class PlainSession implements Session {
  private readonly running: PlainProcess;
  private readonly channel: Duplex;
  private readonly maxBytes: number;
  private readonly events: SessionEvent[] = [];
  private readonly readers: ((event: SessionEvent) => void)[] = [];
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  /** Of messages that nobody has asked for yet. */
  private queuedBytes = 0;
  private resume: (() => void) | null = null;

  constructor(running: PlainProcess, maxBytes: number) {
    this.running = running;
    this.maxBytes = maxBytes;
    this.channel = running.child.stdio[3] as Duplex;
    this.channel.on("data", (chunk: Buffer) => this.take(chunk));
    // A process that ends while we write breaks the channel; its end is told by `ended`.
    this.channel.on("error", () => undefined);
    running.ended.then(
      (outcome) => this.deliver({ kind: "ended", outcome }),
      () => this.deliver({ kind: "ended", outcome: LOST }),
    );
  }

  send(message: string, budget: "fresh" | "running" = "fresh"): void {
    if (budget === "running" && this.resume !== null) this.resume();
    else this.running.restartBudget();
    this.resume = null;
    if (this.channel.writable) this.channel.write(message + "\n");
  }

  receive(): Promise<SessionEvent> {
    const event = this.events.shift();
    if (event === undefined) return new Promise((resolve) => this.readers.push(resolve));
    // The end stays: whoever asks again hears it again.
    if (event.kind === "ended") this.events.unshift(event);
    else this.queuedBytes -= event.message.length + MESSAGE_BYTES;
    return Promise.resolve(event);
  }

  async close(): Promise<void> {
    this.running.stop({ kind: "exited", exitCode: 0 });
    this.channel.destroy();
    await this.running.ended.catch(() => undefined);
  }

  private take(chunk: Buffer): void {
    let rest = chunk;
    for (let at = rest.indexOf(10); at !== -1; at = rest.indexOf(10)) {
      const message = Buffer.concat([...this.pending, rest.subarray(0, at)]).toString("utf8");
      this.pending = [];
      this.pendingBytes = 0;
      rest = rest.subarray(at + 1);
      this.resume ??= this.running.pauseBudget();
      this.deliver({ kind: "message", message });
    }
    this.pending.push(rest);
    this.pendingBytes += rest.length;
    if (this.pendingBytes > this.maxBytes) this.running.stop({ kind: "output_limit" });
  }

  private deliver(event: SessionEvent): void {
    const reader = this.readers.shift();
    if (reader !== undefined) reader(event);
    if (reader === undefined || event.kind === "ended") this.events.push(event);
    if (reader !== undefined || event.kind === "ended") return;
    this.queuedBytes += event.message.length + MESSAGE_BYTES;
    if (this.queuedBytes <= this.maxBytes) return;
    this.channel.destroy();
    this.running.stop({ kind: "output_limit" });
  }
}

/** What is told of a process whose end could not be observed. */
const LOST: ProgramOutcome = {
  end: { kind: "signaled", signal: "SIGKILL" },
  stdout: new Uint8Array(),
  stderr: "",
  cpuMs: 0,
  wallMs: 0,
  peakBytes: 0,
};
