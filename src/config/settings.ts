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
      wallMs: verifier.wall_limit_ms ?? 3 * verifier.time_limit_ms,
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
