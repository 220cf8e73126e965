/**
 * The health rules as data: what is watched, when it is a warning, and what to do about it. They are
 * functions of the metrics alone, so a resumed run, the report and the dashboard see the same ones.
 *
 * Sources of the thresholds are in docs/METRICS.md, as are the metrics.
 */

/** The metrics of a run so far, in order. */
export interface History {
  /** Metrics of each training step. */
  train: readonly { step: number; metrics: Readonly<Record<string, number>> }[];
  /** Metrics of each validation. */
  val: readonly { step: number; metrics: Readonly<Record<string, number>> }[];
}

/** A sign that a rule holds. */
export interface Sign {
  value: number;
  /** The numbers, in words. */
  evidence: string;
  /** True where it is bad enough to stop a run that asks for it. */
  fatal?: boolean;
}

/** One rule. */
export interface HealthRule {
  id: string;
  /** What is wrong, in a few words. */
  title: string;
  metric: string;
  /** When it holds, in words. */
  condition: string;
  advice: string;
  /** Name under which `health.stop_on` asks to stop on it. */
  stop?: "nan" | "infra_errors" | "dead_reward";
  test(history: History): Sign | null;
}

/** Share of completions lost to the sandbox beyond which a run stops. */
export const FATAL_INFRA_SHARE = 0.05;

const text = (value: number) => String(Number(value.toPrecision(3)));

