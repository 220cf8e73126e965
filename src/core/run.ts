/**
 * The run directory: where a training run writes everything that others read.
 *
 *     run.json                    what this run is; see RunInfo
 *     run.lock                    the process that writes here, while it does
 *     config.resolved.yaml        every key with its value, written before work starts
 *     metrics.jsonl               one MetricsRecord a line, appended
 *     health.jsonl                one health event a line, appended
 *     rollouts/step_000123.jsonl  one Rollout a line
 *     rollouts/index.jsonl        one RolloutIndexEntry a line, so that a million can be filtered
 *     eval/<name>/                evaluations: eval.json, results.jsonl
 *     checkpoints/step_000120/    manifest.json is written last: without it there is no checkpoint
 *     checkpoints/latest          text file holding the newest checkpoint's folder name
 *     checkpoints/best            the same for the best by validation
 *     logs/  report/
 *
 * JSONL is the truth: append-only, and a torn last line is ignored by readers.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { DataError } from "./errors.js";
import { readTextOrNull } from "./read.js";
import type { Rollout } from "./rollout.js";
import type { VerdictKind } from "./verdict.js";
import { appendWhole, writeAtomic } from "./write.js";

export { writeAtomic } from "./write.js";

/** What `run.json` holds. */
const runInfoSchema = z.object({
  /** Version of this layout. */
  format: z.literal(1),
  name: z.string(),
  preset: z.string().nullable(),
  engine: z.enum(["embedded", "verl"]),
  seed: z.number(),
  /** ISO 8601, UTC. */
  startedAt: z.iso.datetime(),
  /** Product version that wrote the run. */
  version: z.string(),
  /** Isolation level that held in the sandbox, as probed. */
  isolation: z.string().nullable(),
  totalSteps: z.number(),
  status: z.enum(["running", "finished", "failed", "interrupted"]),
  /** Process that writes the run while `status` is `running`. */
  pid: z.number().nullable(),
});

/** What `run.json` holds. */
export type RunInfo = z.infer<typeof runInfoSchema>;

/** One line of metrics.jsonl; keys other than these are metric names with numbers. */
export interface MetricsRecord {
  step: number;
  phase: "train" | "val";
  /** Unix time in milliseconds. */
  time: number;
  metrics: Record<string, number>;
}

/** One line of health.jsonl: a warning that holds, with what to do. */
export interface HealthEvent {
  step: number;
  /** Unix time in milliseconds. */
  time: number;
  /** Row of the table in docs/METRICS.md. */
  rule: string;
  /** `fatal` where the config asks to stop on it. */
  severity: "warning" | "fatal";
  /** What is wrong, in a few words. */
  title: string;
  /** The metric it was seen in. */
  metric: string;
  value: number;
  /** The condition that held, in words. */
  condition: string;
  /** The numbers it was seen by. */
  evidence: string;
  /** What to do. */
  advice: string;
}

/** The paths inside a run directory. */
export function runPaths(dir: string) {
  return {
    dir,
    info: join(dir, "run.json"),
    lock: join(dir, "run.lock"),
    config: join(dir, "config.resolved.yaml"),
    metrics: join(dir, "metrics.jsonl"),
    health: join(dir, "health.jsonl"),
    rollouts: join(dir, "rollouts"),
    rolloutIndex: join(dir, "rollouts", "index.jsonl"),
    rolloutsOf: (step: number) => join(dir, "rollouts", `${stepName(step)}.jsonl`),
    eval: join(dir, "eval"),
    checkpoints: join(dir, "checkpoints"),
    checkpointOf: (step: number) => join(dir, "checkpoints", stepName(step)),
    latest: join(dir, "checkpoints", "latest"),
    best: join(dir, "checkpoints", "best"),
    logs: join(dir, "logs"),
    report: join(dir, "report"),
  };
}

/** Names the folder or file of a step, e.g. `step_000120`. */
export function stepName(step: number): string {
  return `step_${String(step).padStart(6, "0")}`;
}

/**
 * Appends one record as a line; the line reaches the file whole or, after a crash, torn and last.
 *
 * @throws {DataError} if the disk is full or fails.
 */
export function appendLine(path: string, record: unknown): void {
  appendWhole(path, JSON.stringify(record) + "\n");
}

/** One line of rollouts/index.jsonl: what rollouts are filtered by, and where the record stands. */
export interface RolloutIndexEntry {
  step: number;
  group: number;
  sample: number;
  problemId: string;
  verdict: VerdictKind;
  reward: number;
  passRate: number;
  format: boolean;
  responseTokens: number;
  /** Where the record's line starts in its step's file, and its length, in bytes. */
  offset: number;
  length: number;
}

/** Writes a step's rollouts and their index. A step written again replaces its file. */
export async function writeRollouts(dir: string, step: number, rollouts: Rollout[]): Promise<void> {
  const paths = runPaths(dir);
  let offset = 0;
  const entries: string[] = [];
  const lines = rollouts.map((rollout) => {
    const line = JSON.stringify(rollout) + "\n";
    const length = Buffer.byteLength(line);
    const { group, sample, problemId, verdict, reward, passRate, format, responseTokens } = rollout;
    const place = { offset, length };
    entries.push(
      JSON.stringify({
        ...{ step, group, sample, problemId, verdict, reward, passRate, format, responseTokens },
        ...place,
      }) + "\n",
    );
    offset += length;
    return line;
  });
  await writeAtomic(paths.rolloutsOf(step), lines.join(""));
  appendWhole(paths.rolloutIndex, entries.join(""));
}

/**
 * Reads all whole lines of a JSONL file. A last line without its newline is a write cut short and
 * is left out; a missing file has no lines.
 *
 * @throws {DataError} if a whole line is not JSON.
 */
export async function readLines<T>(path: string): Promise<T[]> {
  const text = (await readTextOrNull(path)) ?? "";
  const lines = text.split("\n");
  lines.pop();
  return lines.map((line, index) => {
    try {
      return JSON.parse(line) as T;
    } catch (cause) {
      throw new DataError("line is not JSON", { path, line: index + 1, cause });
    }
  });
}

/** Writes run.json. */
export async function writeRunInfo(dir: string, info: RunInfo): Promise<void> {
  await writeAtomic(runPaths(dir).info, JSON.stringify(info, null, 2) + "\n");
}

/**
 * Reads run.json.
 *
 * @throws {DataError} if the directory is not a run.
 */
export async function readRunInfo(dir: string): Promise<RunInfo> {
  const path = runPaths(dir).info;
  const expected = "expected a run directory with a readable run.json";
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    throw new DataError(expected, { path, cause });
  }
  const parsed = runInfoSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new DataError(`${expected}; ${[...issue.path, ""].join(": ")}${issue.message}`, { path });
}
