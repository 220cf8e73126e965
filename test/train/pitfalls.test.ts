/**
 * The known pitfalls of reinforcement learning on language models, one test each, by the numbers of
 * the list they come from. Most are behind a public bug report of some trainer.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { randomStream } from "../../src/core/random.js";
import type { Rollout } from "../../src/core/rollout.js";
import { readLines, runPaths } from "../../src/core/run.js";
import { type Sequence, packBatch } from "../../src/model/batch.js";
import { createAdapter } from "../../src/model/lora.js";
import type { Parameters } from "../../src/model/parameters.js";
import { Sampler } from "../../src/model/sample.js";
import { Scorer } from "../../src/model/score.js";
import { TrainableModel } from "../../src/model/trainable.js";
import { criticParameters } from "../../src/model/value-head.js";
import { type Model, loadModel } from "../../src/model/weights.js";
import { adamWStep, clipByGlobalNorm } from "../../src/train/adam.js";
import { estimateAdvantages } from "../../src/train/advantages.js";
import { computeGae } from "../../src/train/gae.js";
import { klGradientOf, klKind, klOf, nextKlCoefficient } from "../../src/train/kl.js";
import { policyLossGraph } from "../../src/train/loss-graph.js";
import { aggregate, lossWeights, policyLoss, valueLoss } from "../../src/train/loss.js";
import { maskedMean, whiten } from "../../src/train/masked.js";
import { rewardMetrics } from "../../src/train/metrics.js";
import { configNotices } from "../../src/train/preflight.js";
import type { PolicyLossTerms } from "../../src/train/loss-graph.js";
import { overlongPenalty, placeRewards, responseMask } from "../../src/train/token-rewards.js";
import { train } from "../../src/train/train.js";
import { ArithmeticVerifier, TINY_GRPO, metricsOf, tinyRun, writeFixture } from "./fixture.js";

let root: string;
let fixture: string;
let model: Model;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "rlvr-pitfalls-"));
  fixture = join(root, "fixture");
  await writeFixture(fixture);
  model = await loadModel(join(fixture, "model"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const floats = (...values: number[]) => Float32Array.from(values);
const bits = (...values: number[]) => Uint8Array.from(values);
const options = { gamma: 1, lambda: 1, normalizeByStd: true };
const vanilla = { mode: "vanilla" as const, clipLow: 0.2, clipHigh: 0.2, clipC: 3 };

/** Runs a tiny run and answers its metrics and rollouts. */
async function runTiny(overrides: string[] = [], verifier = new ArithmeticVerifier()) {
  const dir = await mkdtemp(join(root, "run-"));
  const notices: string[] = [];
  await train(tinyRun(fixture, dir, overrides), {
    verifier,
    onEvent: (event) => event.kind === "notice" && notices.push(event.message),
  });
  const rollouts = await readLines<Rollout>(runPaths(dir).rolloutsOf(1));
  const metrics = await metricsOf(dir);
  return {
    dir,
    notices,
    rollouts,
    metrics,
    first: metrics.find(({ step }) => step === 1)!.metrics,
  };
}

const sequence = (seed: number, prompt: number, response: number): Sequence => {
  const stream = randomStream(seed, "tokens");
  const ids = (count: number) => Array.from({ length: count }, () => 2 + stream.integer(200));
  return { prompt: ids(prompt), response: ids(response) };
};

async function score(sequences: Sequence[], temperature = 1): Promise<Float32Array> {
  const scorer = await Scorer.create(model.config, model.parameters, {
    threads: 1,
    kind: "policy",
  });
  const { logprobs } = await scorer.scorePolicy(sequences, { temperature, microBatchTokens: 4096 });
  await scorer.dispose();
  return logprobs;
}

/** The gradient of a policy loss over the parameters; `extra` feeds beside the token arrays. */
async function gradientOf(
  sequences: Sequence[],
  terms: Partial<PolicyLossTerms>,
  feeds: Record<string, Float32Array | { dtype: "f32" | "i64"; shape: number[]; data: never }>,
) {
  const all = { ...vanilla, temperature: 1, entropyCoefficient: 0, kl: null, ...terms };
  const trainable = await TrainableModel.create(model.config, model.parameters, {
    threads: 1,
    kind: "policy",
    loss: policyLossGraph(all),
  });
  const outputs = await trainable.accumulate(packBatch(sequences), feeds as never);
  const gradient = trainable.gradients.slice();
  await trainable.dispose();
  return { gradient, loss: outputs.loss as number };
}

