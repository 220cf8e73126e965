/** `rlvr verify --rollout`: judges an answer again that a run has stored. */
import { ConfigError } from "../core/errors.js";
import type { Problem } from "../core/problem.js";
import { RolloutTable } from "../report/rollout-table.js";
import { findProblem } from "../report/run-problems.js";

/**
 * Reads an answer with its problem by `RUN:STEP/GROUP/SAMPLE`; the sample counts from 0.
 *
 * @throws {ConfigError} if the word has another form, or the run does not hold what it names.
 */
export async function readRollout(word: string): Promise<{ problem: Problem; completion: string }> {
  const match = /^(.+):(\d+)\/(\d+)\/(\d+)$/.exec(word);
  if (match === null) {
    throw new ConfigError(`--rollout: expected RUN:STEP/GROUP/SAMPLE, got ${word}`);
  }
  const [dir, step, group, sample] = [match[1], ...match.slice(2).map(Number)] as [
    string,
    ...number[],
  ];
  const table = new RolloutTable(dir);
  await table.refresh();
  const query = { stepFrom: step, stepTo: step, group, skip: 0, limit: Infinity };
  const { entries } = await table.find(query);
  const entry = entries.find((one) => one.sample === sample);
  if (entry === undefined) {
    throw new ConfigError(`--rollout: ${dir} has no rollout ${step}/${group}/${sample}`);
  }
  const { problemId, completion } = await table.read(entry);
  const problem = await findProblem(dir, problemId);
  if (problem === null) {
    throw new ConfigError(
      `--rollout: the problem ${problemId} is in none of the files that ${dir} was trained on`,
    );
  }
  return { problem, completion };
}
