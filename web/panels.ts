/**
 * The charts of a run, as data: which metrics each shows, how, and what a healthy curve looks like.
 * The first screen is what one looks at first; the second is behind a toggle.
 */
import { VERDICT_KINDS } from "../src/core/verdict.js";

/** One chart of the run page. */
export interface Panel {
  title: string;
  hint: string;
  screen: 1 | 2;
  isStacked?: boolean;
  lines: {
    metric: string;
    label: string;
    color: string;
    /** Metrics that hold the least and greatest value, for the band. */
    band?: [string, string];
    phase?: "train" | "val";
  }[];
}

/** Phases of a step in their order, with the colours of their areas. */
const PHASES: [phase: string, color: string][] = [
  ["gen", "series-1"],
  ["reward", "series-2"],
  ["old_log_prob", "series-5"],
  ["ref", "series-4"],
  ["values", "verdict-no_program"],
  ["adv", "verdict-time_limit"],
  ["update_critic", "series-6"],
  ["update_actor", "series-3"],
];

const SPREAD_HINTS: Record<string, string> = {
  advantages: "Mean near 0 when whitened; the band is the least and the greatest.",
  returns: "Follow the reward.",
  values: "The critic's guesses; they follow the returns.",
};

/** Every chart; those without data in a run are left out. */
export const PANELS: Panel[] = [
  {
    title: "Reward",
    hint: "Rises, with validation beside it. Training up and validation flat means memorising or hacking.",
    screen: 1,
    lines: [
      {
        metric: "critic/score/mean",
        label: "reward",
        color: "series-1",
        band: ["critic/score/min", "critic/score/max"],
      },
      { metric: "reward/score", label: "validation", color: "series-2", phase: "val" },
    ],
  },
  {
    title: "Pass rate",
    hint: "Rises slowly, after format. Near 0 for long: problems too hard or no signal.",
    screen: 1,
    lines: [
      { metric: "reward/pass_rate", label: "training", color: "series-1" },
      { metric: "reward/pass_rate", label: "validation", color: "series-2", phase: "val" },
    ],
  },
  {
    title: "Format rate",
    hint: "Rises first, to over 95 %. Low all the while: the model writes no code blocks.",
    screen: 1,
    lines: [
      { metric: "reward/format", label: "training", color: "series-1" },
      { metric: "reward/format", label: "validation", color: "series-2", phase: "val" },
    ],
  },
  {
    title: "Response length",
    hint: "Stable or slowly growing. Much longer with a flat pass rate: rambling.",
    screen: 1,
    lines: [
      {
        metric: "response_length/mean",
        label: "tokens",
        color: "series-1",
        band: ["response_length/min", "response_length/max"],
      },
    ],
  },
  {
    title: "Truncated share",
    hint: "Under 5 %. Over 20 %, or rising with flat reward: answers do not end.",
    screen: 1,
    lines: [{ metric: "response_length/clip_ratio", label: "truncated", color: "series-6" }],
  },
  {
    title: "Entropy",
    hint: "Declines slowly, then stays. To 0 is collapse; rising is garbage.",
    screen: 1,
    lines: [{ metric: "actor/entropy", label: "entropy", color: "series-3" }],
  },
  {
    title: "KL",
    hint: "Grows slowly; under 0.1 per token. Doubling within a few steps is a warning.",
    screen: 1,
    lines: [
      { metric: "kl", label: "to the reference", color: "series-1" },
      { metric: "actor/ppo_kl", label: "old to new", color: "series-2" },
    ],
  },
  {
    title: "Clip fraction",
    hint: "Between 0.001 and 0.2. Over 0.2: the step is too large.",
    screen: 1,
    lines: [
      { metric: "actor/pg_clipfrac", label: "clipped", color: "series-1" },
      { metric: "actor/pg_clipfrac_lower", label: "dual clip", color: "series-2" },
    ],
  },
  {
    title: "Groups",
    hint: "Mixed groups carry the signal. All solved or none solved teach nothing in GRPO.",
    screen: 1,
    isStacked: true,
    lines: [
      { metric: "group/solve_all", label: "all solved", color: "verdict-accepted" },
      { metric: "group/mixed", label: "mixed", color: "series-5" },
      { metric: "group/solve_none", label: "none solved", color: "verdict-wrong_answer" },
    ],
  },
  {
    title: "Verdicts",
    hint: "No program gives way to wrong answers, then to accepted.",
    screen: 1,
    isStacked: true,
    lines: VERDICT_KINDS.map((kind) => ({
      metric: `verdict/${kind}`,
      label: kind.replace("_", " "),
      color: `verdict-${kind}`,
    })),
  },
  {
    title: "Seconds by phase",
    hint: "Sampling and updating dominate; judging under 15 %.",
    screen: 1,
    isStacked: true,
    lines: PHASES.map(([phase, color]) => ({
      metric: `timing_s/${phase}`,
      label: phase.replaceAll("_", " "),
      color,
    })),
  },
  {
    title: "Tokens per second",
    hint: "Throughput of whole steps.",
    screen: 1,
    lines: [{ metric: "perf/throughput", label: "tokens/s", color: "series-4" }],
  },
  ...["advantages", "returns", "values"].map((name): Panel => ({
    title: `${name[0].toUpperCase()}${name.slice(1)}`,
    hint: SPREAD_HINTS[name],
    screen: 2,
    lines: [
      {
        metric: `critic/${name}/mean`,
        label: name,
        color: "series-1",
        band: [`critic/${name}/min`, `critic/${name}/max`],
      },
    ],
  })),
  {
    title: "Seconds of judging one answer",
    hint: "Far under the time limit. The 95th percentile at the limit: endless loops.",
    screen: 2,
    lines: [
      { metric: "timing_s/judge_p50", label: "median", color: "series-1" },
      { metric: "timing_s/judge_p95", label: "95th percentile", color: "series-2" },
    ],
  },
  ...(
    [
      ["Policy loss", "actor/pg_loss", "Near 0, noisy. Over 10, or not a number: stop."],
      ["Policy gradient norm", "actor/grad_norm", "Steady; ten times its median is a warning."],
      ["Critic loss", "critic/vf_loss", "Falls early, then follows the reward's spread."],
      [
        "Explained variance",
        "critic/vf_explained_var",
        "Rises over 0.3 in long runs; not a sign of health alone.",
      ],
      ["Learning rate", "actor/lr", "As scheduled."],
      ["KL coefficient", "actor/reward_kl_penalty_coeff", "Moves only when adaptive."],
      [
        "Sampler against trainer",
        "training/rollout_probs_diff_mean",
        "Under 0.005; more is a numeric fault.",
      ],
      ["Batches drawn", "training/filter_groups/gen_batches", "1 to 3. 10: nothing differs."],
      ["Duplicates", "group/duplicates", "Share of answers that another of the group repeats."],
      ["Groups of one reward", "group/zero_std", "Under 50 %; in GRPO they teach nothing."],
      ["Critic clip fraction", "critic/vf_clipfrac", "Small; over 0.3 the critic cannot follow."],
      ["Seconds of judging a step", "timing_s/reward", "Under 15 % of a step."],
      ["Tokens per step", "perf/total_num_tokens", "Level, or growing with length."],
      ["Infrastructure errors", "reward/infra_error", "0. Over 5 % the run stops."],
      ["Memory", "perf/cpu_memory_used_gb", "Level after the first steps."],
    ] as const
  ).map(([title, metric, hint]): Panel => ({
    title,
    hint,
    screen: 2,
    lines: [{ metric, label: title.toLowerCase(), color: "series-1" }],
  })),
];
