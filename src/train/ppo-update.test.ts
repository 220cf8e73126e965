/**
 * One whole PPO update, policy and critic, against PyTorch with veRL's functions: from scores to
 * parameters. test/golden/ppo_update.py made the numbers.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { resolveConfig } from "../config/resolve.js";
import { readFloatTensors } from "../formats/safetensors.js";
import { readSafetensorsHeader } from "../formats/safetensors-header.js";
import type { Sequence } from "../model/batch.js";
import { type ModelConfig, parseModelConfig } from "../model/config.js";
import { Parameters } from "../model/parameters.js";
import { Scorer } from "../model/score.js";
import { TrainableModel } from "../model/trainable.js";
import { estimateAdvantages } from "./advantages.js";
import { makeBatch, spread } from "./batch.js";
import { policyLossGraph, valueLossGraph } from "./loss-graph.js";
import { type Learner, policyTerms } from "./roles.js";
import { penalizeKl, placeRewards } from "./token-rewards.js";
import { updateCritic, updatePlan, updatePolicy } from "./update.js";

const golden = (name: string) =>
  fileURLToPath(new URL(`../../test/golden/${name}`, import.meta.url));
const description = JSON.parse(readFileSync(golden("ppo.json"), "utf8")) as {
  settings: Record<string, number> & { betas: [number, number] };
  config: Record<string, unknown>;
  sequences: Sequence[];
  scores: number[];
  metrics: Record<"pg_loss" | "vf_loss" | "actor_norm" | "critic_norm", number[]>;
};

/** Reads the tensors under a prefix as parameters. */
async function load(prefix: string): Promise<Parameters> {
  const path = golden("ppo.safetensors");
  const { tensors } = await readSafetensorsHeader(path);
  const own = [...tensors].filter(([name]) => name.startsWith(`${prefix}.`));
  const short = (name: string) => name.slice(prefix.length + 1);
  const parameters = new Parameters(new Map(own.map(([name, { shape }]) => [short(name), shape])));
  await readFloatTensors(
    path,
    own.map(([name, tensor]) => ({ tensor, target: parameters.view(short(name)) })),
  );
  return parameters;
}

/** The config that the reference was made with; `micro` completions in memory at once. */
function configWith(micro: number) {
  const s = description.settings;
  return resolveConfig({
    overrides: [
      "data.train_batch_size=8",
      `actor_rollout_ref.actor.ppo_mini_batch_size=${s.mini_batch}`,
      `actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=${micro}`,
      `actor_rollout_ref.actor.ppo_epochs=${s.epochs}`,
      `actor_rollout_ref.actor.clip_ratio_low=${s.clip_low}`,
      `actor_rollout_ref.actor.clip_ratio_high=${s.clip_high}`,
      `actor_rollout_ref.actor.entropy_coeff=${s.entropy_coeff}`,
      "actor_rollout_ref.actor.use_kl_loss=true",
      `actor_rollout_ref.actor.kl_loss_coef=${s.kl_loss_coef}`,
      `actor_rollout_ref.actor.optim.betas=[${s.betas.join()}]`,
      `actor_rollout_ref.actor.optim.weight_decay=${s.weight_decay}`,
      `critic.optim.betas=[${s.betas.join()}]`,
      `critic.optim.weight_decay=${s.weight_decay}`,
      `critic.cliprange_value=${s.cliprange_value}`,
      `actor_rollout_ref.rollout.temperature=${s.temperature}`,
    ],
  }).config;
}

async function learner(
  model: ModelConfig,
  parameters: Parameters,
  options: globalThis.Parameters<typeof TrainableModel.create>[2],
): Promise<Learner> {
  const size = parameters.data.length;
  return {
    model: await TrainableModel.create(model, parameters, options),
    parameters,
    scorer: await Scorer.create(model, parameters, options),
    optimizer: { m: new Float32Array(size), v: new Float32Array(size), updates: 0 },
  };
}

