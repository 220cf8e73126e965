/** What a run writes as it goes: metrics and health. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { type HealthEvent, type MetricsRecord, appendLine, runPaths } from "../core/run.js";

/** Makes the folders of a run. */
export async function makeRunFolders(dir: string): Promise<void> {
  const paths = runPaths(dir);
  for (const folder of [paths.rollouts, paths.checkpoints, paths.logs]) {
    await mkdir(folder, { recursive: true });
  }
}

/** True when a directory already holds a run. */
export function holdsRun(dir: string): boolean {
  return existsSync(runPaths(dir).info);
}

/** Appends a metrics record. */
export function writeMetrics(dir: string, record: MetricsRecord): void {
  appendLine(runPaths(dir).metrics, record);
}

/** Appends a health event. */
export function writeHealth(dir: string, event: HealthEvent): void {
  appendLine(runPaths(dir).health, event);
}