/** The last `count` values of a metric; null while there are fewer. */
function last({ train }: History, metric: string, count: number): number[] | null {
  const values = train.slice(-count).map(({ metrics }) => metrics[metric]);
  return values.length < count || values.some((value) => value === undefined) ? null : values;
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

/** Holds while the mean of the last steps is beyond a limit. */
function beyond(
  metric: string,
  { over, under, steps = 3 }: { over?: number; under?: number; steps?: number },
) {
  return (history: History): Sign | null => {
    const values = last(history, metric, steps);
    if (values === null) return null;
    const value = mean(values);
    const limit = over ?? under ?? 0;
    if (!(over === undefined ? value < limit : value > limit)) return null;
    const side = over === undefined ? "under" : "over";
    return { value, evidence: `mean of the last ${steps} steps ${text(value)}, ${side} ${limit}` };
  };
}

/** First and last means over `steps`; null before they are apart. */
function ends(
  history: History,
  metric: string,
  steps: number,
): { first: number; now: number } | null {
  if (history.train.length < 2 * steps) return null;
  const values = history.train.map(({ metrics }) => metrics[metric]);
  const [first, now] = [values.slice(0, steps), values.slice(-steps)];
  if ([...first, ...now].some((value) => value === undefined)) return null;
  return { first: mean(first), now: mean(now) };
}

/** Every rule, the gravest first. */
export const HEALTH_RULES: readonly HealthRule[] = [
  {
    id: "nan",
    title: "numbers are no longer finite",
    metric: "actor/grad_norm",
    condition: "a loss, a gradient norm or the KL is NaN or infinite",
    advice:
      "Go back to the last checkpoint and lower the learning rates; look for a reward that is not finite.",
    stop: "nan",
    test: ({ train }) => {
      const metrics = train.at(-1)?.metrics ?? {};
      const watched = ["actor/loss", "actor/grad_norm", "critic/vf_loss", "critic/grad_norm", "kl"];
      const broken = watched.find((name) => name in metrics && !Number.isFinite(metrics[name]));
      if (broken === undefined) return null;
      return { value: metrics[broken], evidence: `${broken} is ${metrics[broken]}`, fatal: true };
    },
  },
  {
    id: "infra_errors",
    title: "the sandbox itself fails",
    metric: "reward/infra_error",
    condition: "over 1 % of completions could not be judged; over 5 % is fatal",
    advice:
      "Run `rlvr doctor`; give the sandbox more memory, or lower verifier.workers. Lost completions are dropped, never paid 0.",
    stop: "infra_errors",
    test: ({ train, val }) => {
      const [step, validation] = [train.at(-1), val.at(-1)];
      // A validation follows the step whose number it has.
      const newest = (validation?.step ?? -1) >= (step?.step ?? 0) ? validation : step;
      const value = newest?.metrics["reward/infra_error"] ?? 0;
      if (value <= 0.01) return null;
      const what = newest === validation ? "validation" : "step";
      const evidence = `${text(100 * value)} % of the ${what}'s completions were lost`;
      return { value, evidence, fatal: value > FATAL_INFRA_SHARE };
    },
  },
  {
    id: "first_ratio",
    title: "the first update does not start from ratio 1",
    metric: "actor/first_ratio_error",
    condition: "at the first update of a step a probability ratio is off 1 by more than 1e-3",
    advice:
      "Sampler and trainer disagree: look for a mask, a temperature or a template that differs between them.",
    test: ({ train }) => {
      const value = train.at(-1)?.metrics["actor/first_ratio_error"];
      if (value === undefined || !(value > 1e-3)) return null;
      return { value, evidence: `a ratio is off by ${text(value)} before any update` };
    },
  },
  {
    id: "sampler_mismatch",
    title: "sampler and trainer disagree on probabilities",
    metric: "training/rollout_probs_diff_mean",
    condition: "mean difference of token probabilities over 0.01 (healthy: under 0.005)",
    advice:
      "Use the same precision and temperature in both, or correct by truncated importance weights.",
    test: beyond("training/rollout_probs_diff_mean", { over: 0.01, steps: 1 }),
  },
  {
    id: "kl",
    title: "the policy runs away from the reference",
    metric: "kl",
    condition: "KL per token over 0.3 in the mean of three steps",
    advice:
      "Lower actor_rollout_ref.actor.optim.lr, or raise the KL coefficient (algorithm.kl_ctrl.kl_coef, actor.kl_loss_coef).",
    test: beyond("kl", { over: 0.3 }),
  },
  {
    id: "pg_loss",
    title: "the policy loss explodes",
    metric: "actor/pg_loss",
    condition: "size of the policy loss over 10",
    advice: "Lower the learning rate; look at critic/advantages for outliers.",
    test: ({ train }) => {
      const value = train.at(-1)?.metrics["actor/pg_loss"];
      if (value === undefined || !(Math.abs(value) > 10)) return null;
      return { value, evidence: `policy loss ${text(value)}` };
    },
  },
  {
    id: "clip_fraction",
    title: "most updates are clipped",
    metric: "actor/pg_clipfrac",
    condition: "share of clipped tokens over 0.2 in the mean of three steps",
    advice: "Steps are too large: lower the learning rate or ppo_epochs.",
    test: beyond("actor/pg_clipfrac", { over: 0.2 }),
  },
  {
    id: "grad_norm",
    title: "the gradient jumps",
    metric: "actor/grad_norm",
    condition: "gradient norm over 10 times its median of the last 20 steps",
    advice: "Look at the rollouts of this step; lower the learning rate if it happens again.",
    test: ({ train }) => {
      const values = train.slice(-21).map(({ metrics }) => metrics["actor/grad_norm"]);
      const now = values.pop();
      const before = values.filter((value) => value !== undefined).sort((a, b) => a - b);
      if (now === undefined || before.length < 5) return null;
      const median = before[Math.floor(before.length / 2)];
      if (!(now > 10 * median && now > 1e-6)) return null;
      return { value: now, evidence: `norm ${text(now)}, median ${text(median)}` };
    },
  },
  {
    id: "entropy_collapse",
    title: "entropy has collapsed",
    metric: "actor/entropy",
    condition: "entropy under 0.02 nats, or under a tenth of what it was",
    advice:
      "The policy samples one answer: raise the temperature or entropy_coeff, lower the learning rate.",
    test: (history) => {
      const now = last(history, "actor/entropy", 3);
      if (now === null) return null;
      const value = mean(now);
      const first = history.train[0].metrics["actor/entropy"];
      if (!(value < 0.02 || value < first / 10)) return null;
      return { value, evidence: `entropy ${text(value)} nats, ${text(first)} at the start` };
    },
  },
  {
    id: "entropy_rising",
    title: "entropy rises",
    metric: "actor/entropy",
    condition: "entropy 1.5 times and 0.1 nats over its start, in the mean of three steps",
    advice:
      "The policy turns to noise: lower the learning rate, clip_ratio_high or entropy_coeff; read a few rollouts.",
    test: (history) => {
      const entropy = ends(history, "actor/entropy", 3);
      if (entropy === null) return null;
      const { first, now } = entropy;
      if (now < 1.5 * first || now < first + 0.1) return null;
      return { value: now, evidence: `entropy ${text(now)} nats, ${text(first)} at the start` };
    },
  },
  {
    id: "no_reward",
    title: "nothing passes",
    metric: "reward/pass_rate",
    condition: "pass rate 0 for five steps; ten are fatal",
    advice:
      "Without a pass there is no signal: take easier problems, more samples per prompt or a better starting model; check the verifier with `rlvr verify` on known solutions.",
    stop: "dead_reward",
    test: (history) => {
      const values = last(history, "reward/pass_rate", 5);
      if (values === null || values.some((value) => value > 0)) return null;
      const ten = last(history, "reward/pass_rate", 10);
      const fatal = ten !== null && ten.every((value) => value === 0);
      return { value: 0, evidence: `pass rate 0 for ${fatal ? 10 : 5} steps`, fatal };
    },
  },
  {
    id: "pass_spike",
    title: "the pass rate jumps",
    metric: "reward/pass_rate",
    condition: "pass rate up by more than 0.4 from one step to the next",
    advice: "Read the newest rollouts: sudden success is more often a hack than a skill.",
    test: (history) => {
      const values = last(history, "reward/pass_rate", 2);
      if (values === null || values[1] - values[0] <= 0.4) return null;
      return { value: values[1], evidence: `from ${text(values[0])} to ${text(values[1])}` };
    },
  },
  {
    id: "low_format",
    title: "answers hold no code block",
    metric: "reward/format",
    condition: "format rate under 0.2 in the mean of five steps, after step 10",
    advice:
      "Look at the prompt and at a few completions; a small format tier of the reward can start it off.",
    test: (history) =>
      history.train.length <= 10
        ? null
        : beyond("reward/format", { under: 0.2, steps: 5 })(history),
  },
  {
    id: "format_only",
    title: "the reward rises by form alone",
    metric: "reward/score",
    condition: "score up by over 0.1, the pass rate by under a fifth of that",
    advice:
      "Lower reward.weights.format and compile; the policy is paid for form, not for passing.",
    test: (history) => {
      const score = ends(history, "reward/score", 3);
      const pass = ends(history, "reward/pass_rate", 3);
      if (score === null || pass === null) return null;
      const [up, passUp] = [score.now - score.first, pass.now - pass.first];
      if (up <= 0.1 || passUp >= up / 5) return null;
      return { value: score.now, evidence: `score +${text(up)}, pass rate ${text(passUp)}` };
    },
  },
  {
    id: "truncation",
    title: "many answers are cut off",
    metric: "response_length/clip_ratio",
    condition: "over 20 % of completions reach the token limit, in the mean of three steps",
    advice:
      "Raise data.max_response_length, or make length cost something (reward.reward_kwargs.overlong_buffer_cfg).",
    test: beyond("response_length/clip_ratio", { over: 0.2 }),
  },
  {
    id: "rambling",
    title: "answers grow without getting better",
    metric: "response_length/mean",
    condition: "mean length up by half in 20 steps, the pass rate by under 0.02",
    advice: "Use a token-mean loss, the overlong penalty, or a KL to the reference policy.",
    test: ({ train }) => {
      if (train.length < 21) return null;
      const [then, now] = [train[train.length - 21].metrics, train[train.length - 1].metrics];
      const [before, after] = [then["response_length/mean"], now["response_length/mean"]];
      if (before === undefined || after === undefined) return null;
      if (after <= 1.5 * before || now["reward/pass_rate"] - then["reward/pass_rate"] >= 0.02) {
        return null;
      }
      return { value: after, evidence: `${text(after)} tokens, ${text(before)} 20 steps ago` };
    },
  },
  {
    id: "zero_variance",
    title: "groups carry no signal",
    metric: "group/zero_std",
    condition: "over 80 % of groups of two or more earn the same, in the mean of three steps",
    advice:
      "Problems are too easy or too hard for the policy: choose those with a pass rate between 0.2 and 0.8, or switch algorithm.filter_groups.enable on.",
    test: (history) =>
      (history.train.at(-1)?.metrics["group/size"] ?? 1) < 2
        ? null
        : beyond("group/zero_std", { over: 0.8 })(history),
  },
  {
    id: "duplicates",
    title: "a group repeats itself",
    metric: "group/duplicates",
    condition: "over half of a group's answers are the same text though entropy is over 0.3 nats",
    advice: "Check that samples of a prompt get seeds of their own and the temperature is not 0.",
    test: (history) => {
      const entropy = last(history, "actor/entropy", 3);
      if (entropy === null || mean(entropy) <= 0.3) return null;
      return beyond("group/duplicates", { over: 0.5 })(history);
    },
  },
  {
    id: "explained_variance",
    title: "the critic misleads",
    metric: "critic/vf_explained_var",
    condition:
      "explained variance under -0.2 in the mean of five steps whose returns vary, after step 10",
    advice: "Warm the critic up (trainer.critic_warmup), or lower critic.optim.lr.",
    test: (history) => {
      if (history.train.length <= 10) return null;
      const spreads = history.train
        .slice(-5)
        .map(({ metrics }) => metrics["critic/returns/max"] - metrics["critic/returns/min"]);
      // Where every return is the same there is nothing to explain.
      if (spreads.some((spread) => spread < 0.01)) return null;
      return beyond("critic/vf_explained_var", { under: -0.2, steps: 5 })(history);
    },
  },
  {
    id: "overfit",
    title: "training rises, validation does not",
    metric: "reward/pass_rate",
    condition: "over three validations training is up by 0.1 and validation is not up",
    advice: "More problems, fewer epochs, or a hack: read rollouts that pass in training.",
    test: ({ train, val }) => {
      if (val.length < 4) return null;
      const [then, now] = [val[val.length - 4], val[val.length - 1]];
      const near = (step: number) => {
        const values = train
          .filter((record) => record.step > step - 3 && record.step <= step)
          .map(({ metrics }) => metrics["reward/pass_rate"]);
        return values.length === 0 ? null : mean(values);
      };
      const [trainThen, trainNow] = [near(then.step), near(now.step)];
      if (trainThen === null || trainNow === null) return null;
      const up = now.metrics["reward/pass_rate"] - then.metrics["reward/pass_rate"];
      if (trainNow - trainThen < 0.1 || up > 0) return null;
      return {
        value: now.metrics["reward/pass_rate"],
        evidence: `training +${text(trainNow - trainThen)}, validation ${text(up)} since step ${then.step}`,
      };
    },
  },
  {
    id: "slow_verifier",
    title: "judging takes most of the time",
    metric: "timing_s/reward",
    condition: "over 40 % of a step goes to the verifier, in the mean of three steps",
    advice: "Raise verifier.workers, lower time limits, or set verifier.max_tests.",
    test: ({ train }) => {
      const shares = train
        .slice(-3)
        .map(({ metrics }) => metrics["timing_s/reward"] / metrics["timing_s/step"]);
      // Of a very short step the share says nothing.
      const long = train.slice(-3).every(({ metrics }) => metrics["timing_s/step"] > 10);
      if (shares.length < 3 || !long || !(mean(shares) > 0.4)) return null;
      return { value: mean(shares), evidence: `${text(100 * mean(shares))} % of the step` };
    },
  },
];
