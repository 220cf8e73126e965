/**
 * The config files that `rlvr init` writes: for each place a preset, and the keys worth a look with
 * what the schema says of them. Values are the preset's own unless the place or an answer differs.
 */
import { stringify } from "yaml";
import { presetValues } from "../config/presets.js";
import { CONFIG_KEYS } from "../config/schema.js";

/** Where a run trains. */
export type Place = "laptop" | "gpu" | "cluster";

/** What the file is made from. */
export interface Answers {
  for: Place;
  model: string;
  data: string;
  validation: string;
}

/** The answer that keeps what the preset has inside this package. */
export const STARTER = "starter";

interface PlaceFacts {
  about: string;
  preset: string;
  /** Default answers. */
  model: string;
  data: string;
  validation: string;
  /** What differs from the preset, by key. */
  values: Readonly<Record<string, unknown>>;
  /** Keys that are shown although they keep their value. */
  shown: readonly string[];
  /** What to do before the first run. */
  before: readonly string[];
}

const DATA = { data: "data/train1000.jsonl", validation: "data/validation.jsonl" };
const PREPARED =
  "prepare the problems: rlvr prepare DATA --validation HELDOUT --limit 1000 --out data; where fewer are kept, " +
  "the number in train1000.jsonl is theirs";

/** Keys that every file shows. */
const ALWAYS = [
  "seed",
  "data.train_batch_size",
  "data.max_prompt_length",
  "data.max_response_length",
  "actor_rollout_ref.actor.ppo_mini_batch_size",
  "actor_rollout_ref.actor.optim.lr",
  "actor_rollout_ref.rollout.n",
  "critic.optim.lr",
  "algorithm.adv_estimator",
  "trainer.save_freq",
  "trainer.test_freq",
];

/** The places by name. */
export const PLACES: Readonly<Record<Place, PlaceFacts>> = {
  laptop: {
    about: "this machine's processor, the embedded engine",
    preset: "starter",
    ...{ model: STARTER, data: STARTER, validation: STARTER },
    values: {},
    shown: [
      "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
      "algorithm.use_kl_in_reward",
      "algorithm.kl_ctrl.kl_coef",
      "verifier.time_limit_ms",
      "trainer.total_training_steps",
    ],
    before: [],
  },
  gpu: {
    about: "one GPU, veRL",
    preset: "qwen2.5-coder-0.5b-1gpu",
    model: "Qwen/Qwen2.5-Coder-0.5B-Instruct",
    ...DATA,
    values: { "launch.python": "python3" },
    shown: [
      "actor_rollout_ref.model.lora_rank",
      "actor_rollout_ref.actor.ppo_max_token_len_per_gpu",
      "actor_rollout_ref.rollout.gpu_memory_utilization",
      "trainer.total_epochs",
    ],
    before: [PREPARED, "see what is missing: rlvr doctor engine=verl FILE"],
  },
  cluster: {
    about: "several machines with GPUs, veRL on Ray",
    preset: "qwen2.5-coder-7b-8gpu",
    model: "Qwen/Qwen2.5-Coder-7B-Instruct",
    ...DATA,
    values: {
      "trainer.nnodes": 2,
      "launch.ray_address": "http://head:8265",
      "verifier.urls": ["http://node-1:8710", "http://node-2:8710"],
    },
    shown: [
      "actor_rollout_ref.actor.ppo_max_token_len_per_gpu",
      "actor_rollout_ref.rollout.tensor_model_parallel_size",
      "actor_rollout_ref.rollout.gpu_memory_utilization",
      "trainer.n_gpus_per_node",
      "trainer.total_epochs",
    ],
    before: [
      PREPARED,
      "on every node: rlvr serve --host 0.0.0.0 --token SECRET; put the addresses in verifier.urls",
      "set launch.ray_address, and RLVR_VERIFIER_TOKEN to the same secret",
      "see what is missing: rlvr doctor engine=verl FILE",
    ],
  },
};

/** Facts of a place. */
export const placeOf = (place: Place): PlaceFacts => PLACES[place];

/** Writes the config file. */
export function writeConfig(answers: Answers): string {
  const { about, preset, values, shown, before } = PLACES[answers.for];
  const ofPreset = presetValues(preset);
  const own = new Map<string, unknown>([
    ...Object.entries(values),
    ["actor_rollout_ref.model.path", answers.model],
    ["data.train_files", answers.data],
    ["data.val_files", answers.validation],
  ]);
  const wanted = new Set([...own.keys(), ...ALWAYS, ...shown]);
  const head = [
    `# A run on ${about}.`,
    `# Every key not here keeps the value of its preset, or its default: docs/CONFIG.md lists them.`,
    ...(before.length === 0 ? [] : ["# Before the first run:"]),
    ...before.map((step) => `# - ${step}`),
    "",
    `preset: ${preset}`,
  ];
  const path: string[] = [];
  const lines = CONFIG_KEYS.filter((key) => wanted.has(key.path)).flatMap((key) => {
    const value = own.get(key.path) ?? ofPreset.get(key.path) ?? key.default;
    const names = key.path.split(".");
    const indent = "  ".repeat(names.length - 1);
    const line = stringify({ [names.at(-1) as string]: value }, { lineWidth: 0 }).trimEnd();
    return [
      ...groupsOf(path, names.slice(0, -1)),
      `${indent}# ${key.doc}`,
      // The starter's files lie inside this package: the preset knows where.
      value === STARTER
        ? `${indent}# ${names.at(-1)}: that of the preset`
        : line.replace(/^/gm, indent),
    ];
  });
  return [...head, ...lines, ""].join("\n");
}

/** Opens the groups that the key before was not in; `path` is where the file stands. */
function groupsOf(path: string[], groups: readonly string[]): string[] {
  let same = 0;
  while (same < groups.length && path[same] === groups[same]) same++;
  path.splice(0, path.length, ...groups);
  return groups.slice(same).map((name, i) => {
    const blank = same + i === 0 ? "\n" : "";
    return `${blank}${"  ".repeat(same + i)}${name}:`;
  });
}
