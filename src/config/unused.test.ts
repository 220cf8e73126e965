/** Keys that another key switches off are said, so that none does nothing in silence. */
import { expect, test } from "vitest";
import { resolveConfig } from "./resolve.js";
import { unusedKeys } from "./unused.js";

const said = (preset: string, ...overrides: string[]) =>
  unusedKeys(resolveConfig({ preset, overrides })).map((line) => line.split(" ")[0]);

test("keys without a part in the run are named, with the key that decides", () => {
  const without = ["algorithm.use_kl_in_reward=false", "algorithm.kl_ctrl.target_kl=0.01"];
  expect(unusedKeys(resolveConfig({ preset: "starter", overrides: without }))).toEqual([
    "algorithm.kl_ctrl.target_kl has no effect here, because of algorithm.use_kl_in_reward",
  ]);
  expect(
    said(
      "starter-grpo",
      ...["critic.optim.lr=5", "algorithm.lam=0.3", "reward.weights.tests=0.9"],
      ...["actor_rollout_ref.actor.policy_loss.loss_mode=cispo"],
      ...["actor_rollout_ref.actor.clip_ratio_c=9", "actor_rollout_ref.actor.clip_ratio=0.1"],
    ),
  ).toEqual([
    ...["critic.optim.lr", "algorithm.lam", "reward.weights.tests"],
    "actor_rollout_ref.actor.clip_ratio_c",
  ]);
});

test("keys that have a part are not", () => {
  expect(said("starter")).toEqual([]);
  expect(said("starter", "critic.optim.lr=5e-3", "algorithm.lam=0.9")).toEqual([]);
});

test("epochs that the user asks for take the place of a preset's steps, not of his own", () => {
  const steps = (...overrides: string[]) => {
    const { config } = resolveConfig({ preset: "starter", overrides });
    return [config.trainer.total_epochs, config.trainer.total_training_steps];
  };
  expect(steps("trainer.total_epochs=3")).toEqual([3, null]);
  expect(steps("trainer.total_epochs=3", "trainer.total_training_steps=7")).toEqual([3, 7]);
  expect(said("starter", "trainer.total_epochs=3", "trainer.total_training_steps=7")).toEqual([
    "trainer.total_epochs",
  ]);
  const { config } = resolveConfig({ preset: "starter", environment: { TOTAL_EPOCHS: "2" } });
  expect(config.trainer).toMatchObject({ total_epochs: 2, total_training_steps: null });
});
