/**
 * Before the first step: a few completions judged, so that a run that cannot learn is refused with
 * the reason instead of running for hours on a flat line. And notes on settings that often surprise.
 */
import type { Config } from "../config/schema.js";
import { ConfigError, SandboxError } from "../core/errors.js";
import { isLost } from "./metrics.js";
import { type Prompt, type RolloutMakers, rollOut } from "./rollout.js";

/** Notes on a config, each one sentence. */
export function configNotices(config: Config): string[] {
  const { rollout } = config.actor_rollout_ref;
  const notices: string[] = [];
  if (rollout.top_p < 1 || rollout.top_k !== -1) {
    notices.push(
      "top_p and top_k cut what is sampled, not the log-probabilities trained on: expect a difference between the two",
    );
  }
  const completions = config.data.train_batch_size * rollout.n;
  if (completions < 64) {
    notices.push(`${completions} completions per step make a noisy gradient; 64 or more are usual`);
  }
  if (config.trainer.critic_warmup >= (config.trainer.total_training_steps ?? Infinity)) {
    notices.push("trainer.critic_warmup covers every step: the policy will not change");
  }
  return notices;
}

/**
 * Judges a first sample and says its rewards as a histogram.
 *
 * @throws {ConfigError} if every completion earns nothing, or every one everything: either way
 * there is nothing to learn from.
 */
export async function preflight(
  makers: RolloutMakers,
  prompts: readonly Prompt[],
): Promise<string | null> {
  const { health, seed, data, actor_rollout_ref: ref } = makers.config;
  if (health.preflight_samples === 0) return null;
  const set = await rollOut(makers, prompts.slice(0, health.preflight_samples), {
    samples: Math.max(1, Math.ceil(health.preflight_samples / prompts.length)),
    temperature: ref.rollout.temperature,
    topP: ref.rollout.top_p,
    topK: ref.rollout.top_k === -1 ? null : ref.rollout.top_k,
    maxNewTokens: data.max_response_length,
    stream: [seed, "preflight"],
    firstGroup: 0,
    allTests: false,
  });
  const rewards = set.rollouts.map(({ result }) => result.reward ?? 0);
  if (rewards.length === 0) {
    throw new ConfigError(
      `pre-flight: none of ${set.infraErrors + set.badProblems} completions could be judged (${set.infraErrors} by the sandbox's fault, ${set.badProblems} for want of tests)`,
    );
  }
  if (isLost(makers.config, set)) {
    throw new SandboxError(
      `pre-flight: the sandbox lost ${set.infraErrors} of ${rewards.length + set.infraErrors + set.badProblems} completions, so the rest says nothing; run \`rlvr doctor\``,
    );
  }
  const format = set.rollouts.filter(({ result }) => result.extraction.format).length;
  const text = `pre-flight of ${rewards.length} completions: reward ${describeHistogram(rewards)}; ${format} with a proper code block`;
  const way = "health.preflight_samples=0 starts all the same";
  if (rewards.some((reward) => reward !== rewards[0])) return text;
  const passes = (rate: number) => set.rollouts.every(({ result }) => result.passRate === rate);
  const cure = passes(0)
    ? "no program passes a test: take easier problems or a better starting model, and check the tests with known solutions"
    : passes(1)
      ? "every program passes every test: take harder problems"
      : "look at reward.kind, or at the reward of your own";
  throw new ConfigError(
    `${text}; all earn ${rewards[0]}, so there is no signal to learn from. ${cure}; ${way}`,
  );
}

/** Rewards in words, e.g. `0: 20, 0–0.5: 3, 0.5–1: 1, 1: 8`. */
function describeHistogram(rewards: readonly number[]): string {
  const bins: [string, (reward: number) => boolean][] = [
    ["0", (reward) => reward <= 0],
    ["0–0.5", (reward) => reward > 0 && reward <= 0.5],
    ["0.5–1", (reward) => reward > 0.5 && reward < 1],
    ["1", (reward) => reward >= 1],
  ];
  return bins.map(([name, holds]) => `${name}: ${rewards.filter(holds).length}`).join(", ");
}
