/**
 * A run's rollouts as columns to filter by, read from rollouts/index.jsonl; the records themselves
 * stay on disk and are read one line at a time.
 *
 * A million rollouts take about 50 MB of columns and are filtered in some tens of milliseconds.
 */
import { open, readFile } from "node:fs/promises";
import { DataError } from "../core/errors.js";
import { LineTail } from "../core/line-tail.js";
import { type RolloutIndexEntry, runPaths } from "../core/run.js";
import type { Rollout } from "../core/rollout.js";
import { VERDICT_KINDS, type VerdictKind } from "../core/verdict.js";

/** Longest time one query may read records to look for a text. */
const TEXT_BUDGET_MS = 300;

/** What to look for; absent means anything. Ranges include both ends. */
export interface RolloutQuery {
  stepFrom?: number;
  stepTo?: number;
  group?: number;
  problemId?: string;
  verdicts?: readonly VerdictKind[];
  rewardFrom?: number;
  rewardTo?: number;
  tokensFrom?: number;
  tokensTo?: number;
  format?: boolean;
  /** Stands in the completion, letter for letter. */
  text?: string;
  /** Newest step first, or the order of writing. */
  order?: "newest" | "oldest";
  /** Matches to leave out, and most to answer. */
  skip: number;
  limit: number;
}

/** What was found. */
export interface RolloutPage {
  entries: RolloutIndexEntry[];
  /** Matches in all; with a text, among the `searched` ones. */
  total: number;
  /** Rollouts whose text was looked at; null when no text was asked for. */
  searched: number | null;
  /** True when the time ran out before every candidate's text was looked at. */
  isPartial: boolean;
}

const NUMBERS = ["step", "group", "sample", "reward", "passRate", "responseTokens"] as const;
const PLACES = ["offset", "length"] as const;
type NumberKey = (typeof NUMBERS)[number] | (typeof PLACES)[number];

/** The rollouts as columns, rows in the order of steps; only the first `length` rows count. */
export interface RolloutColumns {
  length: number;
  columns: Readonly<ReturnType<typeof emptyColumns>>;
  /** Problem ids by the numbers in the column `problem`. */
  problems: readonly string[];
}

/** The rollouts of one run. */
export class RolloutTable {
  readonly #dir: string;
  readonly #tail: LineTail;
  #length = 0;
  #columns = emptyColumns(1024);
  #problems: string[] = [];
  #problemIndex = new Map<string, number>();