async function sample(parameters: Parameters, temperature: number, prompts: number[][]) {
  const sampler = await Sampler.create(model.config, parameters, { threads: 1 });
  const streams = prompts.map((_, i) => randomStream(3, i));
  const completions = await sampler.generate({
    prompts,
    maxNewTokens: 8,
    temperature,
    stopTokenIds: [1],
    uniforms: (i) => streams[i].next() * 0.999,
  });
  await sampler.dispose();
  return completions;
}

const difference = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Math.max(...Array.from(a).map((value, i) => Math.abs(value - b[i])));

describe("pitfalls of the policy's probabilities", () => {
  test("1: old log-probabilities are the trainer's: at the first update every ratio is 1", async () => {
    const { first } = await runTiny();
    expect(first["actor/first_ratio_error"]).toBeLessThan(1e-5);
    expect(first["training/rollout_probs_diff_max"]).toBeLessThan(1e-4);
  });

  test("2: temperature 0.7 is applied by the sampler and by the trainer", async () => {
    const prompts = [sequence(1, 6, 1).prompt as number[], sequence(2, 9, 1).prompt as number[]];
    const completions = await sample(model.parameters, 0.7, prompts);
    const sequences = completions.map(({ tokens }, i) => ({
      prompt: prompts[i],
      response: tokens,
    }));
    const sampled = completions.flatMap(({ logprobs }) => [...logprobs]);
    expect(difference(await score(sequences, 0.7), sampled)).toBeLessThan(1e-4);
    expect(difference(await score(sequences, 1), sampled)).toBeGreaterThan(1e-2);
  });

  test("3: top-p and top-k, which the trainer's probabilities do not know, are warned of", () => {
    const notices = (override: string) => configNotices(tinyRun(fixture, root, [override]).config);
    expect(notices("actor_rollout_ref.rollout.top_p=0.9").join()).toContain("top_p");
    expect(notices("actor_rollout_ref.rollout.top_p=1").join()).not.toContain("top_p");
  });

  test("4: token ids are kept from sampling to the update, never made again from text", async () => {
    const { rollouts } = await runTiny();
    const { tokenizer } = model;
    // Random tokens: most texts would be cut differently when tokenized again.
    const changed = rollouts.filter(
      ({ tokens, completion }) => tokenizer.encode(completion).join() !== tokens.join(),
    );
    expect(changed.length).toBeGreaterThan(0);
    for (const { tokens, logprobs } of rollouts) expect(logprobs).toHaveLength(tokens.length);
  });

  test("5: an end token that is also the padding keeps its place in the mask, once", () => {
    const { mask, truncated } = responseMask([5, 7, 0, 0, 0], { endIds: [0] });
    expect([...mask]).toEqual([1, 1, 1, 0, 0]);
    expect(truncated).toBe(false);
  });

  test("6: padding and batch size do not move a log-probability", async () => {
    const sequences = [3, 14, 7, 22].map((length, i) => sequence(i, length, 2 + i));
    const together = await score(sequences);
    const alone = await Promise.all(sequences.map((one) => score([one])));
    expect(
      difference(
        together,
        alone.flatMap((part) => [...part]),
      ),
    ).toBeLessThan(1e-5);
    const prompts = sequences.map(({ prompt }) => prompt as number[]);
    const [batch, [single]] = [
      await sample(model.parameters, 1, prompts),
      await sample(model.parameters, 1, prompts.slice(0, 1)),
    ];
    expect(batch[0].tokens).toEqual(single.tokens);
  });

  test("25: two scoring passes are equal: nothing is dropped out", async () => {
    const sequences = [sequence(1, 5, 5)];
    expect(await score(sequences)).toEqual(await score(sequences));
  });

  test("29: log-probabilities and KL agree with double precision", async () => {
    const near = 1e-4;
    expect(klOf("k3", Math.fround(-1), Math.fround(-1 - near))).toBeCloseTo(near ** 2 / 2, 10);
    expect(klOf("k3", -1, -1)).toBe(0);
  });

  test("36: the sampler reads the very weights that training changes", async () => {
    const parameters = model.parameters.clone();
    const sampler = await Sampler.create(model.config, parameters, { threads: 1 });
    const ask = () =>
      sampler.generate({
        prompts: [[5, 6, 7]],
        maxNewTokens: 6,
        temperature: 0,
        stopTokenIds: [],
        uniforms: () => 0.5,
      });
    const [before] = await ask();
    for (let i = 0; i < parameters.data.length; i++) parameters.data[i] *= -1.5;
    const [after] = await ask();
    await sampler.dispose();
    expect(after.logprobs).not.toEqual(before.logprobs);
    const { metrics } = await runTiny(["trainer.total_training_steps=3"]);
    for (const { metrics: one, phase } of metrics) {
      if (phase === "train") expect(one["training/rollout_probs_diff_max"]).toBeLessThan(1e-4);
    }
  });

  test("37: one chat template, with the generation prompt, in training and validation", () => {
    const messages = [{ role: "user" as const, content: "Read n and print it." }];
    const withPrompt = model.tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true });
    const without = model.tokenizer.applyChatTemplate(messages, { addGenerationPrompt: false });
    expect(withPrompt.length).toBeGreaterThan(without.length);
    expect(withPrompt.slice(0, without.length)).toEqual(without);
  });

  test("38: with LoRA the reference is the policy without its adapter: KL is 0 at the start", async () => {
    const { metrics } = await runTiny([
      "actor_rollout_ref.model.lora_rank=4",
      "actor_rollout_ref.actor.optim.lr=0.05",
    ]);
    const kls = metrics.filter(({ phase }) => phase === "train").map(({ metrics: m }) => m.kl);
    expect(kls[0]).toBeLessThan(1e-9);
    expect(kls[1]).toBeGreaterThan(1e-6);
    const adapter = createAdapter(
      model.config,
      { rank: 2, alpha: 4, targets: ["q_proj"] },
      randomStream(1),
    );
    const name = adapter.parameters.names.find((one) => one.endsWith("lora_B.weight"))!;
    expect(Math.max(...adapter.parameters.view(name))).toBe(0);
  });
});

