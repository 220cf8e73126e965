/**
 * Launches veRL and sees it through: start, follow, write down, stop, and a true account of how it
 * ended.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { formatConfig, type ResolvedConfig } from "../config/resolve.js";
import { LaunchError } from "../core/errors.js";
import type { Problem } from "../core/problem.js";
import {
  appendLine,
  type HealthEvent,
  type MetricsRecord,
  type RunInfo,
  runPaths,
  writeAtomic,
  writeRunInfo,
} from "../core/run.js";
import { truncateRun } from "../core/truncate.js";
import { VERSION } from "../core/version.js";
import { appendWhole } from "../core/write.js";
import { type PreparedFile, prepareFile } from "./data.js";
import { type Judge, removeDumps } from "./dumps.js";
import { explainFailure } from "./failures.js";
import { RunFollower } from "./follow.js";
import type { Job, JobEnd } from "./job.js";
import type { LaunchPlan } from "./plan.js";

/** What a launch tells while it goes on. */
export type LaunchEvent =
  | { kind: "started"; job: string; resumedFrom: number | null }
  | { kind: "line"; line: string }
  | { kind: "record"; record: MetricsRecord }
  | { kind: "health"; event: HealthEvent }
  | { kind: "notice"; message: string };

/** How a launch ended. */
export interface LaunchSummary {
  status: Exclude<RunInfo["status"], "running">;
  dir: string;
  end: JobEnd;
  /** Last step that was written down; null when there was none. */
  lastStep: number | null;
  /** veRL's checkpoints, oldest first; `rlvr merge` takes each. */
  checkpoints: string[];
  /** What is known of a failure; null when it did not fail, or nothing is known. */
  failure: { what: string; cure: string } | null;
  /** Last lines of the console lines. */
  tail: string[];
}

/** What a launch needs from outside. */
export interface LaunchOptions {
  /** Starts the job; lines go to the callback. */
  start: (onLine: (line: string) => void) => Promise<Job>;
  problems: ReadonlyMap<string, Problem>;
  trainRows: number;
  judge: Judge | null;
  /** Health rules: what there is to say of a record. */
  observe: (record: MetricsRecord) => HealthEvent[];
  onEvent: (event: LaunchEvent) => void;
  signal: AbortSignal;
  isolation: string | null;
  /** Time without a line after which a notice says that it may hang. */
  quietMs?: number;
  pollMs?: number;
}

// Loading a 7B model and compiling its graphs is silent for minutes; half an hour is not normal.
const QUIET_MS = 30 * 60_000;
const POLL_MS = 1000;
const TAIL_LINES = 200;

/** Writes the parquet files of a plan. */
export async function prepareData(
  plan: LaunchPlan,
): Promise<{ train: PreparedFile; val: PreparedFile | null }> {
  const train = await prepareFile(plan.trainFiles, plan.paths.trainFile);
  const { valFile } = plan.paths;
  const val = valFile === null ? null : await prepareFile(plan.valFiles, valFile);
  return { train, val };
}

/**
 * Carries out a plan. Resolves when veRL has ended, however it did. The caller holds the run
 * directory (`lockRun`), because data and service are there before.
 *
 * @throws {LaunchError} if it cannot be started, followed or stopped.
 * @throws whatever made following it impossible, such as a judge that fails or a full disk; veRL is
 * stopped first.
 */
export async function launch(
  plan: LaunchPlan,
  resolved: ResolvedConfig,
  options: LaunchOptions,
): Promise<LaunchSummary> {
  const info = await openRunDirectory(plan, resolved, options);
  try {
    const summary = await startAndFollow(plan, info.resumedFrom, options);
    await writeRunInfo(plan.dir, { ...info.run, status: summary.status, pid: null });
    return summary;
  } catch (error) {
    const failed = { ...info.run, status: "failed" as const, pid: null };
    // On a full disk run.json cannot be written either; the first error is the one to tell.
    await writeRunInfo(plan.dir, failed).catch(() => undefined);
    throw error;
  }
}

async function startAndFollow(
  plan: LaunchPlan,
  resumedFrom: number | null,
  options: LaunchOptions,
): Promise<LaunchSummary> {
  const tail: string[] = [];
  let lastLineAt = Date.now();
  const follower = new RunFollower({
    dir: plan.dir,
    metricsFile: plan.release.hasFileLogger ? plan.paths.metricsFile : null,
    rolloutDumps: plan.paths.rollouts,
    validationDumps: plan.paths.validation,
    infraLog: plan.paths.infraLog,
    problems: options.problems,
    judge: options.judge,
    onRecord: (record) => {
      options.onEvent({ kind: "record", record });
      for (const event of options.observe(record)) say(event);
    },
    now: Date.now,
  });
  const fatal = new AbortController();
  const say = (event: HealthEvent) => {
    appendLine(runPaths(plan.dir).health, event);
    options.onEvent({ kind: "health", event });
    if (event.severity === "fatal") fatal.abort();
  };
  // Lines come from a stream, where an error would end the process and leave veRL alone.
  const unwritten = new AbortController();
  const onLine = (line: string) => {
    lastLineAt = Date.now();
    tail.push(line);
    if (tail.length > TAIL_LINES) tail.shift();
    if (unwritten.signal.aborted) return;
    try {
      appendWhole(plan.paths.consoleLog, line + "\n");
      follower.readConsole(line);
      options.onEvent({ kind: "line", line });
    } catch (error) {
      unwritten.abort(error);
    }
  };
  const job = await options.start(onLine);
  try {
    options.onEvent({ kind: "started", job: job.id, resumedFrom });
    const stop = AbortSignal.any([options.signal, fatal.signal, unwritten.signal]);
    const quiet = watchSilence(options, () => lastLineAt);
    const end = await seeThrough(job, { follower, stop, quiet, pollMs: options.pollMs ?? POLL_MS });
    unwritten.signal.throwIfAborted();
    const status = statusOf(end, options.signal, fatal.signal);
    return {
      status,
      dir: plan.dir,
      end,
      lastStep: follower.lastStep,
      checkpoints: await listCheckpoints(plan.dir),
      failure: status === "failed" && !fatal.signal.aborted ? explainFailure(tail) : null,
      tail,
    };
  } catch (error) {
    await endJob(job, error);
    throw error;
  }
}

