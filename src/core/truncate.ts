/** On resume, the removal of everything beyond the step a run goes on from: curves never double back. */
import { existsSync } from "node:fs";
import { readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DataError } from "./errors.js";
import { type HealthEvent, type MetricsRecord, readLines, runPaths } from "./run.js";
import { writeAtomic } from "./write.js";

/** Drops every record after `step`, or all of them when it is null, and answers what is left. */
export async function truncateRun(dir: string, step: number | null): Promise<MetricsRecord[]> {
  const paths = runPaths(dir);
  const keep = (record: { step: number }) => step !== null && record.step <= step;
  const metrics = await keepLines<MetricsRecord>(paths.metrics, keep);
  await keepLines<HealthEvent>(paths.health, keep);
  await keepLines<{ step: number }>(paths.rolloutIndex, keep);
  const files = existsSync(paths.rollouts) ? await readdir(paths.rollouts) : [];
  for (const name of files) {
    const digits = /^step_(\d+)\.jsonl/.exec(name)?.[1];
    if (digits !== undefined && !keep({ step: Number(digits) })) {
      await rm(join(paths.rollouts, name));
    }
  }
  return metrics;
}

async function keepLines<T extends { step: number }>(
  path: string,
  keep: (record: T) => boolean,
): Promise<T[]> {
  if (!existsSync(path)) return [];
  const lines = await readLines<T>(path);
  const odd = lines.findIndex((record) => typeof record?.step !== "number");
  // Left alone it would be taken for one of a later step, and dropped.
  if (odd !== -1) throw new DataError("line has no step", { path, line: odd + 1 });
  const kept = lines.filter(keep);
  const text = kept.map((record) => JSON.stringify(record) + "\n").join("");
  // Rewriting an unchanged file would only make readers start over.
  if (text !== (await readFile(path, "utf8"))) await writeAtomic(path, text);
  return kept;
}
