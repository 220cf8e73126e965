/**
 * A run's metrics.jsonl as columns of numbers, kept up to date by reading only what was appended.
 *
 * A run of 100,000 steps with 40 metrics is over 100 MB of text; as columns it is 32 MB, a chart of
 * any range is answered from them in milliseconds, and refreshing costs what was added. Until such a
 * file has been read for the first time, a sample of lines spread over it answers instead.
 */
import { LineTail } from "../core/line-tail.js";
import type { MetricsRecord } from "../core/run.js";
import { sampleLines } from "./line-sample.js";

/** More than this is not waited for: it takes longer than a page may take to show something. */
const SOON_BYTES = 4 * 2 ** 20;
/** As many as a chart has points. */
const SAMPLED_LINES = 400;

/** Points of one metric, thinned: of each bucket of steps its mean, least and greatest value. */
export interface Series {
  mean: (number | null)[];
  /** Empty, as is `max`, where they were not asked for. */
  min: (number | null)[];
  max: (number | null)[];
  /** The means before smoothing; absent without. */
  raw?: (number | null)[];
}

/** A part of a run. */
export interface Range {
  /** Inclusive range of steps; absent ends are open. */
  from?: number;
  to?: number;
  /** The same by Unix time in milliseconds. */
  timeFrom?: number;
  timeTo?: number;
}

/** What a chart asks for. */
export interface SeriesQuery extends Range {
  phase: MetricsRecord["phase"];
  names: readonly string[];
  /** Those of `names` whose least and greatest values are wanted; absent means all. */
  edges?: readonly string[];
  /** Weight of what came before in an exponential moving average of the means, in [0, 1). */
  smoothing?: number;
  /** Most buckets wanted, e.g. the chart's width in pixels. */
  points: number;
}

/** Thinned series over a common axis. */
export interface SeriesAnswer {
  /** First step of each bucket, and its Unix time in milliseconds. */
  steps: number[];
  times: number[];
  series: Record<string, Series>;
  /** Records in the range before thinning. */
  records: number;
}

/** The metrics of one run. */
export class MetricsTable {
  readonly #path: string;
  readonly #tail: LineTail;
  #phases = emptyPhases();
  #generation = 0;
  /** Answers until everything has been read; null from then on. */
  #sample: ReturnType<typeof emptyPhases> | null = null;
  #sampling: Promise<void> | null = null;

