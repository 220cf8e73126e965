/** What differs between the run that was saved and the run that is to go on from it. */
import { valueAt } from "../config/resolve.js";
import { CONFIG_KEYS, type Config } from "../config/schema.js";
import type { RunIdentity } from "./checkpoint.js";

/** A difference. */
export interface Drift {
  /** A config key, or the thing that changed. */
  key: string;
  before: unknown;
  after: unknown;
  /** True where going on would mix two different runs. */
  dangerous: boolean;
}

/** Keys whose change makes it another run. */
const DANGEROUS = new Set([
  "seed",
  "algorithm.adv_estimator",
  "actor_rollout_ref.model.lora_rank",
  "actor_rollout_ref.model.lora_alpha",
  "actor_rollout_ref.model.target_modules",
  "critic.enable",
  "data.train_batch_size",
  "data.shuffle",
  "data.seed",
  "data.train_max_samples",
]);

/** Keys that say how to start, not what is trained. */
const SILENT = new Set([
  "trainer.resume_mode",
  "trainer.resume_from_path",
  "trainer.default_local_dir",
  "trainer.experiment_name",
]);

/** Lists the differences between a saved run and the present one. */
export function findDrift(
  saved: { config: Config; identity: RunIdentity },
  now: { config: Config; identity: RunIdentity },
): Drift[] {
  const keys = CONFIG_KEYS.filter(({ path }) => !SILENT.has(path)).flatMap(({ path }) => {
    const [before, after] = [valueAt(saved.config, path), valueAt(now.config, path)];
    if (JSON.stringify(before) === JSON.stringify(after)) return [];
    return [{ key: path, before, after, dangerous: DANGEROUS.has(path) }];
  });
  const things = [
    {
      key: "the training data",
      before: saved.identity.trainData,
      after: now.identity.trainData,
      dangerous: true,
    },
    {
      key: "the starting model",
      before: saved.identity.model,
      after: now.identity.model,
      dangerous: true,
    },
    // Scores before and after do not compare, yet the policy is trained the same.
    {
      key: "the validation data",
      before: saved.identity.valData,
      after: now.identity.valData,
      dangerous: false,
    },
  ];
  return [...keys, ...things.filter(({ before, after }) => before !== after)];
}

/** Says a difference in one line. */
export function describeDrift({ key, before, after }: Drift): string {
  return `${key}: was ${JSON.stringify(before)}, is ${JSON.stringify(after)}`;
}
