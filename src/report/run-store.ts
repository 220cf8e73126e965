/**
 * The runs under one directory, for readers that come back often: the service and the dashboard.
 *
 * A run directory may be half-written, torn or not a run at all; what can be read is shown, and
 * what is wrong is said in `problems`. Tables of runs not looked at for a while are let go, so that
 * memory does not grow with the number of runs.
 */
import { open, readdir, readFile, stat } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { z } from "zod";
import { ConfigError, DataError } from "../core/errors.js";
import { LineTail } from "../core/line-tail.js";
import { isAlive } from "../core/process.js";
import { type HealthEvent, readRunInfo, type RunInfo, runPaths } from "../core/run.js";
import { MetricsTable } from "./metrics-table.js";
import { readProblemTags } from "./problem-tags.js";
import { RolloutTable } from "./rollout-table.js";

const OPEN_RUNS = 8;
const SPARKLINE_POINTS = 40;
const SPARKLINE_METRIC = "reward/pass_rate";
/** A running run that has written nothing for so long is shown as stale. */
const STALE_MS = 5 * 60_000;
/** The same where the process that writes it is not on this machine, or gone. */
const ORPHAN_MS = 30_000;

/** What a line of each file is. */
const LINES: Record<string, string> = {
  "metrics.jsonl": "metrics",
  "health.jsonl": "health events",
  "rollouts/index.jsonl": "entries of rollouts",
};

/** What the pages show of a health event. */
const healthEventSchema = z.looseObject({
  step: z.number(),
  severity: z.enum(["warning", "fatal"]),
  rule: z.string(),
  title: z.string(),
  metric: z.string(),
  // What is no number stands in JSON as null.
  value: z.number().nullable(),
  evidence: z.string(),
  advice: z.string(),
});

/** One line of the table of runs. */
export interface RunSummary {
  name: string;
  info: RunInfo | null;
  /** `stale`: says it runs, but has written nothing for minutes or its process is gone. */
  status: RunInfo["status"] | "stale" | "unreadable";
  step: number;
  /** Unix time in milliseconds of the newest metrics; null before the first. */
  updatedAt: number | null;
  /** Mean pass rate in up to 40 stretches of the run. */
  sparkline: (number | null)[];
  /** Pass rates before and after, from the run's report; null without one. */
  before: number | null;
  after: number | null;
  /** What is wrong with the directory, in words. */
  problems: string[];
}

/** A run held open. */
export interface OpenRun {
  dir: string;
  metrics: MetricsTable;
  rollouts: RolloutTable;
  health: HealthEvent[];
  /** Why files could not be read when they were tried last. */
  unreadable(): Error[];
  /** The same in words, with the lines left out so far by file. */
  problems(): string[];
  /** The kinds of its problems, read once. */
  problemTags(): Promise<Map<string, Map<string, string>>>;
  /** Reads what was appended to metrics and health; a file that it cannot read is a problem. */
  refresh(): Promise<void>;
  /** The same, but of a long file not read yet only a sample; see MetricsTable. */
  glance(): Promise<void>;
}

/** The runs under one directory. */
export class RunStore {
  readonly #root: string;
  /** Most recently used last. */
  readonly #open = new Map<string, OpenRun>();
  readonly #summaries = new Map<string, { signature: string; summary: RunSummary }>();

  constructor(root: string) {
    this.#root = resolve(root);
  }

  /**
   * Opens a folder of runs; it may be empty yet.
   *
   * @throws {ConfigError} if there is no such folder.
   */
  static async at(root: string): Promise<RunStore> {
    const store = new RunStore(root);
    await store.#entries();
    return store;
  }

