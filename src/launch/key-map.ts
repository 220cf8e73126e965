/**
 * Our key names in each release of veRL. They are those of veRL 0.9, so a key is in this table only
 * where a release calls it otherwise or does not have it.
 *
 * Tested against the generated default configuration of every release (`npm run test:verl`).
 */
import type { Release } from "./releases.js";

/** What a release makes of a key: another name, or nothing, with the reason. */
export type KeyFate = { name: string } | { absent: string };

type Series = Release["series"];

const UP_TO_05: readonly Series[] = ["0.5"];
const UP_TO_060: readonly Series[] = ["0.5", "0.6.0"];
const UP_TO_06: readonly Series[] = [...UP_TO_060, "0.6"];
const UP_TO_070: readonly Series[] = [...UP_TO_06, "0.7.0"];
const UP_TO_07: readonly Series[] = [...UP_TO_070, "0.7.1"];
const UP_TO_08: readonly Series[] = [...UP_TO_07, "0.8"];
const NEW: readonly Series[] = ["0.7.0", "0.7.1", "0.8", "0.9", "0.10.0.dev"];

interface KeyHistory {
  in: readonly Series[];
  fate: KeyFate;
}

const absent = (since: string): KeyFate => ({ absent: `veRL has it from ${since} on` });

/** Exceptions by our key. */
export const KEY_HISTORY: Readonly<Record<string, readonly KeyHistory[]>> = {
  "data.seed": [{ in: UP_TO_060, fate: absent("0.6.1") }],
  "data.train_max_samples": [{ in: UP_TO_060, fate: absent("0.6.1") }],
  "data.val_max_samples": [{ in: UP_TO_060, fate: absent("0.6.1") }],
  "data.gen_batch_size": [{ in: UP_TO_08, fate: absent("0.9") }],
  "data.truncation": [
    {
      in: NEW,
      fate: {
        absent: "the dataset never reads it since veRL 0.7; use data.filter_overlong_prompts",
      },
    },
  ],
  "actor_rollout_ref.actor.data_loader_seed": [{ in: UP_TO_06, fate: absent("0.7") }],
  "actor_rollout_ref.actor.loss_scale_factor": [{ in: UP_TO_06, fate: absent("0.7") }],
  "actor_rollout_ref.actor.optim.lr_scheduler_type": [
    { in: UP_TO_05, fate: { name: "actor_rollout_ref.actor.optim.warmup_style" } },
  ],
  "actor_rollout_ref.actor.optim.betas": [{ in: UP_TO_05, fate: absent("0.6") }],
  "actor_rollout_ref.actor.fsdp_config.model_dtype": [{ in: UP_TO_05, fate: absent("0.6") }],
  "critic.enable": [{ in: UP_TO_05, fate: absent("0.6") }],
  "critic.optim.lr_warmup_steps": [{ in: UP_TO_05, fate: absent("0.6") }],
  "critic.optim.lr_scheduler_type": [{ in: UP_TO_05, fate: { name: "critic.optim.warmup_style" } }],
  "critic.optim.num_cycles": [{ in: UP_TO_05, fate: absent("0.6") }],
  "critic.optim.betas": [{ in: UP_TO_05, fate: absent("0.6") }],
  "critic.fsdp.param_offload": [
    { in: UP_TO_07, fate: { name: "critic.model.fsdp_config.param_offload" } },
  ],
  "critic.fsdp.optimizer_offload": [
    { in: UP_TO_07, fate: { name: "critic.model.fsdp_config.optimizer_offload" } },
  ],
  "critic.fsdp.model_dtype": [
    { in: UP_TO_05, fate: absent("0.6") },
    { in: UP_TO_07, fate: { name: "critic.model.fsdp_config.model_dtype" } },
  ],
  "algorithm.filter_groups.enable": [{ in: UP_TO_08, fate: absent("0.9") }],
  "algorithm.filter_groups.metric": [{ in: UP_TO_08, fate: absent("0.9") }],
  "algorithm.filter_groups.max_num_gen_batches": [{ in: UP_TO_08, fate: absent("0.9") }],
  "reward.num_workers": [
    { in: UP_TO_06, fate: absent("0.7") },
    { in: UP_TO_070, fate: { name: "reward_model.num_workers" } },
  ],
  "reward.reward_manager.name": [{ in: UP_TO_070, fate: { name: "reward_model.reward_manager" } }],
  "reward.custom_reward_function.path": [
    { in: UP_TO_070, fate: { name: "custom_reward_function.path" } },
  ],
  "reward.custom_reward_function.name": [
    { in: UP_TO_070, fate: { name: "custom_reward_function.name" } },
  ],
  "reward.custom_reward_function.reward_kwargs": [
    { in: UP_TO_070, fate: { name: "custom_reward_function.reward_kwargs" } },
  ],
  "reward.reward_kwargs": [{ in: UP_TO_070, fate: { name: "reward_model.reward_kwargs" } }],
  "transfer_queue.backend.SimpleStorage.num_data_storage_units": [
    { in: UP_TO_08, fate: absent("0.9") },
  ],
  "ray_kwargs.ray_init.num_cpus": [{ in: UP_TO_05, fate: { name: "ray_init.num_cpus" } }],
};

/** Keys that parse and are then ignored, by release: setting one is refused. */
export const DEAD_KEYS: readonly { in: readonly Series[]; prefix: string; instead: string }[] = [
  {
    in: ["0.9", "0.10.0.dev"],
    prefix: "custom_reward_function",
    instead: "reward.custom_reward_function",
  },
  { in: ["0.9", "0.10.0.dev"], prefix: "reward_model", instead: "reward" },
  { in: ["0.9", "0.10.0.dev"], prefix: "sandbox_fusion", instead: "reward.sandbox_fusion" },
  { in: NEW, prefix: "data.truncation", instead: "data.filter_overlong_prompts" },
];

/** What a release calls one of our keys, or why it lacks it. */
export function keyIn(release: Release, key: string): KeyFate {
  for (const [path, history] of Object.entries(KEY_HISTORY)) {
    if (key !== path && !key.startsWith(`${path}.`)) continue;
    const fate = history.find((entry) => entry.in.includes(release.series))?.fate;
    if (fate === undefined) continue;
    return "absent" in fate ? fate : { name: fate.name + key.slice(path.length) };
  }
  return { name: key };
}
