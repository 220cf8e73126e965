/** The evaluations of a run, and two of them paired problem by problem, as the dashboard shows them. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "../core/errors.js";
import {
  type EvaluationInfo,
  type EvalSample,
  readEvaluation,
  readEvaluationInfo,
} from "../core/evaluation.js";
import { runPaths } from "../core/run.js";
import { type PairOutcome, pairProblems, sampleToShow } from "./compare.js";

/** One evaluation with its scores. */
export interface RunEvaluation {
  name: string;
  info: EvaluationInfo;
}

/** One problem of two evaluations. */
export interface ShownPair {
  problemId: string;
  outcome: PairOutcome;
  before: ShownSide;
  after: ShownSide;
}

/** One side of a pair: how many of its samples are right, and the one to look at. */
export interface ShownSide {
  right: number;
  samples: number;
  shown: EvalSample;
}

/** Reads every evaluation under `eval/`; those that cannot be read are named in `problems`. */
export async function readEvaluations(
  runDir: string,
): Promise<{ evaluations: RunEvaluation[]; problems: string[] }> {
  const evaluations: RunEvaluation[] = [];
  const problems: string[] = [];
  for (const name of await namesOf(runDir)) {
    try {
      evaluations.push({ name, info: await readEvaluationInfo(join(runPaths(runDir).eval, name)) });
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  // In the order in which they were made; those of one moment by name.
  evaluations.sort((a, b) => a.info.startedAt.localeCompare(b.info.startedAt));
  return { evaluations, problems };
}

/**
 * Pairs two evaluations of a run, by the report's rule.
 *
 * @throws {ConfigError} if the run has no evaluation of such a name.
 */
export async function readPairs(
  runDir: string,
  names: { before: string; after: string },
): Promise<ShownPair[]> {
  const known = await namesOf(runDir);
  // Names come from the address of a page: only what the folder lists is opened.
  const [before, after] = await Promise.all(
    [names.before, names.after].map((name) => {
      if (known.includes(name)) return readEvaluation(join(runPaths(runDir).eval, name));
      const list = known.length === 0 ? "none" : known.join(", ");
      throw new ConfigError(`expected the name of an evaluation of the run (${list}), got ${name}`);
    }),
  );
  const { pairs } = pairProblems(before.samples, after.samples);
  return pairs.map(({ problemId, outcome, samplesBefore, samplesAfter }) => ({
    problemId,
    outcome,
    before: sideOf(samplesBefore),
    after: sideOf(samplesAfter),
  }));
}

async function namesOf(runDir: string): Promise<string[]> {
  const names = await readdir(runPaths(runDir).eval).catch(() => []);
  return names.sort((a, b) => a.localeCompare(b));
}

function sideOf(samples: readonly EvalSample[]): ShownSide {
  const right = samples.filter(({ verdict }) => verdict === "accepted").length;
  return { right, samples: samples.length, shown: sampleToShow(samples) };
}