  /** True if there is a folder of that name; what it holds is another question. */
  async has(name: string): Promise<boolean> {
    const info = await stat(this.#dirOf(name)).catch(() => null);
    return info?.isDirectory() === true;
  }

  #entries() {
    return readdir(this.#root, { withFileTypes: true }).catch((cause: Error) => {
      throw new ConfigError(
        `runs: expected a folder of run directories at ${this.#root}, found none that can be read ` +
          `(${cause.message}); name the folder that holds your runs, or make an empty one`,
        { cause },
      );
    });
  }

  /**
   * Lists the runs, newest first.
   *
   * @throws {ConfigError} if their folder is gone.
   */
  async list(): Promise<RunSummary[]> {
    const entries = await this.#entries();
    const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const summaries: RunSummary[] = [];
    for (const name of names) summaries.push(await this.summary(name));
    const startOf = ({ info }: RunSummary) => info?.startedAt ?? "";
    return summaries.sort((a, b) => startOf(b).localeCompare(startOf(a)));
  }

  /** Sums up one run; what has not changed on disk since is not read again. */
  async summary(name: string): Promise<RunSummary> {
    const dir = this.#dirOf(name);
    // What only reading the whole file tells is news as well.
    const found = this.#open.get(name)?.problems() ?? [];
    const signature = `${await signatureOf(dir)} ${found.join("/")}`;
    const known = this.#summaries.get(name);
    const isKnown = known !== undefined && known.signature === signature;
    const summary = isKnown ? known.summary : await this.#sumUp(name, dir);
    this.#summaries.set(name, { signature, summary });
    // Time alone makes a run stale.
    return { ...summary, status: statusOf(summary.info, summary.updatedAt) };
  }

  async #sumUp(name: string, dir: string): Promise<RunSummary> {
    // Held open only when somebody opens it: a list has more runs than memory should hold.
    const run = this.#open.get(name) ?? openRun(dir);
    const { metrics } = run;
    await run.glance();
    const problems = run.problems();
    const info = await readRunInfo(dir).catch((error: Error) => {
      problems.push(error.message);
      return null;
    });
    const updatedAt = await updatedAtOf(dir);
    if (info !== null && updatedAt === null && info.status !== "running") {
      problems.push(`there is no metrics.jsonl, though the run is ${info.status}`);
    }
    problems.push(...(await unfinishedCheckpoints(dir)));
    const query = { phase: "train", names: [SPARKLINE_METRIC], points: SPARKLINE_POINTS } as const;
    return {
      name,
      info,
      status: statusOf(info, updatedAt),
      step: metrics.span("train")?.last ?? 0,
      updatedAt,
      sparkline: metrics.series(query).series[SPARKLINE_METRIC].mean,
      ...(await reportRates(dir)),
      problems,
    };
  }

  /**
   * Opens a run by its folder's name.
   *
   * @throws {DataError} if the name leads outside the directory of runs.
   */
  open(name: string): OpenRun {
    const run = this.#open.get(name) ?? openRun(this.#dirOf(name));
    this.#open.delete(name);
    this.#open.set(name, run);
    if (this.#open.size > OPEN_RUNS) {
      this.#open.delete(this.#open.keys().next().value as string);
    }
    return run;
  }

  /** Reads the end of the run's resolved config or of its newest log; null when there is none. */
  async readText(name: string, what: "config" | "log", maxBytes: number): Promise<string | null> {
    const paths = runPaths(this.#dirOf(name));
    const path = what === "config" ? paths.config : await newestLog(paths.logs);
    return path === null ? null : readEnd(path, maxBytes);
  }

  #dirOf(name: string): string {
    const dir = resolve(this.#root, name);
    if (!dir.startsWith(this.#root + sep)) {
      throw new DataError("expected the name of a run", { path: name });
    }
    return dir;
  }
}

/** Opens a run's directory, whatever of it is there. */
export function openRun(dir: string): OpenRun {
  const paths = runPaths(dir);
  const metrics = new MetricsTable(paths.metrics);
  const rollouts = new RolloutTable(dir);
  const health: HealthEvent[] = [];
  const healthTail = new LineTail(paths.health, {
    onLine: (line) => health.push(parseHealthEvent(line)),
    onReset: () => health.splice(0),
  });
  const unreadable = new Map<string, Error>();
  const attempt = (file: string, read: Promise<void>) =>
    read.then(
      () => void unreadable.delete(file),
      (error: Error) => void unreadable.set(file, error),
    );
  let tags: ReturnType<typeof readProblemTags> | null = null;
  return {
    dir,
    metrics,
    rollouts,
    health,
    unreadable: () => [...unreadable.values()],
    problems: () => [
      ...[...unreadable.values()].map(({ message }) => message),
      ...Object.entries({
        "metrics.jsonl": metrics.badLines,
        "health.jsonl": healthTail.badLines,
        "rollouts/index.jsonl": rollouts.badLines,
      })
        .filter(([, count]) => count > 0)
        .map(
          ([file, count]) => `${count} lines of ${file} are not ${LINES[file]} and are left out`,
        ),
    ],
    problemTags: () => (tags ??= readProblemTags(dir)),
    refresh: async () => {
      await Promise.all([
        attempt("metrics", metrics.refresh()),
        attempt("health", healthTail.read()),
      ]);
    },
    glance: async () => {
      await Promise.all([
        attempt("metrics", metrics.glance()),
        attempt("health", healthTail.read()),
      ]);
    },
  };
}

/** @throws {Error} if the line is no event; the tail counts it. */
function parseHealthEvent(line: string): HealthEvent {
  return healthEventSchema.parse(JSON.parse(line)) as unknown as HealthEvent;
}

/** Changes whenever something does that a summary is made of. */
async function signatureOf(dir: string): Promise<string> {
  const { info, metrics, health, checkpoints, report } = runPaths(dir);
  const states = await Promise.all(
    [info, metrics, health, checkpoints, join(report, "report.json")].map((path) =>
      stat(path).then(
        // Of the file's state, not of its content: that becomes readable without being written.
        ({ ctimeMs, size }) => `${ctimeMs}/${size}`,
        () => "",
      ),
    ),
  );
  return states.join(" ");
}

async function newestLog(folder: string): Promise<string | null> {
  const names = await readdir(folder).catch(() => []);
  const logs = names.filter((name) => name.endsWith(".log")).map((name) => join(folder, name));
  const times = await Promise.all(logs.map(async (path) => (await stat(path)).mtimeMs));
  return logs[times.indexOf(Math.max(...times))] ?? null;
}

async function readEnd(path: string, maxBytes: number): Promise<string | null> {
  const file = await open(path).catch(() => null);
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    const length = Math.min(size, maxBytes);
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(length),
      0,
      length,
      Math.max(0, size - length),
    );
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The state of a run now: one that says `running` and gives no sign of life is `stale`. */
export async function runStatus(dir: string, info: RunInfo): Promise<RunSummary["status"]> {
  return statusOf(info, await updatedAtOf(dir));
}

/** When a run last wrote metrics, in ms of Unix time; null where it has none. */
async function updatedAtOf(dir: string): Promise<number | null> {
  return stat(runPaths(dir).metrics).then(
    ({ mtimeMs }) => mtimeMs,
    () => null,
  );
}

function statusOf(info: RunInfo | null, updatedAt: number | null): RunSummary["status"] {
  if (info === null) return "unreadable";
  if (info.status !== "running") return info.status;
  const lastSign = Math.max(updatedAt ?? 0, Date.parse(info.startedAt));
  const mayWrite = info.pid === null || isAlive(info.pid);
  return Date.now() - lastSign > (mayWrite ? STALE_MS : ORPHAN_MS) ? "stale" : "running";
}

/** A checkpoint folder without its manifest was being written when the run ended. */
async function unfinishedCheckpoints(dir: string): Promise<string[]> {
  const { checkpoints } = runPaths(dir);
  const names = await readdir(checkpoints).catch(() => []);
  const problems: string[] = [];
  for (const name of names.filter((name) => name.startsWith("step_"))) {
    const isWhole = await stat(join(checkpoints, name, "manifest.json")).catch(() => null);
    if (isWhole === null)
      problems.push(`checkpoint ${name} has no manifest: its writing was cut short`);
  }
  return problems;
}

const sideSchema = z.object({ pass_rate: z.number().optional() }).nullish();
const reportSchema = z.object({ before: sideSchema, after: sideSchema });

async function reportRates(dir: string): Promise<{ before: number | null; after: number | null }> {
  const text = await readFile(join(runPaths(dir).report, "report.json"), "utf8").catch(() => null);
  if (text === null) return { before: null, after: null };
  try {
    const { before, after } = reportSchema.parse(JSON.parse(text));
    return { before: before?.pass_rate ?? null, after: after?.pass_rate ?? null };
  } catch {
    return { before: null, after: null };
  }
}