function statusOf(end: JobEnd, asked: AbortSignal, fatal: AbortSignal): LaunchSummary["status"] {
  if (asked.aborted) return "interrupted";
  return end.code === 0 && !fatal.aborted ? "finished" : "failed";
}

/** Follows a job to its end, and makes it end when `stop` says so. */
async function seeThrough(
  job: Job,
  the: { follower: RunFollower; stop: AbortSignal; quiet: () => void; pollMs: number },
): Promise<JobEnd> {
  const over = new AbortController();
  const ended = job.ended.finally(() => over.abort());
  let stopping = Promise.resolve();
  const stop = () => {
    stopping = job.stop();
    // What cannot be stopped is not waited for.
    stopping.catch(() => over.abort());
  };
  // Both are awaited below; until then nobody else hears of a failure.
  ended.catch(() => undefined);
  if (the.stop.aborted) stop();
  else the.stop.addEventListener("abort", stop, { once: true, signal: over.signal });
  while (!over.signal.aborted) {
    await the.follower.poll({ isOver: false });
    the.quiet();
    await sleep(the.pollMs, undefined, { signal: over.signal }).catch(() => undefined);
  }
  await stopping;
  const end = await ended;
  await the.follower.poll({ isOver: true });
  return end;
}

/**
 * Ends a job that nobody follows any more.
 *
 * @throws {LaunchError} if it cannot be stopped, with what had happened before.
 */
async function endJob(job: Job, because: unknown): Promise<void> {
  try {
    await job.stop();
  } catch (cause) {
    const [what, why] = [because, cause].map((error) => (error as Error).message);
    const more = what === why ? "" : ` (${why})`;
    throw new LaunchError(
      `launch: ${what}; then veRL could not be stopped${more} and may still train: look at job ` +
        `${job.id}, and end it with ray job stop ${job.id}`,
      { cause: because },
    );
  }
  await job.ended.catch(() => undefined);
}

/** Says once that nothing has been heard for long, and again after the next line. */
function watchSilence(options: LaunchOptions, lastLineAt: () => number): () => void {
  const quietMs = options.quietMs ?? QUIET_MS;
  let saidOf = 0;
  return () => {
    const since = lastLineAt();
    if (Date.now() - since < quietMs || saidOf === since) return;
    saidOf = since;
    const message =
      `veRL has printed nothing for ${Math.round(quietMs / 1000)} s; it may hang: look at ` +
      "/tmp/ray/session_latest/logs, and at `ray status` for processors that it waits for";
    options.onEvent({ kind: "notice", message });
  };
}

async function openRunDirectory(
  plan: LaunchPlan,
  resolved: ResolvedConfig,
  options: LaunchOptions,
): Promise<{ run: RunInfo; resumedFrom: number | null }> {
  const { config } = resolved;
  const paths = runPaths(plan.dir);
  for (const folder of [paths.rollouts, paths.checkpoints, paths.logs, join(plan.dir, "verl")]) {
    await mkdir(folder, { recursive: true });
  }
  const isResumed = config.trainer.resume_mode !== "disable";
  const resumedFrom = isResumed
    ? await resumeStep(plan.dir, config.trainer.resume_from_path)
    : null;
  await truncateRun(plan.dir, resumedFrom);
  for (const folder of [plan.paths.rollouts, plan.paths.validation]) {
    await removeDumps(folder, resumedFrom);
  }
  const stepsPerEpoch = Math.floor(options.trainRows / config.data.train_batch_size);
  const run: RunInfo = {
    format: 1,
    name: plan.name,
    preset: resolved.preset,
    engine: "verl",
    seed: config.seed,
    startedAt: new Date().toISOString(),
    version: VERSION,
    isolation: options.isolation,
    totalSteps: config.trainer.total_training_steps ?? stepsPerEpoch * config.trainer.total_epochs,
    status: "running",
    pid: process.pid,
  };
  await writeAtomic(paths.config, formatConfig(resolved));
  await writeRunInfo(plan.dir, run);
  return { run, resumedFrom };
}

/** The step that veRL will go on from; null when it starts. */
async function resumeStep(dir: string, from: string | null): Promise<number | null> {
  const named = /global_steps?_(\d+)/.exec(from ?? "")?.[1];
  if (named !== undefined) return Number(named);
  const tracker = join(runPaths(dir).checkpoints, "latest_checkpointed_iteration.txt");
  return existsSync(tracker) ? Number(await readFile(tracker, "utf8")) : null;
}

/** veRL's checkpoint folders in a run directory, oldest first. */
export async function listCheckpoints(dir: string): Promise<string[]> {
  const { checkpoints } = runPaths(dir);
  if (!existsSync(checkpoints)) return [];
  const stepOf = (name: string) => Number(/^global_steps?_(\d+)$/.exec(name)?.[1] ?? NaN);
  return (await readdir(checkpoints))
    .filter((name) => !Number.isNaN(stepOf(name)))
    .sort((a, b) => stepOf(a) - stepOf(b))
    .map((name) => join(checkpoints, name));
}