  constructor(path: string) {
    this.#path = path;
    this.#tail = new LineTail(path, {
      onLine: (line) => addLine(this.#phases, line),
      onReset: () => {
        this.#phases = emptyPhases();
        this.#generation++;
      },
    });
  }

  /** Lines left out because they are not metrics. */
  get badLines(): number {
    return this.#tail.badLines;
  }

  /** Grows when the file was replaced, as by a resume: what was counted before counts no longer. */
  get generation(): number {
    return this.#generation;
  }

  /** True while a sample of the lines answers, because the whole file is still being read. */
  get isSample(): boolean {
    return this.#sample !== null;
  }

  /** Reads what was appended since the last call. */
  async refresh(): Promise<void> {
    await this.#tail.read();
    this.#sample = null;
  }

  /** Reads what was appended or, where that is much, a sample of the file for the time being. */
  async glance(): Promise<void> {
    if ((await this.#tail.backlog()) <= SOON_BYTES) return this.refresh();
    if (this.#sample !== null || this.#phases.train.length > 0) return;
    this.#sampling ??= this.#takeSample().finally(() => (this.#sampling = null));
    await this.#sampling;
  }

  async #takeSample(): Promise<void> {
    const sample = emptyPhases();
    for (const line of await sampleLines(this.#path, SAMPLED_LINES)) {
      try {
        addLine(sample, line);
      } catch {
        // Counted once the whole file is read.
      }
    }
    // A refresh may have ended meanwhile: the whole is better than a sample of it.
    if ((await this.#tail.backlog()) > SOON_BYTES) this.#sample = sample;
  }

  #shown(phase: MetricsRecord["phase"]): PhaseTable {
    return (this.#sample ?? this.#phases)[phase];
  }

  /** The metrics seen so far, sorted. */
  names(phase: MetricsRecord["phase"]): string[] {
    return [...this.#shown(phase).columns.keys()].sort();
  }

  /** Steps of the first and the last record, or null when there is none. */
  span(phase: MetricsRecord["phase"]): { first: number; last: number; records: number } | null {
    const { steps, length } = this.#shown(phase);
    return length === 0
      ? null
      : { first: steps.at(0), last: steps.at(length - 1), records: length };
  }

  /** The records after the first `seen` ones of a phase, at most `limit`, as they were written. */
  since(phase: MetricsRecord["phase"], seen: number, limit: number): MetricsRecord[] {
    const { steps, times, columns, length } = this.#phases[phase];
    const records: MetricsRecord[] = [];
    for (let row = seen; row < Math.min(length, seen + limit); row++) {
      const metrics: Record<string, number> = {};
      for (const [name, column] of columns) {
        if (!Number.isNaN(column.at(row))) metrics[name] = column.at(row);
      }
      records.push({ step: steps.at(row), phase, time: times.at(row), metrics });
    }
    return records;
  }

  /** Each metric's newest value. */
  latest(phase: MetricsRecord["phase"]): Record<string, number> {
    const { columns, length } = this.#shown(phase);
    const values: Record<string, number> = {};
    for (const [name, column] of columns) {
      for (let row = length - 1; row >= 0; row--) {
        if (Number.isNaN(column.at(row))) continue;
        values[name] = column.at(row);
        break;
      }
    }
    return values;
  }

  /** First and last step of a range; null when no record is in it. */
  stepsWithin(phase: MetricsRecord["phase"], range: Range): [from: number, to: number] | null {
    const table = this.#shown(phase);
    const [first, end] = rowsWithin(table, range);
    return end <= first ? null : [table.steps.at(first), table.steps.at(end - 1)];
  }

  /** The Unix time in milliseconds of each step, or of the next one recorded; else of the last. */
  timesOf(phase: MetricsRecord["phase"], steps: readonly number[]): number[] {
    const table = this.#shown(phase);
    return steps.map((step) =>
      table.times.at(Math.min(table.lowerBound(table.steps, step), table.length - 1)),
    );
  }

  /** Answers a chart. */
  series({ phase, names, edges, points, smoothing = 0, ...range }: SeriesQuery): SeriesAnswer {
    const table = this.#shown(phase);
    const [first, last] = rowsWithin(table, range);
    const buckets = splitRange(first, last, Math.max(1, points));
    return {
      steps: buckets.map(([start]) => table.steps.at(start)),
      times: buckets.map(([start]) => table.times.at(start)),
      series: Object.fromEntries(
        names.map((name) => {
          const series = thin(table.columns.get(name), buckets);
          const hasEdges = edges === undefined || edges.includes(name);
          return [name, smooth(hasEdges ? series : { ...series, min: [], max: [] }, smoothing)];
        }),
      ),
      records: last - first,
    };
  }
}

const emptyPhases = (): Record<MetricsRecord["phase"], PhaseTable> => ({
  train: new PhaseTable(),
  val: new PhaseTable(),
});

/** @throws {Error} if the line is no record; the tail counts it. */
function addLine(phases: ReturnType<typeof emptyPhases>, line: string): void {
  const record = JSON.parse(line) as MetricsRecord;
  const { step, time, metrics } = record;
  if (!Number.isFinite(step) || !Number.isFinite(time) || typeof metrics !== "object") {
    throw new TypeError("expected step, time and metrics");
  }
  phases[record.phase].add(record);
}

/** The records of one phase, as columns of one length; a metric that a record lacks is NaN. */
class PhaseTable {
  readonly steps = new Column();
  readonly times = new Column();
  readonly columns = new Map<string, Column>();
  length = 0;

  add({ step, time, metrics }: MetricsRecord): void {
    this.steps.set(this.length, step);
    this.times.set(this.length, time);
    for (const name in metrics) {
      let column = this.columns.get(name);
      if (column === undefined) this.columns.set(name, (column = new Column()));
      const value = metrics[name];
      if (typeof value === "number") column.set(this.length, value);
    }
    this.length++;
  }

  /** Index of the first record whose value in a rising column is at least `value`. */
  lowerBound(column: Column, value: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (column.at(middle) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** A growing array of numbers; what was never set is NaN. */
class Column {
  #values = new Float64Array(64).fill(Number.NaN);

  /** The numbers set so far, NaN where none was; it may be shorter than its table. */
  get values(): Float64Array {
    return this.#values;
  }

  at(index: number): number {
    return index < this.#values.length ? this.#values[index] : Number.NaN;
  }

  set(index: number, value: number): void {
    if (index >= this.#values.length) {
      const grown = new Float64Array(Math.max(index + 1, this.#values.length * 2)).fill(Number.NaN);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[index] = value;
  }
}

function rowsWithin(table: PhaseTable, range: Range): [first: number, end: number] {
  const { steps, times } = table;
  return [
    Math.max(
      table.lowerBound(steps, range.from ?? -Infinity),
      table.lowerBound(times, range.timeFrom ?? -Infinity),
    ),
    Math.min(
      table.lowerBound(steps, (range.to ?? Infinity) + 1),
      table.lowerBound(times, (range.timeTo ?? Infinity) + 1),
    ),
  ];
}

/** Splits [first, last) into at most `count` pieces of nearly equal length. */
function splitRange(first: number, last: number, count: number): [number, number][] {
  const length = Math.max(0, last - first);
  const pieces = Math.min(count, length);
  return Array.from({ length: pieces }, (_, i) => [
    first + Math.floor((i * length) / pieces),
    first + Math.floor(((i + 1) * length) / pieces),
  ]);
}

function thin(column: Column | undefined, buckets: [number, number][]): Series {
  const series: Series = { mean: [], min: [], max: [] };
  const values = column?.values ?? new Float64Array();
  for (const [start, end] of buckets) {
    let sum = 0;
    let count = 0;
    let least = Infinity;
    let greatest = -Infinity;
    for (let row = start; row < Math.min(end, values.length); row++) {
      const value = values[row];
      if (Number.isNaN(value)) continue;
      sum += value;
      count++;
      if (value < least) least = value;
      if (value > greatest) greatest = value;
    }
    series.mean.push(count === 0 ? null : sum / count);
    series.min.push(count === 0 ? null : least);
    series.max.push(count === 0 ? null : greatest);
  }
  return series;
}

/** Smooths the means; the average starts at the first value, so that it has no bias to undo. */
function smooth(series: Series, weight: number): Series {
  if (weight === 0) return series;
  let average: number | null = null;
  const mean = series.mean.map((value) => {
    if (value === null) return null;
    average = average === null ? value : weight * average + (1 - weight) * value;
    return average;
  });
  return { ...series, mean, raw: series.mean };
}
