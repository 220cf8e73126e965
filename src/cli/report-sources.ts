/** Which evaluations `rlvr report` compares. */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "../core/errors.js";
import { type Evaluation, evaluationPaths, readEvaluation } from "../core/evaluation.js";
import { runPaths } from "../core/run.js";

/** Finds the pairs: two directories are one, a run alone has its own. */
export async function pairsOf(before: string, after: string | undefined): Promise<Pair[]> {
  return after === undefined ? pairsOfRun(before) : [await pairOf(before, after)];
}

/** Two evaluations to be compared. */
export interface Pair {
  before: Evaluation;
  after: Evaluation;
}

async function pairOf(before: string, after: string): Promise<Pair> {
  return { before: await readFinal(before), after: await readFinal(after) };
}

/** An evaluation; of a run the one made at its end. */
async function readFinal(dir: string): Promise<Evaluation> {
  return readEvaluation((await isRunDir(dir)) ? join(runPaths(dir).eval, "after") : dir);
}

/** A run's evaluations, sampled and greedy, as `rlvr train` leaves them. */
async function pairsOfRun(dir: string): Promise<Pair[]> {
  const root = runPaths(dir).eval;
  const pairs: Pair[] = [];
  for (const suffix of ["", "-greedy"]) {
    const [before, after] = ["before", "after"].map((name) => join(root, `${name}${suffix}`));
    if ((await isEvaluation(before)) && (await isEvaluation(after)))
      pairs.push(await pairOf(before, after));
  }
  if (pairs.length === 0) {
    throw new ConfigError(
      `report: expected a second evaluation, or a run with eval/before and eval/after, got ${dir}`,
    );
  }
  return pairs;
}

/** Those of the directories that are runs. */
export async function runsAmong(dirs: readonly string[]): Promise<string[]> {
  const isRun = await Promise.all(dirs.map(isRunDir));
  return dirs.filter((_, i) => isRun[i]);
}

const isEvaluation = (dir: string) => isThere(evaluationPaths(dir).info);
const isRunDir = (dir: string) => isThere(runPaths(dir).info);
const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
