/** The evaluations of a run, paired problem by problem, as the dashboard shows them. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type EvaluationInfo, type EvalSample, readEvaluation } from "../core/evaluation.js";
import { runPaths } from "../core/run.js";

/** One evaluation with its samples; completions are kept, prompts are not repeated. */
export interface RunEvaluation {
  name: string;
  info: EvaluationInfo;
  samples: EvalSample[];
}

/** Reads every evaluation under `eval/`; those that cannot be read are named in `problems`. */
export async function readEvaluations(
  runDir: string,
): Promise<{ evaluations: RunEvaluation[]; problems: string[] }> {
  const root = runPaths(runDir).eval;
  const names = await readdir(root).catch(() => []);
  const evaluations: RunEvaluation[] = [];
  const problems: string[] = [];
  for (const name of names.sort((a, b) => a.localeCompare(b))) {
    try {
      const { info, samples } = await readEvaluation(join(root, name));
      evaluations.push({ name, info, samples });
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  // In the order in which they were made; those of one moment by name.
  evaluations.sort((a, b) => a.info.startedAt.localeCompare(b.info.startedAt));
  return { evaluations, problems };
}
