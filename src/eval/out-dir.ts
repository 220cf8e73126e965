/** Whether a directory may take an evaluation: it is empty, or holds the same one. */
import { existsSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { ConfigError } from "../core/errors.js";
import {
  type EvalSample,
  evaluationPaths,
  evalSettingsSchema,
  readEvaluationInfo,
} from "../core/evaluation.js";
import { readLines } from "../core/run.js";
import { type EvaluationPlan, planTasks, recordSettings } from "./evaluate.js";

/**
 * Refuses a directory that holds another evaluation, whose results `evaluate` would replace.
 *
 * @throws {ConfigError} if the model or a setting differs, or samples there are not of this one.
 */
export async function refuseOther(dir: string, plan: EvaluationPlan): Promise<void> {
  const found = existsSync(evaluationPaths(dir).info)
    ? await differencesOf(dir, plan)
    : await strayOf(dir, plan);
  if (found === null) return;
  throw new ConfigError(
    `eval: expected a new folder, or one with the same evaluation; ${dir} holds another: ${found}. ` +
      `Say --out with another folder; --reuse ${dir} takes its completions over where they fit`,
  );
}

/** What differs from a finished evaluation, in words; null when nothing does. */
async function differencesOf(dir: string, plan: EvaluationPlan): Promise<string | null> {
  const there = await readEvaluationInfo(dir).catch((error: unknown) => error as Error);
  if (there instanceof Error) return `it cannot be read (${there.message})`;
  const { completer } = plan;
  const facts = (model: { kind: string; identity: string }, settings: Record<string, unknown>) => ({
    model: `${model.kind} ${model.identity}`,
    ...settings,
  });
  const left: Record<string, unknown> = facts(there.model, there.settings);
  const right: Record<string, unknown> = facts(
    completer,
    evalSettingsSchema.parse(recordSettings(plan)),
  );
  const differing = Object.keys(right).filter((key) => !isDeepStrictEqual(left[key], right[key]));
  if (differing.length === 0) return null;
  const show = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  return differing.map((key) => `${key} ${show(left[key])}, not ${show(right[key])}`).join("; ");
}

/** Says how many samples of an interrupted evaluation are of another; null when none is. */
async function strayOf(dir: string, plan: EvaluationPlan): Promise<string | null> {
  const keys = new Set(planTasks(plan).map(({ key }) => key));
  const samples = await readLines<EvalSample>(evaluationPaths(dir).results);
  const stray = samples.filter(({ key }) => !keys.has(key)).length;
  return stray === 0
    ? null
    : `it was not finished, and ${stray} of its ${samples.length} samples are of another model or other settings`;
}