describe("pitfalls of rewards and advantages", () => {
  test("7: a truncated completion can be left out, and the denominators follow", () => {
    const losses = floats(1, 1, 5, 5);
    const all = aggregate(losses, lossWeights(bits(1, 1, 1, 1), 2, "token-mean"));
    const masked = aggregate(losses, lossWeights(bits(1, 1, 0, 0), 2, "token-mean"));
    expect([all, masked]).toEqual([3, 1]);
  });

  test("8: the reward stands on the last token the policy chose", async () => {
    expect([...placeRewards([1], bits(1, 1, 0), 3)]).toEqual([0, 1, 0]);
    const { rollouts } = await runTiny();
    const ended = rollouts.filter(({ finish }) => finish === "stop");
    expect(ended.length).toBeGreaterThan(0);
    for (const { tokens } of ended) expect(model.tokenizer.eosTokenIds).toContain(tokens.at(-1));
  });

  test("9: k3 is never negative, and means of k1 and k3 agree for near policies", () => {
    const stream = randomStream(9, "kl");
    const [k1, k3] = [[] as number[], [] as number[]];
    for (let i = 0; i < 20_000; i++) {
      // Tokens of a two-way policy, sampled from it.
      const isFirst = stream.next() < 0.6;
      const pair = isFirst ? [0.6, 0.55] : [0.4, 0.45];
      const [logp, ref] = pair.map(Math.log);
      k1.push(klOf("k1", logp, ref));
      k3.push(klOf("k3", logp, ref));
    }
    expect(Math.min(...k3)).toBeGreaterThanOrEqual(0);
    const exact = 0.6 * Math.log(0.6 / 0.55) + 0.4 * Math.log(0.4 / 0.45);
    expect(maskedMean(k3, new Uint8Array(k3.length).fill(1))).toBeCloseTo(exact, 3);
    expect(maskedMean(k1, new Uint8Array(k1.length).fill(1))).toBeCloseTo(exact, 2);
    // Straight-through: k3's value with the gradient of the KL.
    expect(klGradientOf(klKind("k3+"), -1, -1.5)).toBeCloseTo(0.5);
    expect(klGradientOf(klKind("k3"), -1, -1.5)).not.toBeCloseTo(0.5, 2);
  });

  test("10: groups of equal rewards push nothing when there is no KL", async () => {
    const sequences = [sequence(1, 4, 3), sequence(2, 5, 3)];
    const old = await score(sequences);
    const { advantages } = estimateAdvantages(
      "grpo",
      {
        rewards: floats(0, 0, 1, 0, 0, 1),
        mask: bits(1, 1, 1, 1, 1, 1),
        length: 3,
        groups: [0, 0],
      },
      options,
    );
    const weights = lossWeights(bits(1, 1, 1, 1, 1, 1), 3, "token-mean");
    const { gradient } = await gradientOf(
      sequences,
      {},
      { advantages, old_logprobs: old, weights },
    );
    expect(Math.max(...gradient.map(Math.abs))).toBe(0);
  });

  test("12: token-mean weighs every token alike, the mean of means does not", () => {
    const losses = floats(4, 0, 0, 0, 1, 1, 1, 1);
    const mask = bits(1, 0, 0, 0, 1, 1, 1, 1);
    expect(aggregate(losses, lossWeights(mask, 4, "token-mean"))).toBeCloseTo(8 / 5, 6);
    expect(aggregate(losses, lossWeights(mask, 4, "seq-mean-token-mean"))).toBeCloseTo(2.5, 6);
  });

  test("13: equal rewards give advantage 0, a group of one keeps its reward, nothing is NaN", () => {
    const input = { mask: bits(1, 1, 1), length: 1, rewards: floats(1, 1, 0.5) };
    const { advantages } = estimateAdvantages("grpo", { ...input, groups: [0, 0, 1] }, options);
    expect([...advantages].map((value) => Number(value.toFixed(5)))).toEqual([0, 0, 0.5]);
  });

  test("14: whitening has mean 0 and variance 1 over the mask, and 0 elsewhere", () => {
    const mask = bits(1, 1, 0, 1, 1);
    const white = whiten(floats(1, 5, 1000, -2, 3), mask);
    expect(maskedMean(white, mask)).toBeCloseTo(0, 6);
    expect(
      maskedMean(
        white.map((v) => v * v),
        mask,
      ),
    ).toBeCloseTo(3 / 4, 5);
    expect(white[2]).toBe(0);
  });

  test("15: returns come from advantages before they are whitened", () => {
    const input = { rewards: floats(0, 0, 1), mask: bits(1, 1, 1), length: 3, groups: [0] };
    const values = floats(0.5, 0.2, 0.8);
    const { returns } = estimateAdvantages("gae", { ...input, values }, options);
    expect(difference(returns, [1, 1, 1])).toBeLessThan(1e-6);
  });

  test("16: GAE goes over tokens the policy did not write as if they were not there", () => {
    const dense = { rewards: floats(0, 0, 1), values: floats(0.5, 0.2, 0.8), mask: bits(1, 1, 1) };
    const holed = {
      rewards: floats(0, 9, 0, 1),
      values: floats(0.5, 9, 0.2, 0.8),
      mask: bits(1, 0, 1, 1),
    };
    const settings = { gamma: 0.9, lambda: 0.7 };
    const [a, b] = [
      computeGae({ ...dense, length: 3 }, settings).advantages,
      computeGae({ ...holed, length: 4 }, settings).advantages,
    ];
    expect([b[0], b[2], b[3]]).toEqual([...a]);
  });

  test("30: two instances of a prompt in one batch are two groups", async () => {
    // Groups that never differ make it draw the same eight problems again and again.
    const same = new ArithmeticVerifier(() => ({ passRate: 1, reward: 1 }));
    const filter = [
      ...TINY_GRPO,
      "data.train_max_samples=8",
      "algorithm.filter_groups.enable=true",
    ];
    const { rollouts } = await runTiny(filter, same);
    const instances = new Set(rollouts.map(({ group }) => group)).size;
    const problems = new Set(rollouts.map(({ problemId }) => problemId)).size;
    expect(instances).toBeGreaterThan(problems);
    for (const group of new Set(rollouts.map((one) => one.group))) {
      expect(rollouts.filter((one) => one.group === group)).toHaveLength(4);
    }
  });

  test("31: 0 stays 0, and a completion without a verdict is out of the mean", async () => {
    const judge = new ArithmeticVerifier(({ problem }, calls) =>
      calls % 50 === 0
        ? { reward: null, verdict: "bad_problem" }
        : { passRate: 0, reward: problem.id.length % 2 },
    );
    const { first, rollouts } = await runTiny(["data.train_batch_size=24"], judge);
    const mean = rollouts.reduce((sum, { reward }) => sum + reward, 0) / rollouts.length;
    expect(first["reward/score"]).toBeCloseTo(mean, 6);
    expect(rollouts.some(({ reward }) => reward === 0)).toBe(true);
  });

  test("32: dynamic sampling on groups that never differ ends with a warning", async () => {
    const same = new ArithmeticVerifier(() => ({ passRate: 1, reward: 1 }));
    const filter = [...TINY_GRPO, "algorithm.filter_groups.enable=true"];
    const { notices, first } = await runTiny(filter, same);
    expect(notices.join()).toContain("dynamic sampling: 0 of 8 groups differ");
    expect(first["training/filter_groups/gen_batches"]).toBe(10);
    // The metrics are those of everything sampled, not of what was kept.
    expect(first["group/zero_std"]).toBe(1);
  });

  test("33: the overlong penalty runs from 0 to −factor", () => {
    const zone = { maxLength: 100, buffer: 20, factor: 1 };
    expect([50, 80, 90, 100].map((length) => overlongPenalty(length, zone) + 0)).toEqual([
      0, 0, -0.5, -1,
    ]);
  });

  test("34: means are over all completions, not means of means", () => {
    const uneven = [1, 1, 1, 0].map((reward) => ({
      score: reward,
      result: { passRate: reward, verdict: "accepted", extraction: { format: true } },
    }));
    const timing = { generate: 0, verify: 0 };
    const set = { rollouts: uneven as never, infraErrors: 0, badProblems: 0, timing };
    expect(rewardMetrics(set)["reward/score"]).toBe(0.75);
  });
});

