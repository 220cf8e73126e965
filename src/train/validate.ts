/** Validation inside training: the policy as it is, on held-out problems, through the same verifier. */
import type { Config } from "../config/schema.js";
import { membersOf } from "./advantages.js";
import { type Metrics, infraShare, isLost, lengthMetrics, rewardMetrics } from "./metrics.js";
import { type JudgedRollout, type Prompt, type RolloutMakers, rollOut } from "./rollout.js";

/** What a validation found. */
export interface Validation {
  metrics: Metrics;
  rollouts: JudgedRollout[];
}

/**
 * Validates. The random numbers do not depend on the step, so that two validations differ by the
 * policy alone; every test runs, whatever `verifier.max_tests` says. Where the sandbox lost too much,
 * the share it lost is all there is to say.
 */
export async function validate(
  makers: RolloutMakers,
  prompts: readonly Prompt[],
  signal?: AbortSignal,
): Promise<Validation> {
  const { config } = makers;
  const { val_kwargs: kwargs } = config.actor_rollout_ref.rollout;
  const set = await rollOut(
    makers,
    prompts,
    {
      samples: kwargs.n,
      temperature: kwargs.temperature,
      topP: kwargs.top_p,
      topK: kwargs.top_k === -1 ? null : kwargs.top_k,
      maxNewTokens: config.data.max_response_length,
      stream: [config.seed, "validation"],
      firstGroup: 0,
      allTests: true,
    },
    signal,
  );
  if (isLost(config, set)) {
    return { metrics: { "reward/infra_error": infraShare(set) }, rollouts: set.rollouts };
  }
  const lengths = lengthMetrics(set.rollouts, { prompt: config.data.max_prompt_length });
  const metrics = { ...rewardMetrics(set), ...lengths, ...sourceMetrics(set.rollouts, config) };
  return { metrics, rollouts: set.rollouts };
}

/** Figures per data source, under veRL's names: `val-core/<source>/acc/mean@N` and `val-aux/…`. */
function sourceMetrics(rollouts: readonly JudgedRollout[], config: Config): Metrics {
  const { n } = config.actor_rollout_ref.rollout.val_kwargs;
  const sources = [...new Set(rollouts.map(({ prompt }) => prompt.problem.source))];
  const metrics: Metrics = {};
  for (const source of sources) {
    const own = rollouts.filter(({ prompt }) => prompt.problem.source === source);
    for (const [name, value] of Object.entries(VARIABLES)) {
      const groups = membersOf(own.map(({ group }) => group)).map((rows) =>
        rows.map((row) => value(own[row])),
      );
      for (const [statistic, figure] of Object.entries(sampleStatistics(groups, n))) {
        const part = name === "acc" && statistic === `mean@${n}` ? "val-core" : "val-aux";
        metrics[`${part}/${source}/${name}/${statistic}`] = figure;
      }
    }
  }
  return metrics;
}

const VARIABLES: Record<string, (rollout: JudgedRollout) => number> = {
  acc: ({ result }) => Number(result.verdict === "accepted"),
  reward: ({ score }) => score,
  pass_rate: ({ result }) => result.passRate,
  format: ({ result }) => Number(result.extraction.format),
};

/**
 * Statistics of N samples per prompt, averaged over prompts: `mean@N`, and with several samples
 * `std@N`, `best@N` and `worst@N`. (veRL draws best@N with replacement; ours is the plain maximum.)
 */
export function sampleStatistics(groups: readonly (readonly number[])[], n: number): Metrics {
  const over = (statistic: (group: readonly number[]) => number) =>
    groups.length === 0
      ? 0
      : groups.reduce((sum, group) => sum + statistic(group), 0) / groups.length;
  const mean = (group: readonly number[]) => group.reduce((a, b) => a + b, 0) / group.length;
  const metrics: Metrics = { [`mean@${n}`]: over(mean) };
  if (n < 2) return metrics;
  const std = (group: readonly number[]) => {
    const squares = group.reduce((sum, value) => sum + (value - mean(group)) ** 2, 0);
    return Math.sqrt(squares / group.length);
  };
  metrics[`std@${n}`] = over(std);
  metrics[`best@${n}`] = over((group) => Math.max(...group));
  metrics[`worst@${n}`] = over((group) => Math.min(...group));
  return metrics;
}
