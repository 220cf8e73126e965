/**
 * Flat values: a config layer as a map from dotted key to value. Layers are flattened against the
 * schema's keys, so that a list stays one value and an unknown key is named at its own place.
 */
import { parse as parseYaml } from "yaml";
import { ConfigError } from "../core/errors.js";
import { CONFIG_KEYS } from "./schema.js";

/** Values by dotted key. */
export type FlatValues = Map<string, unknown>;

const PATHS = new Set(CONFIG_KEYS.map(({ path }) => path));

/** Where users of veRL and of its tutorials would put things that live elsewhere here. */
const MOVED: Record<string, string> = {
  "custom_reward_function.path": "reward.custom_reward_function.path",
  "custom_reward_function.name": "reward.custom_reward_function.name",
  "reward_model.enable": "nothing: there is no reward model, the verifier is the reward",
  "reward_model.reward_manager": "reward.reward_manager.name",
  "actor_rollout_ref.actor.grpo_std": "algorithm.norm_adv_by_std_in_grpo",
  "algorithm.lambda": "algorithm.lam",
  "actor_rollout_ref.actor.optim.warmup_style": "actor_rollout_ref.actor.optim.lr_scheduler_type",
  "trainer.seed": "seed",
  "data.train_file": "data.train_files",
  "data.val_file": "data.val_files",
};

/**
 * Flattens nested values, e.g. of a YAML file; dotted keys inside it are understood too.
 *
 * @throws {ConfigError} at the first key that the schema does not have; `where` names the layer.
 */
export function flatten(nested: unknown, where: string): FlatValues {
  const flat: FlatValues = new Map();
  const visit = (value: unknown, path: string) => {
    if (PATHS.has(path)) {
      flat.set(path, value);
      return;
    }
    if (!isGroup(path)) throw new ConfigError(unknownKey(path, where));
    if (value === null || value === undefined) return;
    if (typeof value !== "object" || Array.isArray(value)) {
      throw new ConfigError(
        `${where}: ${path || "the config"} is a group of keys, found ${Array.isArray(value) ? "a list" : String(value)}`,
      );
    }
    for (const [name, child] of Object.entries(value)) {
      visit(child, path === "" ? name : `${path}.${name}`);
    }
  };
  visit(nested, "");
  return flat;
}

/**
 * Reads one override, `key=value`; the value is YAML, so `null`, `[a,b]` and `1e-6` mean what they
 * say.
 *
 * @throws {ConfigError} if it is not of that form or the key is unknown.
 */
export function parseOverride(text: string): [string, unknown] {
  const match = /^(?:--)?([A-Za-z_][\w.]*)=([\s\S]*)$/.exec(text);
  if (match === null) {
    throw new ConfigError(`override must be KEY=VALUE, e.g. seed=7, found ${JSON.stringify(text)}`);
  }
  const [, path, value] = match;
  if (!PATHS.has(path)) {
    const reason = isGroup(path) ? `${path} is a group of keys, not a key` : null;
    throw new ConfigError(
      reason === null ? unknownKey(path, "override") : `override ${text}: ${reason}`,
    );
  }
  return [path, parseScalar(value, text)];
}

function parseScalar(value: string, text: string): unknown {
  try {
    return value === "" ? "" : (parseYaml(value, { logLevel: "error" }) as unknown);
  } catch {
    throw new ConfigError(`override ${text}: the value is not readable; quote it`);
  }
}

/** Builds the nested form of flat values. */
export function unflatten(flat: FlatValues): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const [path, value] of flat) {
    const names = path.split(".");
    let at = root;
    for (const name of names.slice(0, -1)) at = (at[name] ??= {}) as Record<string, unknown>;
    at[names[names.length - 1]] = value;
  }
  return root;
}

function isGroup(path: string): boolean {
  return path === "" || CONFIG_KEYS.some((key) => key.path.startsWith(`${path}.`));
}

function unknownKey(path: string, where: string): string {
  if (Object.hasOwn(MOVED, path)) return `${where}: unknown key ${path}; here it is ${MOVED[path]}`;
  const nearest = nearestKey(path);
  return `${where}: unknown key ${path}${nearest === null ? "" : `; did you mean ${nearest}?`}`;
}

/** Longer than any key; comparing a whole file that was taken for a key would take minutes. */
const MAX_KEY = 200;

/** Finds the key nearest to a misspelt one: by edit distance, or by its last names alone. */
export function nearestKey(path: string): string | null {
  if (path.length > MAX_KEY) return null;
  const last = path.split(".").at(-1) ?? path;
  const score = (key: string) => {
    const whole = distance(path, key);
    // A key given without its groups, or under the wrong one.
    const tail = distance(last, key.split(".").at(-1) ?? key) + 2 + Math.abs(whole) / 100;
    return Math.min(whole, tail);
  };
  let best: string | null = null;
  let bestScore = Math.max(3, Math.floor(last.length / 2)) + 1;
  for (const { path: key } of CONFIG_KEYS) {
    const candidate = score(key);
    if (candidate < bestScore) [best, bestScore] = [key, candidate];
  }
  return best;
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = previous[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(change, previous[j] + 1, row[j - 1] + 1));
    }
    previous = row;
  }
  return previous[b.length];
}