describe("pitfalls of the update", () => {
  test("11: the gradient of 8 completions is the same at once, one by one, and packed by tokens", async () => {
    const actor = "actor_rollout_ref.actor.";
    const traces = [];
    for (const overrides of [
      [`${actor}ppo_micro_batch_size_per_gpu=4`],
      [`${actor}ppo_micro_batch_size_per_gpu=1`],
      // One mini-batch fits at once, the other takes two; for the critic each sequence goes alone.
      [
        `${actor}use_dynamic_bsz=true`,
        `${actor}ppo_max_token_len_per_gpu=128`,
        "critic.ppo_max_token_len_per_gpu=32",
      ],
    ]) {
      const { first } = await runTiny(overrides);
      const micro = [first["actor/micro_batches"], first["critic/micro_batches"]];
      const norms = [first["actor/grad_norm"], first["critic/grad_norm"], first["actor/pg_loss"]];
      traces.push({ micro, norms });
    }
    expect(traces.map(({ micro }) => micro)).toEqual([
      [1, 1],
      [4, 4],
      [1.5, 4],
    ]);
    for (const { norms } of traces) expect(difference(norms, traces[0].norms)).toBeLessThan(1e-5);
  });

  test("17: values are clipped around those at rollout time, the larger square counts, halved", () => {
    const { tokenLosses, gradients } = valueLoss(
      { values: floats(1), oldValues: floats(0), returns: floats(2), mask: bits(1) },
      0.5,
    );
    expect(tokenLosses[0]).toBeCloseTo(0.5 * (0.5 - 2) ** 2);
    expect(gradients[0]).toBe(0);
  });

  const one = (logprob: number, old: number, advantage: number, extra = {}) =>
    policyLoss(
      {
        logprobs: floats(logprob),
        oldLogprobs: floats(old),
        advantages: floats(advantage),
        mask: bits(1),
        length: 1,
      },
      { ...vanilla, ...extra },
    );

  test("18: the dual clip bounds the loss of a negative advantage, and only that", () => {
    const ratio10 = Math.log(10);
    expect(one(0, -ratio10, -1).tokenLosses[0]).toBeCloseTo(3);
    expect(one(0, -ratio10, -1).gradients[0]).toBe(0);
    expect(one(0, -ratio10, 1).tokenLosses[0]).toBeCloseTo(-1.2);
  });

  test("19: CISPO keeps the gradient of every token: clipped ratio times score, also as a graph", async () => {
    const cispo = one(0, -2, 1.5, { mode: "cispo" });
    expect(cispo.gradients[0]).toBeCloseTo(-1.2 * 1.5);
    await expectGraphGradient("cispo");
  });

  test("20: GSPO's ratio is that of the completion, also as a graph", async () => {
    const gspo = policyLoss(
      {
        logprobs: floats(-1, -2),
        oldLogprobs: floats(-1.2, -1.9),
        advantages: floats(1, 1),
        mask: bits(1, 1),
        length: 2,
      },
      { mode: "gspo", clipLow: 0.2, clipHigh: 0.2, clipC: 3 },
    );
    expect(gspo.tokenLosses[0]).toBeCloseTo(-Math.exp(0.05), 6);
    expect(gspo.tokenLosses[1]).toBe(gspo.tokenLosses[0]);
    await expectGraphGradient("gspo");
    // Every completion counts the same, whatever the aggregation of the terms beside it.
    const gspo20 = [...TINY_GRPO, "actor_rollout_ref.actor.policy_loss.loss_mode=gspo"];
    const alone = [...gspo20, "actor_rollout_ref.actor.use_kl_loss=false"];
    const by = async (mode: string) => {
      const { metrics } = await runTiny([
        ...alone,
        `actor_rollout_ref.actor.loss_agg_mode=${mode}`,
      ]);
      return JSON.stringify(metrics);
    };
    expect(await by("token-mean")).toBe(await by("seq-mean-token-mean"));
  });

  /** The graph's gradient equals that of a linear loss with the plain function's slopes. */
  async function expectGraphGradient(mode: "gspo" | "cispo" | "vanilla") {
    const sequences = [sequence(1, 4, 3), sequence(2, 5, 2)];
    const logprobs = await score(sequences);
    const stream = randomStream(20, mode);
    const noise = (scale: number) => logprobs.map(() => scale * (stream.next() - 0.5));
    const [shift, advantages] = [noise(0.8), noise(4)];
    const old = logprobs.map((value, i) => value + shift[i]);
    // [2, 3] with the second completion one token short.
    const pad = (flat: Float32Array) => floats(...flat, 0);
    const mask = bits(1, 1, 1, 1, 1, 0);
    const plain = policyLoss(
      {
        logprobs: pad(logprobs),
        oldLogprobs: pad(old),
        advantages: pad(advantages),
        mask,
        length: 3,
      },
      { ...vanilla, mode },
    );
    const weights = lossWeights(mask, 3, "token-mean").subarray(0, 5);
    const sequenceFeeds = {
      policy_weights: weights,
      averaging: { dtype: "f32", shape: [2, 5], data: averages() },
      sequence_of: { dtype: "i64", shape: [5], data: BigInt64Array.of(0n, 0n, 0n, 1n, 1n) },
    };
    const ours = await gradientOf(
      sequences,
      { mode },
      {
        advantages,
        old_logprobs: old,
        weights,
        ...(mode === "gspo" ? (sequenceFeeds as never) : {}),
      },
    );
    // CISPO's loss is linear in the log-probabilities with slope −advantage where ratios are 1.
    const linear = await gradientOf(
      sequences,
      { mode: "cispo" },
      {
        advantages: plain.gradients.subarray(0, 5).map((slope) => -slope),
        old_logprobs: logprobs,
        weights,
      },
    );
    expect(difference(ours.gradient, linear.gradient)).toBeLessThan(1e-5);
    expect(Math.max(...linear.gradient.map(Math.abs))).toBeGreaterThan(1e-3);
  }

  const averages = () => floats(1 / 3, 1 / 3, 1 / 3, 0, 0, 0, 0, 0, 1 / 2, 1 / 2);

  test("21: extreme log-ratios stay finite", () => {
    for (const shift of [-1000, 1000]) {
      const loss = one(shift, 0, 1);
      expect(Number.isFinite(loss.tokenLosses[0]) && Number.isFinite(loss.gradients[0])).toBe(true);
      expect(Number.isFinite(klOf("k3", shift, 0))).toBe(true);
    }
  });

  test("22: the adaptive KL coefficient counts completions, moves within ±20 %, and is kept", async () => {
    const control = { type: "adaptive" as const, targetKl: 0.1, horizon: 1000 };
    expect(nextKlCoefficient(0.1, { kl: 9, sequences: 100 }, control)).toBeCloseTo(0.102);
    expect(nextKlCoefficient(0.1, { kl: 0, sequences: 100 }, control)).toBeCloseTo(0.098);
    // That it survives a kill is shown in resume.test.ts, whose runs are adaptive.
  });

  test("23: in the critic's warm-up the policy does not move", async () => {
    const { metrics } = await runTiny([
      "trainer.critic_warmup=1",
      "trainer.total_training_steps=3",
    ]);
    const steps = metrics.filter(({ phase }) => phase === "train").map((record) => record.metrics);
    expect(steps.map((record) => "actor/lr" in record)).toEqual([false, true, true]);
    expect(steps[1].kl).toBeLessThan(1e-9);
    expect(steps[2].kl).toBeGreaterThan(1e-9);
  });

  test("23: the policy's own warm-up begins when it does", async () => {
    const { metrics } = await runTiny([
      ...["trainer.critic_warmup=2", "trainer.total_training_steps=5"],
      "actor_rollout_ref.actor.optim.lr_warmup_steps=2",
    ]);
    const rates = metrics.filter(({ phase }) => phase === "train").map((one) => one.metrics);
    expect(rates.map((one) => one["actor/lr"])).toEqual([undefined, undefined, 0, 5e-4, 1e-3]);
  });

  test("a mini-batch whose gradient is not finite is left out, and the others are learnt from", async () => {
    const dir = await mkdtemp(join(root, "run-"));
    const verifier = new ArithmeticVerifier((_, calls) =>
      calls === 3 ? { reward: Infinity } : {},
    );
    const all = [...TINY_GRPO, "health.stop_on=[]", "trainer.total_training_steps=1"];
    const val = "trainer.val_before_train=false";
    const summary = await train(tinyRun(fixture, dir, [...all, val]), { verifier });
    const [{ metrics }] = await metricsOf(dir);
    expect(metrics["actor/grad_norm"]).toBeNull();
    const { parameters } = await loadModel(String(summary.modelDir));
    expect(parameters.data.every(Number.isFinite)).toBe(true);
    expect(difference(parameters.data, model.parameters.data)).toBeGreaterThan(0);
  });

  test("24: the critic starts at value 0 on the tokens of the policy", async () => {
    const critic = criticParameters(model.config, model.parameters);
    const scorer = await Scorer.create(model.config, critic, { threads: 1, kind: "critic" });
    const { values } = await scorer.scoreCritic([sequence(1, 4, 6)], { microBatchTokens: 512 });
    await scorer.dispose();
    expect([...values]).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test("26: AdamW's ε stands outside the root and its decay is decoupled", () => {
    const params = floats(1);
    const update = { params, gradients: floats(1e-4), m: floats(0), v: floats(0), step: 1 };
    adamWStep({ ...update, lr: 0.1, betas: [0.9, 0.999], eps: 1e-4, weightDecay: 0 });
    expect(params[0]).toBeCloseTo(1 - 0.1 * 0.5, 5);
  });

  test("27: one clip of the global norm per optimizer step, after accumulation", async () => {
    const gradients = floats(3, 0, 4);
    expect(clipByGlobalNorm(gradients, 2.5)).toBe(5);
    expect(difference(gradients, [1.5, 0, 2])).toBeLessThan(1e-5);
  });
});

describe("pitfalls of randomness and resume", () => {
  test("28: the same seed gives the same bytes, another seed others, and group members differ", async () => {
    const [a, b, c] = [
      await runTiny(TINY_GRPO),
      await runTiny(TINY_GRPO),
      await runTiny([...TINY_GRPO, "seed=43"]),
    ];
    expect(JSON.stringify(b.metrics)).toBe(JSON.stringify(a.metrics));
    expect(b.rollouts).toEqual(a.rollouts);
    expect(c.rollouts).not.toEqual(a.rollouts);
    const group = a.rollouts.filter((one) => one.group === 0);
    expect(new Set(group.map(({ tokens }) => tokens.join())).size).toBeGreaterThan(1);
  });

  test("35: data position, optimizers and coefficients are restored bit by bit", async () => {
    const dir = join(root, "resumed");
    const settings = ["trainer.total_training_steps=4", "trainer.save_freq=2"];
    const whole = await runTiny(settings);
    const half = [...settings, "trainer.total_training_steps=2"];
    await train(tinyRun(fixture, dir, half), { verifier: new ArithmeticVerifier() });
    await train(tinyRun(fixture, dir, settings), { verifier: new ArithmeticVerifier() });
    const trained = (records: typeof whole.metrics) =>
      JSON.stringify(records.filter(({ phase }) => phase === "train"));
    expect(trained(await metricsOf(dir))).toBe(trained(whole.metrics));
  });
});