  constructor(dir: string) {
    this.#dir = dir;
    this.#tail = new LineTail(runPaths(dir).rolloutIndex, {
      onLine: (line) => this.#add(JSON.parse(line) as RolloutIndexEntry),
      onReset: () => this.#reset(),
    });
  }

  /** Rollouts known. */
  get length(): number {
    return this.#length;
  }

  /** Lines of the index left out because they are not entries. */
  get badLines(): number {
    return this.#tail.badLines;
  }

  /** What there is now, to count in. */
  get columns(): RolloutColumns {
    return { length: this.#length, columns: this.#columns, problems: this.#problems };
  }

  /** Reads what was appended to the index. */
  refresh(): Promise<void> {
    return this.#tail.read();
  }

  /** Finds rollouts. */
  async find(query: RolloutQuery): Promise<RolloutPage> {
    const rows = this.#match(query);
    if (query.order !== "oldest") rows.reverse();
    const { skip, limit, text } = query;
    if (text === undefined || text === "") {
      const entries = [...rows.subarray(skip, skip + limit)].map((row) => this.#entry(row));
      return { entries, total: rows.length, searched: null, isPartial: false };
    }
    return this.#findText(rows, text, skip, limit);
  }

  /**
   * Reads one record.
   *
   * @throws {DataError} if the file does not hold it where the index says.
   */
  async read({ step, offset, length }: RolloutIndexEntry): Promise<Rollout> {
    const path = runPaths(this.#dir).rolloutsOf(step);
    try {
      const file = await open(path);
      try {
        const buffer = Buffer.alloc(length);
        await file.read(buffer, 0, length, offset);
        return JSON.parse(buffer.toString("utf8")) as Rollout;
      } finally {
        await file.close();
      }
    } catch (cause) {
      throw new DataError(`expected a rollout at byte ${offset}`, { path, cause });
    }
  }

  #match(query: RolloutQuery): Int32Array {
    const { step, group, reward, responseTokens, verdict, format, problem } = this.#columns;
    const kinds = new Uint8Array(VERDICT_KINDS.length).fill(query.verdicts === undefined ? 1 : 0);
    for (const kind of query.verdicts ?? []) kinds[VERDICT_KINDS.indexOf(kind)] = 1;
    const problemRow =
      query.problemId === undefined ? null : (this.#problemIndex.get(query.problemId) ?? -1);
    const wantedFormat = query.format === undefined ? null : Number(query.format);
    const { stepFrom = -Infinity, stepTo = Infinity } = query;
    const { rewardFrom = -Infinity, rewardTo = Infinity } = query;
    const { tokensFrom = -Infinity, tokensTo = Infinity } = query;
    const wantedGroup = query.group ?? null;
    const found = new Int32Array(this.#length);
    let count = 0;
    for (let row = 0; row < this.#length; row++) {
      if (step[row] < stepFrom || step[row] > stepTo) continue;
      if (kinds[verdict[row]] === 0) continue;
      if (reward[row] < rewardFrom || reward[row] > rewardTo) continue;
      if (responseTokens[row] < tokensFrom || responseTokens[row] > tokensTo) continue;
      if (wantedGroup !== null && group[row] !== wantedGroup) continue;
      if (wantedFormat !== null && format[row] !== wantedFormat) continue;
      if (problemRow !== null && problem[row] !== problemRow) continue;
      found[count++] = row;
    }
    return found.slice(0, count);
  }

  async #findText(
    rows: Int32Array,
    text: string,
    skip: number,
    limit: number,
  ): Promise<RolloutPage> {
    const end = performance.now() + TEXT_BUDGET_MS;
    const entries: RolloutIndexEntry[] = [];
    let total = 0;
    let searched = 0;
    let isPartial = false;
    let file: { step: number; bytes: Buffer | null } = { step: -1, bytes: null };
    for (const row of rows) {
      isPartial = performance.now() > end;
      if (isPartial) break;
      const entry = this.#entry(row);
      if (entry.step !== file.step) file = await this.#stepFile(entry.step);
      const record = file.bytes === null ? null : recordAt(file.bytes, entry);
      // What is no longer on disk was not searched, and the answer's count says so.
      if (record === null) continue;
      searched++;
      if (!record.completion.includes(text)) continue;
      if (total >= skip && entries.length < limit) entries.push(entry);
      total++;
    }
    return { entries, total, searched, isPartial };
  }

  async #stepFile(step: number): Promise<{ step: number; bytes: Buffer | null }> {
    const path = runPaths(this.#dir).rolloutsOf(step);
    return { step, bytes: await readFile(path).catch(() => null) };
  }

  #entry(row: number): RolloutIndexEntry {
    const columns = this.#columns;
    return {
      step: columns.step[row],
      group: columns.group[row],
      sample: columns.sample[row],
      problemId: this.#problems[columns.problem[row]],
      verdict: VERDICT_KINDS[columns.verdict[row]],
      reward: columns.reward[row],
      passRate: columns.passRate[row],
      format: columns.format[row] === 1,
      responseTokens: columns.responseTokens[row],
      offset: columns.offset[row],
      length: columns.length[row],
    };
  }

  /** @throws {Error} if the line is no entry; the tail counts it. */
  #add(entry: RolloutIndexEntry): void {
    if (typeof entry.problemId !== "string" || !VERDICT_KINDS.includes(entry.verdict)) {
      throw new TypeError("expected problemId and verdict");
    }
    // A step written again, as after a resume, replaces itself and whatever came after it.
    if (entry.offset === 0) {
      const { step } = this.#columns;
      while (this.#length > 0 && step[this.#length - 1] >= entry.step) this.#length--;
    }
    if (this.#length === this.#columns.step.length) this.#grow();
    const row = this.#length++;
    for (const key of NUMBERS) this.#columns[key][row] = entry[key];
    for (const key of PLACES) this.#columns[key][row] = entry[key];
    this.#columns.verdict[row] = VERDICT_KINDS.indexOf(entry.verdict);
    this.#columns.format[row] = entry.format ? 1 : 0;
    let problem = this.#problemIndex.get(entry.problemId);
    if (problem === undefined) {
      problem = this.#problems.push(entry.problemId) - 1;
      this.#problemIndex.set(entry.problemId, problem);
    }
    this.#columns.problem[row] = problem;
  }

  #grow(): void {
    const grown = emptyColumns(this.#columns.step.length * 2);
    for (const key of Object.keys(grown) as (keyof typeof grown)[]) {
      grown[key].set(this.#columns[key]);
    }
    this.#columns = grown;
  }

  #reset(): void {
    this.#length = 0;
    this.#columns = emptyColumns(1024);
    this.#problems = [];
    this.#problemIndex = new Map();
  }
}

/** The record where the index says, or null where the file does not hold it. */
function recordAt(bytes: Buffer, { offset, length }: RolloutIndexEntry): Rollout | null {
  try {
    return JSON.parse(bytes.toString("utf8", offset, offset + length)) as Rollout;
  } catch {
    return null;
  }
}

function emptyColumns(size: number) {
  const numbers = Object.fromEntries(
    [...NUMBERS, ...PLACES].map((key) => [
      key,
      key === "offset" || key === "reward" || key === "passRate"
        ? new Float64Array(size)
        : new Int32Array(size),
    ]),
  ) as Record<NumberKey, Float64Array | Int32Array>;
  return {
    ...numbers,
    verdict: new Uint8Array(size),
    format: new Uint8Array(size),
    problem: new Int32Array(size),
  };
}
