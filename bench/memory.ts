/**
 * Memory over a long run: thousands of optimizer steps of a tiny policy and critic in one process,
 * with all a step of training does but the sandbox: sampling, scoring, updates, checkpoints' arrays.
 *
 * `npm run bench -- memory [--updates N] --json`. `growth_mb` is the difference of the mean resident
 * memory in the last tenth and in the second tenth; the first warms up.
 */
import { memoryUsage } from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { resolveConfig } from "../src/config/resolve.js";
import { randomStream } from "../src/core/random.js";
import { makeBatch } from "../src/train/batch.js";
import { loadRoles } from "../src/train/roles.js";
import { updateCritic, updatePlan, updatePolicy } from "../src/train/update.js";

const STARTER = fileURLToPath(new URL("../starter/", import.meta.url));
const COMPLETIONS = 8;
const MAX_TOKENS = 16;

/** Measures and answers the figures. */
export async function run(args: string[]): Promise<Record<string, number>> {
  const { values } = parseArgs({ args, options: { updates: { type: "string", default: "2000" } } });
  const updates = Number(values.updates);
  const { config } = resolveConfig({
    preset: "starter",
    overrides: [
      `data.train_batch_size=${COMPLETIONS}`,
      `data.max_response_length=${MAX_TOKENS}`,
      `actor_rollout_ref.actor.ppo_mini_batch_size=${COMPLETIONS}`,
      "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4",
      "actor_rollout_ref.actor.ppo_epochs=1",
      `actor_rollout_ref.model.path=${STARTER}model`,
    ],
  });
  const roles = await loadRoles(config);
  const critic = roles.critic;
  if (critic === null) throw new Error("the bench needs a critic");
  const resident: number[] = [];
  for (let step = 1; step <= updates; step++) {
    const stream = randomStream("memory", step);
    // Lengths differ from step to step, as those of real completions do.
    const prompt = Array.from({ length: 8 + stream.integer(16) }, () => 2 + stream.integer(1000));
    const completions = await roles.sampler.generate({
      prompts: Array.from({ length: COMPLETIONS }, () => prompt),
      maxNewTokens: 4 + stream.integer(MAX_TOKENS - 4),
      temperature: 1,
      stopTokenIds: roles.tokenizer.eosTokenIds,
      uniforms: () => stream.next(),
    });
    const members = completions.map(({ tokens }, i) => ({
      sequence: { prompt, response: tokens },
      group: i,
      score: stream.next(),
      truncated: false,
    }));
    const batch = makeBatch(members, false);
    const options = { temperature: 1, microBatchTokens: 1024 };
    for (const scorer of [roles.policy.scorer, roles.reference]) {
      await scorer.scorePolicy(batch.sequences, options);
    }
    await critic.scorer.scoreCritic(batch.sequences, options);
    const tokens = () => Float32Array.from(batch.mask, () => stream.next() - 0.5);
    const plan = (role: "actor" | "critic") => updatePlan(config, role, { step, lr: 1e-5 });
    await updateCritic(critic, batch, { returns: tokens(), values: tokens() }, 0.2, plan("critic"));
    const policy = { advantages: tokens(), oldLogprobs: tokens(), refLogprobs: tokens() };
    await updatePolicy(roles.policy, batch, policy, config, plan("actor"));
    resident.push(memoryUsage.rss() / 1e6);
    if (step % Math.ceil(updates / 20) === 0) {
      console.log(`after ${step} updates of policy and critic: ${resident.at(-1)?.toFixed(1)} MB`);
    }
  }
  await roles.dispose();
  const tenth = Math.floor(updates / 10);
  const mean = (from: number) =>
    resident.slice(from, from + tenth).reduce((sum, value) => sum + value, 0) / tenth;
  return {
    updates,
    start_mb: round(mean(tenth)),
    end_mb: round(mean(updates - tenth)),
    growth_mb: round(mean(updates - tenth) - mean(tenth)),
    highest_mb: round(resident.reduce((a, b) => Math.max(a, b), 0)),
  };
}

const round = (value: number) => Number(value.toFixed(1));
