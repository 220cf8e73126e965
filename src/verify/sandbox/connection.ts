/** One fork server: its process, the jobs it has in hand, and what it says of them. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { SandboxError } from "../../core/errors.js";
import type { ProgramOutcome, SandboxLimits } from "../sandbox.js";
import type { Interpreter } from "./interpreter.js";
import { type Answer, AnswerReader, packRequest, type ServerReport } from "./wire.js";

const SERVER = fileURLToPath(new URL("../../../python/sandbox/server.py", import.meta.url));
const START_TIMEOUT_MS = 60_000;
const STDERR_KEPT = 4096;
/** How often a server with work in hand is asked whether it still answers. */
const PING_EVERY_MS = 2000;
/**
 * Pings that may stay without an answer one after the other. Counted, not timed: while this process
 * itself is busy, no ping is sent and no answer read. The server's loop never waits for a program,
 * so a silence this long means that it is stuck, or the machine is.
 */
const MOST_SILENT_PINGS = 10;

/**
 * The whole environment of servers and programs. Hashes, locale and zone are fixed so that a
 * program ends the same way each time; one arena and one thread per library keep its memory small.
 */
const ENVIRONMENT = {
  PATH: "/usr/bin:/bin",
  LANG: "C.UTF-8",
  TZ: "UTC",
  PYTHONHASHSEED: "0",
  PYTHONUTF8: "1",
  PYTHONDONTWRITEBYTECODE: "1",
  MALLOC_ARENA_MAX: "1",
  OMP_NUM_THREADS: "1",
  OPENBLAS_NUM_THREADS: "1",
  MKL_NUM_THREADS: "1",
};

/** What a server is started with. */
export interface ServerSettings {
  interpreter: Interpreter;
  /** Modules to load before the first program, besides the usual ones. */
  preload: readonly string[];
  /** False leaves out the inner layers: for measuring them, never for untrusted programs. */
  inner: boolean;
  /** Whether to try for namespaces. */
  outer: boolean;
}

/** Who is told of a job's progress. Exactly one of the last three calls ends a job. */
export interface JobListener {
  onOutcome(test: number, outcome: ProgramOutcome, isFirst: boolean): void;
  onMessage?(message: string): void;
  /** All outcomes have come, or the job was cancelled. */
  onDone(): void;
  /** The server failed, not the program. */
  onFailure(error: SandboxError): void;
}

/** A request's header without its number. */
export type JobHeader = { op: string } & Record<string, unknown>;

/** Limits as the server reads them. */
export function limitsHeader(limits: SandboxLimits): Record<string, number> {
  const { cpuMs, wallMs, memoryBytes, outputBytes } = limits;
  return { cpu_ms: cpuMs, wall_ms: wallMs, memory: memoryBytes, output: outputBytes };
}

/** A running server. */
export class ServerConnection {
  readonly report: ServerReport;
  /** Called once when the server has ended, however that came. */
  onClose: () => void = () => undefined;
  #child: ChildProcess;
  #jobs: Map<number, JobListener>;
  #nextJob = 1;
  #closed = false;
  readonly #watchdog: Watchdog;