async function makeUpdate(micro: number) {
  const config = configWith(micro);
  const { settings, sequences, scores } = description;
  const model = parseModelConfig(description.config, { path: "ppo.json" });
  const policy = await learner(model, await load("policy.before"), {
    threads: 1,
    kind: "policy",
    loss: policyLossGraph(policyTerms(config)),
  });
  const critic = await learner(model, await load("critic.before"), {
    threads: 1,
    kind: "critic",
    loss: valueLossGraph(config.critic.cliprange_value),
  });
  const reference = await Scorer.create(model, await load("reference"), {
    threads: 1,
    kind: "policy",
  });
  const batch = makeBatch(
    sequences.map((sequence, i) => ({ sequence, group: i, score: scores[i], truncated: false })),
    false,
  );
  const options = { temperature: settings.temperature, microBatchTokens: 4096 };
  const old = spread((await policy.scorer.scorePolicy(sequences, options)).logprobs, batch);
  const ref = spread((await reference.scorePolicy(sequences, options)).logprobs, batch);
  const values = spread((await critic.scorer.scoreCritic(sequences, options)).values, batch);
  const { rewards } = penalizeKl(placeRewards(batch.scores, batch.mask, batch.length), {
    logprobs: old,
    refLogprobs: ref,
    mask: batch.mask,
    length: batch.length,
    estimator: "k1",
    coefficient: settings.kl_coef,
  });
  const { advantages, returns } = estimateAdvantages(
    "gae",
    { rewards, mask: batch.mask, length: batch.length, groups: batch.groups, values },
    { gamma: settings.gamma, lambda: settings.lam, normalizeByStd: true },
  );
  const plan = (role: "actor" | "critic") =>
    updatePlan(config, role, { step: 1, lr: settings[`${role}_lr`] });
  const clipRange = config.critic.cliprange_value;
  const criticMetrics = await updateCritic(
    critic,
    batch,
    { returns, values },
    clipRange,
    plan("critic"),
  );
  const tokens = { advantages, oldLogprobs: old, refLogprobs: ref };
  const policyMetrics = await updatePolicy(policy, batch, tokens, config, plan("actor"));
  return { policy, critic, metrics: { ...criticMetrics, ...policyMetrics } };
}

const norm = (values: ArrayLike<number>) => Math.hypot(...Array.from(values));

/** Largest error of a tensor relative to its norm, and of its update relative to the update's. */
async function errors(name: "policy" | "critic", after: Parameters) {
  const [before, expected] = [await load(`${name}.before`), await load(`${name}.after`)];
  return expected.names.map((tensor) => {
    const [b, e, a] = [before, expected, after].map((parameters) => parameters.view(tensor));
    const wrong = norm(a.map((value, i) => value - e[i]));
    return {
      tensor,
      ofValue: wrong / norm(e),
      ofUpdate: wrong / norm(e.map((value, i) => value - b[i])),
    };
  });
}

const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;

describe("one PPO update", () => {
  test.each([4, 1, 3])("equals PyTorch with veRL's losses, micro-batches of %d", async (micro) => {
    const { policy, critic, metrics } = await makeUpdate(micro);
    for (const [name, { parameters }] of Object.entries({ policy, critic })) {
      for (const error of await errors(name as "policy" | "critic", parameters)) {
        expect(error.ofValue, `${name} ${error.tensor}`).toBeLessThan(1e-4);
        // The update itself is a thousandth of the value: it agrees too.
        expect(error.ofUpdate, `update of ${name} ${error.tensor}`).toBeLessThan(1e-3);
      }
    }
    const { pg_loss, vf_loss, actor_norm, critic_norm } = description.metrics;
    expect(metrics["actor/pg_loss"]).toBeCloseTo(mean(pg_loss), 5);
    expect(metrics["critic/vf_loss"]).toBeCloseTo(mean(vf_loss), 5);
    expect(metrics["actor/grad_norm"]).toBeCloseTo(mean(actor_norm), 4);
    expect(metrics["critic/grad_norm"]).toBeCloseTo(mean(critic_norm), 4);
    expect(metrics["actor/micro_batches"]).toBe(Math.ceil(4 / micro));
  });
});
