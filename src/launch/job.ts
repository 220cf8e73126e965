/** A running veRL, on this machine or in a Ray cluster: its lines, its end, and stopping it. */
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { LaunchError } from "../core/errors.js";
import type { LaunchCommand } from "./command.js";
import { quoteForShell } from "./hydra.js";
import type { RayJobs } from "./ray-jobs.js";

/** How a job ended. */
export interface JobEnd {
  /** Exit code of veRL; null where a signal or Ray ended it. */
  code: number | null;
  /** What ended it, in words. */
  reason: string;
}

/** A started job. */
export interface Job {
  /** Process id, or Ray's submission id. */
  id: string;
  ended: Promise<JobEnd>;
  /** Asks it to end, and makes it end if it does not. */
  stop(): Promise<void>;
}

/** What a job is started with. */
export interface JobOptions {
  command: LaunchCommand;
  onLine: (line: string) => void;
}

// veRL needs a moment to shut Ray down; then it is no longer asked.
const PATIENCE_MS = 20_000;

/** Starts veRL on this machine, in a process group of its own, so that stopping it stops Ray too. */
export function startLocal(
  { command, onLine }: JobOptions,
  {
    environment,
    patienceMs = PATIENCE_MS,
  }: { environment: NodeJS.ProcessEnv; patienceMs?: number },
): Job {
  const [program, ...args] = command.words;
  const child = spawn(program, args, {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...environment, ...command.environment },
  });
  const ended = new Promise<JobEnd>((resolve, reject) => {
    child.on("error", (cause) =>
      reject(new LaunchError(`launch: cannot start ${program}`, { cause })),
    );
    child.on("close", (code, signal) =>
      resolve({ code, reason: signal === null ? `exit code ${code}` : `signal ${signal}` }),
    );
  });
  for (const stream of [child.stdout, child.stderr]) splitLines(stream, onLine);
  const signalAll = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // The group is gone already.
    }
  };
  const stop = async () => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGKILL"] as const) {
      signalAll(signal);
      const patience = new AbortController();
      const isOver = await Promise.race([
        ended.then(
          () => true,
          // It did not start.
          () => true,
        ),
        sleep(patienceMs, false, { signal: patience.signal }).catch(() => true),
      ]);
      patience.abort();
      if (isOver) break;
    }
    // Workers that outlived their leader.
    signalAll("SIGKILL");
  };
  return { id: String(child.pid), ended, stop };
}

function splitLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let torn = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    // Progress bars move with carriage returns; each state is a line.
    const lines = (torn + chunk).split(/\r?\n|\r/);
    torn = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
  stream.on("end", () => {
    if (torn !== "") onLine(torn);
  });
}

// A long log is read less often, so that reading it takes no more than 1 MB/s of the head's network; a
// reader of the log waits for its end no longer than this.
const LOG_CHARACTERS_PER_MS = 1000;
const LONGEST_LOG_PAUSE_MS = 120_000;

/** Submits veRL as a job of a Ray cluster and follows it. */
export async function startOnRay(
  { command, onLine }: JobOptions,
  { ray, id, pollMs = 2000 }: { ray: RayJobs; id: string | null; pollMs?: number },
): Promise<Job> {
  const entrypoint = command.words.map(quoteForShell).join(" ");
  const jobId = await ray.submit({ entrypoint, environment: command.environment, id });
  let seen = 0;
  let nextReadAt = 0;
  const readLogs = async (isOver: boolean) => {
    if (!isOver && performance.now() < nextReadAt) return;
    const logs = await ray.logs(jobId);
    // Ray gives all of it or nothing, each time.
    nextReadAt =
      performance.now() + Math.min(logs.length / LOG_CHARACTERS_PER_MS, LONGEST_LOG_PAUSE_MS);
    const end = isOver ? logs.length : logs.lastIndexOf("\n") + 1;
    if (end <= seen) return;
    const lines = logs.slice(seen, end).replace(/\n$/, "").split("\n");
    seen = end;
    for (const line of lines) onLine(line);
  };
  const follow = async (): Promise<JobEnd> => {
    for (;;) {
      const { status, message, driver_exit_code: code } = await ray.status(jobId);
      const isOver = status !== "PENDING" && status !== "RUNNING";
      await readLogs(isOver);
      if (isOver) {
        const exit = code ?? (status === "SUCCEEDED" ? 0 : null);
        return { code: exit, reason: `${status.toLowerCase()}: ${message ?? ""}`.trim() };
      }
      await sleep(pollMs);
    }
  };
  return { id: jobId, ended: follow(), stop: () => ray.stop(jobId) };
}

/** Starts jobs in a Ray cluster, or on this machine where there is none. */
export function jobStarter(ray: RayJobs | null, environment: NodeJS.ProcessEnv) {
  return (options: JobOptions): Promise<Job> =>
    ray === null
      ? Promise.resolve(startLocal(options, { environment }))
      : startOnRay(options, { ray, id: null });
}
