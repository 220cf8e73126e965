/**
 * The rollouts of one step, with dynamic sampling: groups whose completions all earn the same teach
 * nothing, so they may be left out and more prompts drawn in their place. When too many were drawn,
 * the step trains on what there is, and says so.
 */
import type { Config } from "../config/schema.js";
import { type DataOrder, batchAt } from "./data-order.js";
import { membersOf } from "./advantages.js";
import {
  type JudgedRollout,
  type Prompt,
  type RolloutMakers,
  type RolloutSet,
  rollOut,
} from "./rollout.js";

/** What a step trains on, and everything that was sampled for it. */
export interface StepRollouts {
  /** The completions trained on. */
  kept: JudgedRollout[];
  /** All completions judged; reward metrics are means over these. */
  all: RolloutSet;
  /** Batches drawn from the data. */
  batches: number;
  /** Why the step trains on fewer groups than asked; null when it does not. */
  shortage: string | null;
}

/** Batches drawn at most for one step where `max_num_gen_batches` is 0. */
export const DEFAULT_MAX_BATCHES = 10;

/** Samples and judges the rollouts of a step, starting with batch number `drawn` of the data. */
export async function sampleStep(
  makers: RolloutMakers,
  data: { prompts: readonly Prompt[]; order: DataOrder },
  { step, drawn }: { step: number; drawn: number },
): Promise<StepRollouts> {
  const { config } = makers;
  const filter = config.algorithm.filter_groups;
  const wanted = data.order.batchSize;
  const most = filter.enable ? filter.max_num_gen_batches || DEFAULT_MAX_BATCHES : 1;
  const all: RolloutSet = {
    rollouts: [],
    infraErrors: 0,
    badProblems: 0,
    timing: { generate: 0, verify: 0 },
  };
  let groups: JudgedRollout[][] = [];
  let batches = 0;
  while (batches < most && (batches === 0 || groups.length < wanted)) {
    const prompts = batchAt(data.order, drawn + batches).map((index) => data.prompts[index]);
    const set = await rollOut(makers, prompts, trainingPlan(config, step, batches * wanted));
    addTo(all, set);
    groups.push(
      ...groupsOf(set.rollouts).filter((group) => !filter.enable || differs(group, filter.metric)),
    );
    batches++;
  }
  groups = groups.slice(0, wanted);
  if (!filter.enable) return { kept: groups.flat(), all, batches, shortage: null };
  const shortage =
    groups.length === wanted
      ? null
      : `dynamic sampling: ${groups.length} of ${wanted} groups differ in reward after ${batches} batches; training on ${groups.length === 0 ? "groups without a signal" : "those"}`;
  const kept =
    groups.length === 0
      ? all.rollouts.slice(0, wanted * config.actor_rollout_ref.rollout.n)
      : groups.flat();
  return { kept, all, batches, shortage };
}

function trainingPlan(config: Config, step: number, firstGroup: number) {
  const { rollout } = config.actor_rollout_ref;
  return {
    samples: rollout.n,
    temperature: rollout.temperature,
    topP: rollout.top_p,
    topK: rollout.top_k === -1 ? null : rollout.top_k,
    maxNewTokens: config.data.max_response_length,
    stream: [config.seed, "rollout", step],
    firstGroup,
    allTests: false,
  };
}

/** Rewards of a greedy completion per prompt instance: the baseline of ReMax. */
export async function greedyBaselines(
  makers: RolloutMakers,
  kept: readonly JudgedRollout[],
  step: number,
): Promise<Map<number, number>> {
  const byGroup = new Map(kept.map(({ group, prompt }) => [group, prompt]));
  const set = await rollOut(makers, [...byGroup.values()], {
    ...trainingPlan(makers.config, step, 0),
    samples: 1,
    temperature: 0,
    topP: 1,
    topK: null,
  });
  const groups = [...byGroup.keys()];
  // A baseline lost to the sandbox counts as none, which leaves the advantage unbiased.
  return new Map([
    ...groups.map((group) => [group, 0] as const),
    ...set.rollouts.map(({ group, score }) => [groups[group], score] as const),
  ]);
}

function groupsOf(rollouts: JudgedRollout[]): JudgedRollout[][] {
  return membersOf(rollouts.map(({ group }) => group)).map((rows) =>
    rows.map((row) => rollouts[row]),
  );
}

function differs(
  group: readonly JudgedRollout[],
  metric: Config["algorithm"]["filter_groups"]["metric"],
): boolean {
  const value = ({ score, result }: JudgedRollout) => {
    switch (metric) {
      case null:
      case "score":
        return score;
      case "pass_rate":
        return result.passRate;
      case "acc":
        return Number(result.verdict === "accepted");
    }
  };
  return group.some((rollout) => value(rollout) !== value(group[0]));
}

function addTo(all: RolloutSet, set: RolloutSet): void {
  all.rollouts.push(...set.rollouts);
  all.infraErrors += set.infraErrors;
  all.badProblems += set.badProblems;
  all.timing.generate += set.timing.generate;
  all.timing.verify += set.timing.verify;
}
