/**
 * Our config in the words of an installed veRL: the overrides of its command line. Pure.
 *
 * Every value that somebody chose is passed on or refused; the launcher's own values (paths of the
 * run, the reward function, loggers) come last and win. Defaults are passed on as well where the
 * release's own default differs from ours, so that a run means the same on every release.
 */
import type { Config } from "../config/schema.js";
import { CONFIG_KEYS } from "../config/schema.js";
import { type Provenance, usesKey, valueAt } from "../config/resolve.js";
import { ConfigError } from "../core/errors.js";
import { formatOverride, type Override, type OverrideValue } from "./hydra.js";
import { DEAD_KEYS, keyIn } from "./key-map.js";
import type { Release } from "./releases.js";

/** What the launcher itself decides about a run. */
export interface LaunchPaths {
  /** Parquet files. */
  trainFile: string;
  valFile: string | null;
  /** veRL's own folder of checkpoints. */
  checkpoints: string;
  rollouts: string;
  validation: string;
  /** Python file with the reward function, and what it is called with beside veRL's arguments. */
  rewardFile: string;
  rewardName: string;
  rewardKwargs: Record<string, OverrideValue>;
}

/** What the overrides are made from. */
export interface OverrideSources {
  config: Config;
  provenance: ReadonlyMap<string, Provenance>;
  release: Release;
  paths: LaunchPaths;
  experiment: string;
}

/** Groups that veRL knows nothing of; the launcher or the verify service honours them. */
const OURS = /^(engine|seed|verifier\.|launch\.|reward\.(kind|weights)|health\.)/;

/** Keys whose value the launcher decides. */
const DECIDED = new Set([
  "data.train_files",
  "data.val_files",
  "trainer.experiment_name",
  "trainer.default_local_dir",
  "trainer.logger",
  "trainer.resume_from_path",
  "reward.custom_reward_function.path",
  "reward.custom_reward_function.name",
]);

/**
 * Translates a config.
 *
 * @throws {ConfigError} if a key was set that the release does not have or would ignore.
 */
export function buildOverrides(sources: OverrideSources): Override[] {
  const overrides = new Map<string, Override>();
  const put = (override: Override) => overrides.set(override.key, override);
  const refused: string[] = [];
  for (const info of CONFIG_KEYS) {
    if (OURS.test(info.path) || DECIDED.has(info.path) || !usesKey(info, "verl")) continue;
    const value = valueFor(sources.config, info.path);
    const isChosen = sources.provenance.get(info.path)?.kind !== "default";
    const fate = keyIn(sources.release, info.path);
    if ("absent" in fate) {
      // A preset speaks to every release; what the user chose may not be dropped.
      const isUsers = isChosen && sources.provenance.get(info.path)?.kind !== "preset";
      if (isUsers) refused.push(`${info.path}: ${fate.absent}`);
      continue;
    }
    if (value === undefined || (value === null && !isChosen)) continue;
    put({ key: fate.name, value, isAdded: isAddedKey(info.path) });
  }
  if (refused.length > 0) {
    throw new ConfigError(
      `veRL ${sources.release.series} would ignore these keys:\n${refused.join("\n")}`,
    );
  }
  for (const override of [...derivedOverrides(sources), ...runOverrides(sources)]) put(override);
  return [...overrides.values()];
}

/** Keys below `reward.reward_kwargs` are free-form in veRL and have no defaults to override. */
const isAddedKey = (path: string) => path.startsWith("reward.reward_kwargs.");

function valueFor(config: Config, path: string): OverrideValue | undefined {
  const { actor, model } = config.actor_rollout_ref;
  switch (path) {
    // Null takes the symmetric range; veRL's own 0.2 would make `clip_ratio` a dead key.
    case "actor_rollout_ref.actor.clip_ratio_low":
      return actor.clip_ratio_low ?? actor.clip_ratio;
    case "actor_rollout_ref.actor.clip_ratio_high":
      return actor.clip_ratio_high ?? actor.clip_ratio;
    case "critic.model.path":
      return config.critic.model.path ?? model.path;
    // veRL updates the policy from global step critic_warmup on, the first step being 1.
    case "trainer.critic_warmup":
      return config.trainer.critic_warmup === 0 ? 0 : config.trainer.critic_warmup + 1;
    case "data.seed":
      return config.data.seed ?? config.seed;
  }
  if (path.startsWith("reward.reward_kwargs.")) {
    const { max_resp_len: limit, overlong_buffer_cfg: buffer } = config.reward.reward_kwargs;
    if (!buffer.enable) return undefined;
    if (path.endsWith("max_resp_len")) return limit ?? config.data.max_response_length;
  }
  return valueAt(config, path) as OverrideValue;
}

