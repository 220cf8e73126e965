/** Where a run starts: from nothing, or from a checkpoint that fits what is asked for. */
import { join, resolve } from "node:path";
import type { Config } from "../config/schema.js";
import { CheckpointError, ConfigError } from "../core/errors.js";
import { isAlive } from "../core/process.js";
import { type RunInfo, readRunInfo, runPaths } from "../core/run.js";
import {
  type CheckpointState,
  type RunIdentity,
  listCheckpoints,
  readCheckpoint,
} from "./checkpoint.js";
import { describeDrift, findDrift } from "./drift.js";
import { holdsRun } from "./run-log.js";

/** A checkpoint to go on from. */
export interface ResumePoint {
  path: string;
  state: CheckpointState;
  /** Differences to the saved run that were let through, one line each. */
  drift: string[];
}

/**
 * Finds the checkpoint that `trainer.resume_mode` asks for; null starts anew.
 *
 * @throws {ConfigError} if the directory holds a run that may not be overwritten, or is being
 * written by another process.
 * @throws {CheckpointError} if the path asked for holds no complete checkpoint.
 */
export async function findCheckpoint(config: Config, dir: string): Promise<string | null> {
  const { resume_mode: mode, resume_from_path: from } = config.trainer;
  if (holdsRun(dir)) assertNotLaunched(await readRunInfo(dir), dir);
  if (mode === "resume_path") return resolveCheckpoint(from ?? "");
  if (mode === "disable") {
    if (holdsRun(dir)) {
      throw new ConfigError(
        `${dir} already holds a run; choose another trainer.default_local_dir, or let it resume`,
      );
    }
    return null;
  }
  const step = (await listCheckpoints(dir)).at(-1);
  return step === undefined ? null : runPaths(dir).checkpointOf(step);
}

/** Takes a checkpoint directory, or a run directory for its newest checkpoint. */
async function resolveCheckpoint(path: string): Promise<string> {
  if (!holdsRun(path)) return resolve(path);
  const step = (await listCheckpoints(path)).at(-1);
  if (step === undefined) {
    throw new CheckpointError(`${path}: expected a run with a complete checkpoint, found none`);
  }
  return runPaths(path).checkpointOf(step);
}

/** Runs of this engine hold the directory's lock; those of another are known by their run.json. */
function assertNotLaunched(info: RunInfo, dir: string): void {
  if (info.engine === "embedded" || info.status !== "running" || info.pid === null) return;
  if (!isAlive(info.pid)) return;
  throw new ConfigError(`${dir} is being written by process ${info.pid}; wait for it or stop it`);
}

/**
 * Reads a checkpoint and compares it with the present run.
 *
 * @throws {ConfigError} if it belongs to a run that differs in what makes it that run, unless
 * `force` is set.
 */
export async function openResumePoint(
  path: string,
  now: { config: Config; identity: RunIdentity },
  force: boolean,
): Promise<ResumePoint> {
  const state = await readCheckpoint(path);
  const drift = findDrift(state, now);
  const dangerous = drift.filter((one) => one.dangerous);
  if (dangerous.length > 0 && !force) {
    throw new ConfigError(
      `${join(path)} belongs to another run; going on would mix the two (--force does it all the same):\n` +
        dangerous.map((one) => `  ${describeDrift(one)}`).join("\n"),
    );
  }
  return { path, state, drift: drift.map(describeDrift) };
}
