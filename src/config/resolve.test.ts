import { describe, expect, test } from "vitest";
import { ConfigError } from "../core/errors.js";
import { describeBatches } from "./checks.js";
import { PRESETS } from "./presets.js";
import { describeProvenance, formatConfig, resolveConfig } from "./resolve.js";
import { CONFIG_KEYS } from "./schema.js";

const failure = (sources: Parameters<typeof resolveConfig>[0]) => {
  try {
    resolveConfig(sources);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  return "no error";
};

describe("resolveConfig", () => {
  const lr = "actor_rollout_ref.actor.optim.lr";
  const file = { path: "run.yaml", text: "actor_rollout_ref: {actor: {optim: {lr: 2.0e-5}}}" };

  test("lays preset, file, environment and overrides over each other in this order", () => {
    const layers = [
      { preset: "starter" },
      { preset: "starter", file },
      { preset: "starter", file, environment: { ACTOR_LR: "3e-5" } },
      {
        preset: "starter",
        file,
        environment: { ACTOR_LR: "3e-5" },
        overrides: [`${lr}=4e-5`],
      },
    ].map((sources) => resolveConfig(sources));
    expect(layers.map(({ config }) => config.actor_rollout_ref.actor.optim.lr)).toEqual([
      1e-4, 2e-5, 3e-5, 4e-5,
    ]);
    expect(layers.map(({ provenance }) => describeProvenance(provenance.get(lr)!))).toEqual([
      "preset starter",
      "run.yaml",
      "environment variable ACTOR_LR",
      "override",
    ]);
  });

  test("resolves every preset", () => {
    for (const preset of Object.keys(PRESETS)) resolveConfig({ preset });
  });

  test("takes the preset that a file names, unless the caller names one", () => {
    const named = { path: "run.yaml", text: "preset: starter-grpo" };
    expect(resolveConfig({ file: named }).config.algorithm.adv_estimator).toBe("grpo");
    expect(resolveConfig({ file: named, preset: "starter" }).config.algorithm.adv_estimator).toBe(
      "gae",
    );
  });

  test("names the nearest key for a misspelt one, and the layer it stands in", () => {
    expect(failure({ overrides: ["data.train_batchsize=8"] })).toBe(
      "override: unknown key data.train_batchsize; did you mean data.train_batch_size?",
    );
    expect(failure({ file: { path: "run.yaml", text: "trainer:\n  test_frequency: 5" } })).toBe(
      "run.yaml: unknown key trainer.test_frequency; did you mean trainer.test_freq?",
    );
    expect(failure({ overrides: ["custom_reward_function.path=x.py"] })).toContain(
      "here it is reward.custom_reward_function.path",
    );
  });

  test("says which value has the wrong type and where it came from", () => {
    expect(failure({ overrides: ["seed=x"] })).toBe(
      "seed: expected number, received string (from override)",
    );
    expect(failure({ environment: { ROLLOUT_N: "many" } })).toBe(
      'environment variable ROLLOUT_N must be a number, found "many"',
    );
  });

  test("refuses by name every key that the chosen engine would ignore", () => {
    for (const key of CONFIG_KEYS.filter(({ engines }) => engines !== undefined)) {
      const other = key.engines![0] === "verl" ? "embedded" : "verl";
      const value = JSON.stringify(key.default);
      expect(failure({ overrides: [`engine=${other}`, `${key.path}=${value}`] })).toContain(
        `${key.path} (from override): the ${other} engine does not use this key`,
      );
    }
  });

  test("refuses values that only the other engine can honour", () => {
    expect(failure({ overrides: ["trainer.nnodes=2"] })).toContain(
      "the embedded engine takes only 1, found 2",
    );
    resolveConfig({ overrides: ["trainer.nnodes=1"] });
    resolveConfig({ overrides: ["engine=verl", "trainer.nnodes=2"] });
  });

  test("scales a starter config out with two overrides", () => {
    const overrides = ["engine=verl", "trainer.n_gpus_per_node=8"];
    expect(resolveConfig({ preset: "starter", overrides }).config.trainer.n_gpus_per_node).toBe(8);
  });

  test("refuses keys that contradict each other, all of them in one message", () => {
    const message = failure({
      preset: "starter",
      overrides: [
        "data.train_batch_size=50",
        "algorithm.adv_estimator=grpo",
        "reward.kind=tiered",
        "reward.weights.format=0.9",
      ],
    });
    expect(message).toContain("data.train_batch_size (50) must be a multiple");
    expect(message).toContain("rollout.n must be at least 2");
    expect(message).toContain("may not weigh more than tests");
  });

  test("writes a file that resolves to the same config again", () => {
    for (const preset of Object.keys(PRESETS)) {
      const first = resolveConfig({ preset, overrides: ["seed=7"] });
      const file = { path: "config.resolved.yaml", text: formatConfig(first) };
      const again = resolveConfig({ file }).config;
      expect(again.data).toEqual(first.config.data);
      expect(formatConfig({ ...first, config: again })).toBe(file.text);
    }
  });

  test("writes every key with its value and where it came from", () => {
    const text = formatConfig(resolveConfig({ preset: "starter-grpo", overrides: ["seed=7"] }));
    expect(text).toContain("# preset: starter-grpo\n");
    expect(text).toContain("\nseed: 7 # override\n");
    expect(text).toContain("      lr: 0.0001 # preset starter-grpo\n");
    expect(text).toContain("\n    ppo_epochs: 2 # preset starter-grpo\n");
  });
});

describe("describeBatches", () => {
  test("says prompts, completions, mini-batches and optimizer steps in one sentence", () => {
    const { config } = resolveConfig({
      preset: "starter-grpo",
      overrides: ["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16"],
    });
    expect(describeBatches(config)).toBe(
      "12 prompts × 8 samples = 96 completions per step; 2 mini-batches of 48; " +
        "micro-batch 16 → 3 accumulations; 2 PPO epochs → 4 optimizer steps",
    );
  });
});