/** What follows from other keys and has no name of its own in our config. */
function derivedOverrides({ config, release }: OverrideSources): Override[] {
  const { actor, rollout } = config.actor_rollout_ref;
  const derived: Override[] = [];
  const set = (key: string, value: OverrideValue, isAdded = false) => {
    const fate = keyIn(release, key);
    if ("name" in fate) derived.push({ key: fate.name, value, isAdded });
  };
  // The chapter gives actor, reference and critic one token budget; veRL's critic has its own.
  if (actor.use_dynamic_bsz) {
    const own = config.critic.ppo_max_token_len_per_gpu;
    set("critic.ppo_max_token_len_per_gpu", own ?? actor.ppo_max_token_len_per_gpu);
  }
  if (!actor.use_dynamic_bsz && actor.ppo_micro_batch_size_per_gpu !== null) {
    const micro = actor.ppo_micro_batch_size_per_gpu;
    const scored = rollout.log_prob_micro_batch_size_per_gpu ?? micro;
    set("actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu", scored);
    const { ref } = config.actor_rollout_ref;
    const reference = ref.log_prob_micro_batch_size_per_gpu ?? scored;
    set("actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu", reference);
    set("critic.ppo_micro_batch_size_per_gpu", config.critic.ppo_micro_batch_size_per_gpu ?? micro);
  }
  // With several samples per prompt and one small node, eight storage units would wait for
  // processors that do not exist.
  if (release.isV1 && config.trainer.nnodes === 1) {
    set("transfer_queue.backend.SimpleStorage.num_data_storage_units", 1);
  }
  return derived;
}

function runOverrides({ config, release, paths, experiment }: OverrideSources): Override[] {
  const { trainer } = config;
  const name = (key: string) => {
    const fate = keyIn(release, key);
    return "name" in fate ? fate.name : key;
  };
  const loggers = new Set([
    "console",
    ...trainer.logger,
    ...(release.hasFileLogger ? ["file"] : []),
  ]);
  if (!release.hasFileLogger) loggers.delete("file");
  const plain: Record<string, OverrideValue> = {
    "data.train_files": paths.trainFile,
    // veRL opens a validation file in any case; without one of ours it is never looked at.
    "data.val_files": paths.valFile ?? paths.trainFile,
    [name("reward.custom_reward_function.path")]: paths.rewardFile,
    [name("reward.custom_reward_function.name")]: paths.rewardName,
    "trainer.logger": [...loggers],
    "trainer.experiment_name": experiment,
    "trainer.default_local_dir": paths.checkpoints,
    "trainer.rollout_data_dir": paths.rollouts,
    "trainer.validation_data_dir": paths.validation,
    ...(paths.valFile === null
      ? { "trainer.val_before_train": false, "trainer.test_freq": -1 }
      : {}),
    ...(trainer.resume_mode === "resume_path"
      ? { "trainer.resume_from_path": trainer.resume_from_path }
      : {}),
  };
  const kwargs = name("reward.custom_reward_function.reward_kwargs");
  return [
    ...Object.entries(plain).map(([key, value]) => ({ key, value, isAdded: false })),
    ...Object.entries(paths.rewardKwargs).map(([key, value]) => ({
      key: `${kwargs}.${key}`,
      value,
      isAdded: true,
    })),
  ];
}

/**
 * Appends the user's own overrides, checked against the target's keys.
 *
 * @throws {ConfigError} if one is malformed, unknown to the target without `+`, or ignored by it.
 */
export function addExtraOverrides(
  overrides: readonly Override[],
  extra: readonly string[],
  { release, knownKeys }: { release: Release; knownKeys: ReadonlySet<string> | null },
): string[] {
  const words = overrides.map(formatOverride);
  for (const word of extra) {
    const match = /^(\+{0,2})([\w.]+)=|^(~)([\w.]+)/.exec(word);
    if (match === null) {
      throw new ConfigError(`launch.extra_overrides: expected key=value, found ${word}`);
    }
    const [prefix, key] = [match[1] ?? match[3], match[2] ?? match[4]];
    const dead = DEAD_KEYS.find(
      (entry) => entry.in.includes(release.series) && isBelow(key, entry.prefix),
    );
    if (dead !== undefined) {
      throw new ConfigError(
        `launch.extra_overrides: veRL ${release.series} reads ${key} and ignores it; set ` +
          `${dead.instead} instead`,
      );
    }
    if (prefix === "" && knownKeys !== null && !knownKeys.has(key)) {
      throw new ConfigError(
        `launch.extra_overrides: veRL ${release.series} has no key ${key}; write +${word} if it ` +
          "must be added",
      );
    }
    const at = words.findIndex((other) => other.replace(/^\+/, "").startsWith(`${key}=`));
    if (at !== -1) {
      throw new ConfigError(
        `launch.extra_overrides: ${key} is already set (${words[at]}); set it by its own key`,
      );
    }
    words.push(word);
  }
  return words;
}

const isBelow = (key: string, prefix: string) => key === prefix || key.startsWith(`${prefix}.`);

/**
 * Holds overrides against the installed release's own default configuration; answers what does not
 * fit, which would stop veRL at its start.
 */
export function findUnknownKeys(
  overrides: readonly Override[],
  knownKeys: ReadonlySet<string>,
): string[] {
  return overrides
    .filter(({ key, isAdded }) => !isAdded && !knownKeys.has(key))
    .map(({ key }) => key);
}
