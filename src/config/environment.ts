/**
 * The tutorial's environment variables, so that its command lines keep their meaning. No other
 * variable is read, and an empty one counts as not set.
 */
import { ConfigError } from "../core/errors.js";
import type { FlatValues } from "./values.js";

/** Each variable with the key it sets and how its text is read. */
export const ENVIRONMENT_KEYS = {
  MODEL_PATH: ["actor_rollout_ref.model.path", "text"],
  CRITIC_MODEL_PATH: ["critic.model.path", "text"],
  NNODES: ["trainer.nnodes", "number"],
  NDEVICES_PER_NODE: ["trainer.n_gpus_per_node", "number"],
  TRAIN_BATCH_SIZE: ["data.train_batch_size", "number"],
  PPO_MINI_BATCH_SIZE: ["actor_rollout_ref.actor.ppo_mini_batch_size", "number"],
  MAX_PROMPT_LENGTH: ["data.max_prompt_length", "number"],
  MAX_RESPONSE_LENGTH: ["data.max_response_length", "number"],
  ACTOR_LR: ["actor_rollout_ref.actor.optim.lr", "number"],
  CRITIC_LR: ["critic.optim.lr", "number"],
  ROLLOUT_TP: ["actor_rollout_ref.rollout.tensor_model_parallel_size", "number"],
  ROLLOUT_GPU_MEM_UTIL: ["actor_rollout_ref.rollout.gpu_memory_utilization", "number"],
  ROLLOUT_N: ["actor_rollout_ref.rollout.n", "number"],
  TOTAL_EPOCHS: ["trainer.total_epochs", "number"],
  SAVE_FREQ: ["trainer.save_freq", "number"],
  TEST_FREQ: ["trainer.test_freq", "number"],
  TRAIN_FILE: ["data.train_files", "text"],
  VAL_FILE: ["data.val_files", "text"],
  REWARD_FILE: ["reward.custom_reward_function.path", "text"],
  EXPERIMENT_NAME: ["trainer.experiment_name", "text"],
} as const satisfies Record<string, readonly [string, "text" | "number"]>;

/**
 * The values that the environment sets, with the variable each came from.
 *
 * @throws {ConfigError} if a variable that wants a number holds something else.
 */
export function environmentValues(environment: Readonly<Record<string, string | undefined>>): {
  values: FlatValues;
  variables: Map<string, string>;
} {
  const values: FlatValues = new Map();
  const variables = new Map<string, string>();
  for (const [name, [path, kind]] of Object.entries(ENVIRONMENT_KEYS)) {
    const text = environment[name];
    if (text === undefined || text === "") continue;
    const value = kind === "text" ? text : Number(text);
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new ConfigError(`environment variable ${name} must be a number, found "${text}"`);
    }
    values.set(path, value);
    variables.set(path, name);
  }
  return { values, variables };
}
