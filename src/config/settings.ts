/**
 * Settings derived from the config for the rooms that carry them out, so that training, evaluation
 * and the service read a key in one way only.
 */
import { availableParallelism } from "node:os";
import type { Config } from "./schema.js";

/** Settings of a verifier, in the form `createVerifier` takes. */
export function verifierSettings({ verifier, reward, seed }: Config) {
  return {
    workers: verifier.workers ?? availableParallelism(),
    limits: {
      cpuMs: verifier.time_limit_ms,
      wallMs: wallLimitMs(verifier),
      memoryBytes: verifier.memory_limit_mb * 2 ** 20,
      outputBytes: verifier.output_limit_kb * 2 ** 10,
    },
    earlyStop: verifier.early_stop,
    maxTests: verifier.max_tests,
    seed,
    reward: { kind: reward.kind, weights: { ...reward.weights } },
    requireIsolation: verifier.require_isolation,
    retries: verifier.retries,
  };
}

/** Values by the config keys that they are set with. */
export type JudgingSettings = Record<string, number | string | boolean | null>;

/**
 * What decides a verdict and what is paid for it, by config key: two verifiers that agree on these
 * judge alike. A null limit stands as what it comes to, and a key without effect is left out.
 */
export function judgingSettings(
  config: Pick<Config, "verifier" | "reward" | "seed">,
): JudgingSettings {
  const { verifier, reward, seed } = config;
  const { path } = reward.custom_reward_function;
  // A Python file pays on its own, whatever is judged.
  const kind = path === null || path.endsWith(".py") ? reward.kind : "custom";
  const { weights } = reward;
  return {
    "verifier.time_limit_ms": verifier.time_limit_ms,
    "verifier.wall_limit_ms": wallLimitMs(verifier),
    "verifier.memory_limit_mb": verifier.memory_limit_mb,
    "verifier.output_limit_kb": verifier.output_limit_kb,
    "verifier.early_stop": verifier.early_stop,
    "verifier.max_tests": verifier.max_tests,
    // It chooses which tests are run.
    ...(verifier.max_tests === null ? {} : { seed }),
    "reward.kind": kind,
    ...(kind === "tiered"
      ? Object.fromEntries(
          Object.entries(weights).map(([tier, weight]) => [`reward.weights.${tier}`, weight]),
        )
      : {}),
  };
}

const wallLimitMs = ({ wall_limit_ms: wall, time_limit_ms: time }: Config["verifier"]) =>
  wall ?? 3 * time;

/**
 * Says what is wrong with the weights of `tiered`, under which a program that passes nothing could be
 * worth more than one that passes; null when nothing is, or another kind pays.
 */
export function rewardFault({ kind, weights }: Pick<Config["reward"], "kind" | "weights">) {
  if (kind !== "tiered" || Math.max(weights.format, weights.compile) <= weights.tests) return null;
  return `reward.weights: format (${weights.format}) and compile (${weights.compile}) may not weigh more than tests (${weights.tests}), else the policy learns form instead of right programs`;
}

/** Threads of the tensor runtime. */
export function engineThreads({ embedded }: Config): number {
  return embedded.threads ?? Math.min(8, availableParallelism());
}

/** Clip range of the probability ratio, as [below, above]. */
export function clipRange({ actor_rollout_ref: { actor } }: Config): [number, number] {
  return [actor.clip_ratio_low ?? actor.clip_ratio, actor.clip_ratio_high ?? actor.clip_ratio];
}

/** True when the run trains a critic. */
export function usesCritic({ critic, algorithm }: Config): boolean {
  return critic.enable ?? algorithm.adv_estimator === "gae";
}

/** A file key as a list. */
export function fileList(files: string | string[] | null): string[] {
  return files === null ? [] : typeof files === "string" ? [files] : files;
}
