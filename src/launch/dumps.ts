/**
 * veRL's dumps of completions (`trainer.rollout_data_dir`, `trainer.validation_data_dir`) as our
 * rollouts.
 *
 * A dump has the decoded prompt, the completion, the ground truth and the score. What it lacks comes
 * from elsewhere: the problem by the id inside the ground truth, or by the prompt where veRL 0.5 dumps
 * no ground truth, and the verdicts by judging the completion again, which the service that judged it
 * before does at once. Tokens are in no dump, so
 * counts of them are 0.
 */
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Problem } from "../core/problem.js";
import { readTextOrNull } from "../core/read.js";
import type { Rollout } from "../core/rollout.js";
import type { VerdictKind } from "../core/verdict.js";
import { PromptIndex } from "./prompt-index.js";
import { parsePythonJson } from "./python-json.js";

const dumpSchema = z.looseObject({
  input: z.string(),
  output: z.string(),
  /** 0.5 has none. */
  gts: z.unknown().optional(),
  score: z.number(),
  uid: z.string().optional(),
});

/** One completion of a dump. */
export type DumpLine = z.infer<typeof dumpSchema>;

/** What the judge says of a completion. */
export interface JudgedCompletion {
  program: string | null;
  format: boolean;
  verdicts: VerdictKind[];
  verdict: VerdictKind;
  passRate: number;
}

/** Judges a completion as the run's reward did. */
export type Judge = (completion: string, problem: Problem) => Promise<JudgedCompletion>;

/** Reads a dump; null while it is missing or its last line is still being written. */
export async function readDump(path: string): Promise<DumpLine[] | null> {
  const text = await readTextOrNull(path);
  if (text === null || text === "" || !text.endsWith("\n")) return null;
  try {
    const lines = text.trimEnd().split("\n");
    return lines.map((line) => dumpSchema.parse(parsePythonJson(line)));
  } catch {
    return null;
  }
}

/**
 * Removes the dumps of steps after `step`, or all of them when it is null: those steps are done
 * again, and whoever waits for their dumps must not find these.
 */
export async function removeDumps(folder: string, step: number | null): Promise<void> {
  const names = existsSync(folder) ? await readdir(folder) : [];
  for (const name of names) {
    const digits = /^(\d+)\.jsonl$/.exec(name)?.[1];
    if (digits === undefined || (step !== null && Number(digits) <= step)) continue;
    await rm(join(folder, name));
  }
}

/** The id that the ground truth carries; null where it has none. */
export function problemIdOf(groundTruth: unknown): string | null {
  if (typeof groundTruth !== "string") return null;
  try {
    const { problem_id: id } = Object(JSON.parse(groundTruth)) as { problem_id?: unknown };
    return typeof id === "string" ? id : null;
  } catch {
    return null;
  }
}

/** Rollouts of a dump; completions of unknown problems are left out. */
export async function toRollouts(
  lines: readonly DumpLine[],
  { step, problems, judge }: { step: number; problems: ReadonlyMap<string, Problem>; judge: Judge },
): Promise<Rollout[]> {
  const groups = new Map<string, number>();
  const samples = new Map<number, number>();
  const rollouts: Rollout[] = [];
  const isTold = lines.some(({ gts }) => gts !== undefined);
  const prompts = isTold ? null : new PromptIndex(problems.values());
  for (const line of lines) {
    const id = problemIdOf(line.gts);
    const problem = (id === null ? prompts?.find(line.input) : problems.get(id)) ?? null;
    if (problem === null) continue;
    // `uid` is {prompt}_{session}_{index}; older dumps have none, and equal inputs are one group.
    const key = line.uid?.split("_")[0] ?? `${problem.id}\0${line.input}`;
    const group = groups.get(key) ?? groups.size;
    groups.set(key, group);
    const sample = samples.get(group) ?? 0;
    samples.set(group, sample + 1);
    const judged = await judge(line.output, problem);
    rollouts.push({
      step,
      group,
      sample,
      problemId: problem.id,
      prompt: problem.prompt,
      completion: line.output,
      finish: "stop",
      promptTokens: 0,
      responseTokens: 0,
      tokens: [],
      logprobs: [],
      advantages: null,
      ...judged,
      reward: line.score,
    });
  }
  return rollouts;
}

/** What rollouts say together, under our metric names. */
export function rolloutMetrics(rollouts: readonly Rollout[]): Record<string, number> {
  if (rollouts.length === 0) return {};
  const mean = (value: (rollout: Rollout) => number) =>
    rollouts.reduce((sum, rollout) => sum + value(rollout), 0) / rollouts.length;
  const metrics: Record<string, number> = {
    "reward/score": mean(({ reward }) => reward),
    "reward/pass_rate": mean(({ passRate }) => passRate),
    "reward/format": mean(({ format }) => Number(format)),
  };
  for (const kind of new Set(rollouts.map(({ verdict }) => verdict))) {
    metrics[`verdict/${kind}`] = mean(({ verdict }) => Number(verdict === kind));
  }
  return metrics;
}

/** Means of the score and of the figures that the reward function gave, from a dump alone. */
export function dumpMetrics(lines: readonly DumpLine[]): Record<string, number> {
  if (lines.length === 0) return {};
  const metrics: Record<string, number> = {};
  for (const key of ["score", "pass_rate", "format", "infra_error"]) {
    const values = lines.map((line) => line[key]).filter((value) => typeof value === "number");
    if (values.length !== lines.length) continue;
    metrics[`reward/${key}`] = values.reduce((a, b) => a + b, 0) / values.length;
  }
  return metrics;
}
