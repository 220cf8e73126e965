/**
 * The runs under one directory, for readers that come back often: the service and the dashboard.
 *
 * A run directory may be half-written, torn or not a run at all; what can be read is shown, and
 * what is wrong is said in `problems`. Tables of runs not looked at for a while are let go, so that
 * memory does not grow with the number of runs.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { DataError } from "../core/errors.js";
import { type HealthEvent, readRunInfo, type RunInfo, runPaths } from "../core/run.js";
import { LineTail } from "./line-tail.js";
import { MetricsTable } from "./metrics-table.js";
import { RolloutTable } from "./rollout-table.js";

const OPEN_RUNS = 8;
const SPARKLINE_POINTS = 40;
const SPARKLINE_METRIC = "reward/pass_rate";
/** A running run that has written nothing for so long is shown as stale. */
const STALE_MS = 5 * 60_000;

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
  name: string;
  dir: string;
  metrics: MetricsTable;
  rollouts: RolloutTable;
  health: HealthEvent[];
  /** Reads what was appended to all of them. */
  refresh(): Promise<void>;
}

/** The runs under one directory. */
export class RunStore {
  readonly #root: string;
  /** Most recently used last. */
  readonly #open = new Map<string, OpenRun>();

  constructor(root: string) {
    this.#root = resolve(root);
  }

  /** Lists the runs, newest first. */
  async list(): Promise<RunSummary[]> {
    const entries = await readdir(this.#root, { withFileTypes: true }).catch(() => []);
    const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const summaries: RunSummary[] = [];
    for (const name of names) summaries.push(await this.summary(name));
    const startOf = ({ info }: RunSummary) => info?.startedAt ?? "";
    return summaries.sort((a, b) => startOf(b).localeCompare(startOf(a)));
  }

  /** Sums up one run. */
  async summary(name: string): Promise<RunSummary> {
    const run = this.open(name);
    await run.refresh();
    const problems: string[] = [];
    const info = await readRunInfo(run.dir).catch((error: Error) => {
      problems.push(error.message);
      return null;
    });
    const span = run.metrics.span("train");
    if (run.metrics.badLines > 0)
      problems.push(
        `${run.metrics.badLines} lines of metrics.jsonl are not metrics and are left out`,
      );
    problems.push(...(await unfinishedCheckpoints(run.dir)));
    const updatedAt = await stat(runPaths(run.dir).metrics).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    );
    const rates = await reportRates(run.dir);
    return {
      name,
      info,
      status: statusOf(info, updatedAt),
      step: span?.last ?? 0,
      updatedAt,
      sparkline: run.metrics.series({
        phase: "train",
        names: [SPARKLINE_METRIC],
        points: SPARKLINE_POINTS,
      }).series[SPARKLINE_METRIC].mean,
      ...rates,
      problems,
    };
  }

  /**
   * Opens a run by its folder's name.
   *
   * @throws {DataError} if the name leads outside the directory of runs.
   */
  open(name: string): OpenRun {
    const dir = resolve(this.#root, name);
    if (!dir.startsWith(this.#root + sep)) {
      throw new DataError("expected the name of a run", { path: name });
    }
    const run = this.#open.get(name) ?? openRun(name, dir);
    this.#open.delete(name);
    this.#open.set(name, run);
    if (this.#open.size > OPEN_RUNS) {
      this.#open.delete(this.#open.keys().next().value as string);
    }
    return run;
  }

  /** Reads a text file of a run, such as its resolved config or a log; null when it is not there. */
  async readText(name: string, path: string, maxBytes: number): Promise<string | null> {
    const { dir } = this.open(name);
    const file = resolve(dir, path);
    if (!file.startsWith(dir + sep)) throw new DataError("expected a file of the run", { path });
    const text = await readFile(file, "utf8").catch(() => null);
    return text === null ? null : text.slice(-maxBytes);
  }
}

function openRun(name: string, dir: string): OpenRun {
  const paths = runPaths(dir);
  const metrics = new MetricsTable(paths.metrics);
  const rollouts = new RolloutTable(dir);
  const health: HealthEvent[] = [];
  const healthTail = new LineTail(paths.health, {
    onLine: (line) => health.push(JSON.parse(line) as HealthEvent),
    onReset: () => health.splice(0),
  });
  const refresh = async () => {
    await Promise.all([metrics.refresh(), healthTail.read()]);
  };
  return { name, dir, metrics, rollouts, health, refresh };
}

function statusOf(info: RunInfo | null, updatedAt: number | null): RunSummary["status"] {
  if (info === null) return "unreadable";
  if (info.status !== "running") return info.status;
  const lastSign = Math.max(updatedAt ?? 0, Date.parse(info.startedAt));
  return Date.now() - lastSign > STALE_MS ? "stale" : "running";
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

async function reportRates(dir: string): Promise<{ before: number | null; after: number | null }> {
  const text = await readFile(join(runPaths(dir).report, "report.json"), "utf8").catch(() => null);
  if (text === null) return { before: null, after: null };
  try {
    const report = JSON.parse(text) as Record<"before" | "after", { pass_rate?: number } | null>;
    return { before: report.before?.pass_rate ?? null, after: report.after?.pass_rate ?? null };
  } catch {
    return { before: null, after: null };
  }
}
