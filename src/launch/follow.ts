/**
 * Follows a run of veRL and writes it down as a run of ours: metrics under the same names, rollouts
 * with their verdicts, so that dashboard, report and health rules see no difference.
 */
import { open } from "node:fs/promises";
import { join } from "node:path";
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
  #offset = 0;
  #torn = "";
  readonly #printed: StepMetrics[] = [];
  /** Steps whose record waits for its dump, with how often it was looked for. */
  #waiting: { metrics: StepMetrics; looks: number }[] = [];
  /** Last step that was written down. */
  lastStep: number | null = null;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** Takes a console line; it counts where there is no file logger. */
  readConsole(line: string): void {
    if (this.#options.metricsFile !== null) return;
    const parsed = parseConsoleLine(line);
    if (parsed !== null) this.#printed.push(parsed);
  }

  /** Writes down what came since the last time. `isOver` stops waiting for late dumps. */
  async poll({ isOver }: { isOver: boolean }): Promise<void> {
    const found = [...this.#printed.splice(0), ...(await this.#readMetrics())];
    this.#waiting.push(...found.map((metrics) => ({ metrics, looks: 0 })));
    while (this.#waiting.length > 0) {
      const [next] = this.#waiting;
      // A dump is written by a thread of its own and may come a moment after the metrics.
      const isPatient = !isOver && next.looks++ < MOST_LOOKS;
      if (!(await this.#writeStep(next.metrics, isPatient))) return;
      this.#waiting.shift();
    }
  }

  async #readMetrics(): Promise<StepMetrics[]> {
    const { metricsFile } = this.#options;
    if (metricsFile === null) return [];
    const text = await readFrom(metricsFile, this.#offset);
    if (text === null) return [];
    this.#offset += text.length;
    const lines = (this.#torn + text.toString("utf8")).split("\n");
    this.#torn = lines.pop() ?? "";
    return lines.map(parseFileLine).filter((parsed) => parsed !== null);
  }

  /** Answers false if the step's dump is still to come. */
  async #writeStep(metrics: StepMetrics, isPatient: boolean): Promise<boolean> {
    const { dir, rolloutDumps, validationDumps, onRecord, now } = this.#options;
    for (const record of toRecords(metrics, now())) {
      const folder = record.phase === "train" ? rolloutDumps : validationDumps;
      const dump = await readDump(join(folder, `${record.step}.jsonl`));
      if (dump === null && isPatient) return false;
      if (dump !== null) {
        Object.assign(record.metrics, dumpMetrics(dump));
        if (record.phase === "train") {
          Object.assign(record.metrics, await this.#writeRollouts(record.step, dump));
        }
      }
      appendLine(runPaths(dir).metrics, record);
      this.lastStep = record.step;
      onRecord(record);
    }
    return true;
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

/** The bytes of a file from an offset on; null while there is no file. */
async function readFrom(path: string, offset: number): Promise<Buffer | null> {
  let file;
  try {
    file = await open(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.max(0, size - offset));
    await file.read(buffer, 0, buffer.length, offset);
    return buffer;
  } finally {
    await file.close();
  }
}