  private constructor(child: ChildProcess, report: ServerReport, jobs: Map<number, JobListener>) {
    this.#child = child;
    this.report = report;
    this.#jobs = jobs;
    this.#watchdog = new Watchdog(child, {
      isBusy: () => jobs.size > 0,
      ping: () => this.#write(packRequest({ op: "ping", id: 0 })),
    });
  }

  /**
   * Starts a server and waits until it can serve.
   *
   * @throws {SandboxError} when it does not start.
   */
  static start(settings: ServerSettings): Promise<ServerConnection> {
    const { interpreter, preload, inner, outer } = settings;
    const config = JSON.stringify({ paths: interpreter.packages, preload, inner, outer });
    const child = spawn(interpreter.executable, ["-s", "-S", "-B", SERVER, config], {
      stdio: ["pipe", "pipe", "pipe"],
      env: ENVIRONMENT,
      cwd: "/",
    });
    const jobs = new Map<number, JobListener>();
    return new Promise((resolve, reject) => {
      let connection: ServerConnection | null = null;
      const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
      const onReady = (report: ServerReport) => {
        clearTimeout(timer);
        connection = new ServerConnection(child, report, jobs);
        resolve(connection);
      };
      const onEnd = (reason: string) => {
        clearTimeout(timer);
        if (connection === null)
          reject(new SandboxError(`sandbox server did not start: ${reason}`));
        else connection.#end(reason);
      };
      attend(child, { onAnswer: (answer) => dispatch(answer, jobs, onReady), onEnd });
    });
  }

  /** Jobs that have not ended, cancelled ones included. */
  get load(): number {
    return this.#jobs.size;
  }

  /**
   * Sends a job; answers its number.
   *
   * @throws {ConfigError} when its limits cannot be sent.
   */
  submit(header: JobHeader, body: readonly Uint8Array[], listener: JobListener): number {
    const id = this.#nextJob++;
    // Before it counts as a job: one that cannot be packed would never end.
    const request = packRequest({ ...header, id }, body);
    this.#jobs.set(id, listener);
    this.#write(request);
    return id;
  }

  /** Ends a job; its listener hears `onDone`. A job that has ended by itself is left alone. */
  cancel(id: number): void {
    if (this.#jobs.has(id)) this.#write(packRequest({ op: "cancel", id }));
  }

  /** Sends a session's message; `goesOn` lets its clocks go on where they stopped. */
  send(id: number, message: string, goesOn: boolean): void {
    if (!this.#jobs.has(id)) return;
    this.#write(packRequest({ op: "send", id, goes_on: goesOn }, [Buffer.from(message)]));
  }

  /** Ends the server and every process it has. */
  async close(): Promise<void> {
    if (this.#closed) return;
    const ended = new Promise<void>((resolve) => this.#child.once("close", () => resolve()));
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(timer);
  }

  #write(data: Buffer): void {
    if (!this.#closed) this.#child.stdin?.write(data);
  }

  #end(reason: string): void {
    this.#closed = true;
    const said = this.#watchdog.hasBitten ? "it did not answer" : reason;
    this.#watchdog.stop();
    const listeners = [...this.#jobs.values()];
    this.#jobs.clear();
    for (const listener of listeners)
      listener.onFailure(new SandboxError(`sandbox server ended: ${said}`));
    this.onClose();
  }
}

/** Kills a server that has stopped answering, so that its work fails and may be tried again. */
class Watchdog {
  /** Whether it has killed the server. */
  hasBitten = false;
  readonly #timer: NodeJS.Timeout;
  #silentPings = 0;

  constructor(child: ChildProcess, server: { isBusy: () => boolean; ping: () => void }) {
    child.stdout?.on("data", () => (this.#silentPings = 0));
    this.#timer = setInterval(() => {
      if (!server.isBusy()) {
        this.#silentPings = 0;
        return;
      }
      if (this.#silentPings >= MOST_SILENT_PINGS) {
        this.hasBitten = true;
        child.kill("SIGKILL");
      }
      this.#silentPings++;
      server.ping();
    }, PING_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Listens to the process: answers as they come, and its end once all has been read. */
function attend(
  child: ChildProcess,
  { onAnswer, onEnd }: { onAnswer: (answer: Answer) => void; onEnd: (reason: string) => void },
): void {
  const reader = new AnswerReader();
  let stderr = "";
  let problem: Error | null = null;
  child.stdout?.on("data", (chunk: Buffer) => {
    try {
      for (const answer of reader.read(chunk)) onAnswer(answer);
    } catch (error) {
      problem = error as Error;
      child.kill("SIGKILL");
    }
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-STDERR_KEPT);
  });
  // A write to a server that has just died fails; its end is told by `close`.
  child.stdin?.on("error", () => undefined);
  child.on("error", (error) => onEnd(error.message));
  child.on("close", (code, signal) => {
    const said = stderr.trim() === "" ? "" : `: ${stderr.trim()}`;
    onEnd(problem?.message ?? `${signal ?? `exit code ${code}`}${said}`);
  });
}

function dispatch(
  answer: Answer,
  jobs: Map<number, JobListener>,
  onReady: (report: ServerReport) => void,
): void {
  if (answer.kind === "ready") {
    onReady(answer.report);
    return;
  }
  if (answer.kind === "alive") return;
  const listener = jobs.get(answer.job);
  if (listener === undefined) return;
  switch (answer.kind) {
    case "outcome":
      if (answer.isLast) jobs.delete(answer.job);
      listener.onOutcome(answer.test, answer.outcome, answer.isFirst);
      if (answer.isLast) listener.onDone();
      return;
    case "message":
      listener.onMessage?.(answer.message);
      return;
    case "done":
      jobs.delete(answer.job);
      listener.onDone();
      return;
    case "failure":
      jobs.delete(answer.job);
      listener.onFailure(new SandboxError(`sandbox: ${answer.reason}`));
  }
}
