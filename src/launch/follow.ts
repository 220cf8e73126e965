/**
 * Follows a run of veRL and writes it down as a run of ours: metrics under the same names, rollouts
 * with their verdicts, so that dashboard, report and health rules see no difference.
 */
import { statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { LineTail } from "../core/line-tail.js";
import type { Problem } from "../core/problem.js";
import { appendLine, type MetricsRecord, runPaths, writeRollouts } from "../core/run.js";
import { dumpMetrics, type Judge, readDump, rolloutMetrics, toRollouts } from "./dumps.js";
import { parseConsoleLine, parseFileLine, type StepMetrics, toRecords } from "./metrics-lines.js";

/** Where a run of veRL writes, and where it is written down. */
export interface FollowOptions {
  /** Our run directory. */
  dir: string;
  /** veRL's file logger; null to read metrics from console lines. */
  metricsFile: string | null;
  rolloutDumps: string;
  validationDumps: string;
  /** Where the reward file notes samples that no service could judge. */
  infraLog: string;
  problems: ReadonlyMap<string, Problem>;
  /** Null: rollouts are not written down, because their verdicts would be guesses. */
  judge: Judge | null;
  onRecord: (record: MetricsRecord) => void;
  /** Unix time in milliseconds. */
  now: () => number;
}

/** Reads on from where it stopped each time it is asked. */
export class RunFollower {
  readonly #options: FollowOptions;
  readonly #metrics: LineTail | null;
  readonly #infraErrors: LineTail;
  /** Samples without a score whose step is not written down yet. */
  #lost: z.output<typeof lostSchema>[] = [];
  /** Steps whose record waits for its dump, with how often it was looked for. */
  #waiting: { metrics: StepMetrics; looks: number }[] = [];
  /** Last step that was written down. */
  lastStep: number | null = null;

  constructor(options: FollowOptions) {
    const { metricsFile, infraLog } = options;
    this.#options = options;
    this.#metrics =
      metricsFile === null
        ? null
        : new LineTail(metricsFile, {
            onLine: (line) => this.#take(parseFileLine(line)),
            onReset: () => {},
          });
    const onLost = (line: string) => this.#lost.push(lostSchema.parse(JSON.parse(line)));
    // Launches of one run share this log.
    this.#infraErrors = new LineTail(
      infraLog,
      { onLine: onLost, onReset: () => {} },
      sizeOf(infraLog),
    );
  }

  /** Takes a console line; it counts where there is no file logger. */
  readConsole(line: string): void {
    if (this.#options.metricsFile !== null) return;
    this.#take(parseConsoleLine(line));
  }

  /** Writes down what came since the last time. `isOver` stops waiting for late dumps. */
  async poll({ isOver }: { isOver: boolean }): Promise<void> {
    await this.#metrics?.read();
    while (this.#waiting.length > 0) {
      const [next] = this.#waiting;
      // A dump is written by a thread of its own and may come a moment after the metrics.
      const isPatient = !isOver && next.looks++ < MOST_LOOKS;
      if (!(await this.#writeStep(next.metrics, isPatient))) return;
      this.#waiting.shift();
    }
  }

  #take(metrics: StepMetrics | null): void {
    if (metrics !== null) this.#waiting.push({ metrics, looks: 0 });
  }

  /** Answers false if the step's dump is still to come. */
  async #writeStep(metrics: StepMetrics, isPatient: boolean): Promise<boolean> {
    const { dir, rolloutDumps, validationDumps, onRecord, now } = this.#options;
    const records = toRecords(metrics, now()).map((record) => {
      const folder = record.phase === "train" ? rolloutDumps : validationDumps;
      return { record, path: join(folder, `${record.step}.jsonl`) };
    });
    const dumps = await Promise.all(records.map(({ path }) => readDump(path)));
    if (isPatient && dumps.includes(null)) return false;
    for (const [index, { record, path }] of records.entries()) {
      const dump = dumps[index];
      if (dump !== null) {
        Object.assign(record.metrics, dumpMetrics(dump));
        if (record.phase === "train") {
          Object.assign(record.metrics, await this.#writeRollouts(record.step, dump));
          record.metrics["reward/infra_error"] ??= await this.#lostShare(path, dump.length);
        }
      }
      appendLine(runPaths(dir).metrics, record);
      this.lastStep = record.step;
      onRecord(record);
    }
    return true;
  }

  /**
   * Share of a step's completions that no service could judge. Where veRL leaves such samples out,
   * no dump says so; a step's dump is written after the last of them is noted.
   */
  async #lostShare(dumpPath: string, dumped: number): Promise<number> {
    await this.#infraErrors.read();
    const { mtimeMs } = await stat(dumpPath);
    const until = this.#lost.findIndex(({ time }) => time * 1000 > mtimeMs);
    const lost = this.#lost
      .splice(0, until === -1 ? this.#lost.length : until)
      .filter(({ split }) => !/^(val|test)/.test(String(split)));
    // A sample that was paid 0 stands in the dump as well.
    const left = lost.filter(({ on_infra_error: choice }) => choice !== "zero").length;
    const sampled = left + dumped;
    return sampled === 0 ? 0 : lost.length / sampled;
  }

  async #writeRollouts(step: number, dump: NonNullable<Awaited<ReturnType<typeof readDump>>>) {
    const { dir, problems, judge } = this.#options;
    if (judge === null || problems.size === 0) return {};
    const rollouts = await toRollouts(dump, { step, problems, judge });
    if (rollouts.length > 0) await writeRollouts(dir, step, rollouts);
    return rolloutMetrics(rollouts);
  }
}

// Polls come every second or so; a dump that is later than this is not coming.
const MOST_LOOKS = 10;

const lostSchema = z.object({ time: z.number(), split: z.unknown(), on_infra_error: z.string() });

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
