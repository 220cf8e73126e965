/** Training: gradients are the same bits in every run, sums over batches, inputs of the loss. */
import { describe, expect, test } from "vitest";
import { randomStream } from "../core/random.js";
import { packBatch } from "./batch.js";
import type { ModelConfig } from "./config.js";
import { ALL_LINEAR, createAdapter } from "./lora.js";
import { initialParameters } from "./parameters.js";
import { type LossBuilder, TrainableModel } from "./trainable.js";
import { VALUE_HEAD, criticParameters } from "./value-head.js";

const config: ModelConfig = {
  architecture: "qwen2",
  vocabSize: 64,
  hiddenSize: 64,
  intermediateSize: 96,
  layers: 1,
  heads: 4,
  kvHeads: 2,
  headSize: 16,
  maxPositions: 128,
  ropeTheta: 10_000,
  ropeScaling: null,
  normEpsilon: 1e-6,
  tiedEmbeddings: true,
  attentionBias: true,
  bosTokenId: null,
  eosTokenIds: [2],
  padTokenId: 0,
};
const parameters = initialParameters(config, randomStream("trainable"), 0.2);
const logLoss: LossBuilder = (graph, logits, { targets }) => ({
  loss: graph.neg(graph.reduceMean(graph.tokenLogprob(logits, targets))),
});

const squareLoss: LossBuilder = (graph, values) => {
  const error = graph.sub(values, graph.scalar(1));
  return { loss: graph.reduceMean(graph.mul(error, error)) };
};
/** A critic whose head is not 0, so that its body has a gradient. */
function criticOf(model: ModelConfig, weights: typeof parameters) {
  const critic = criticParameters(model, weights);
  critic.view(VALUE_HEAD).fill(0.3);
  return critic;
}

describe("TrainableModel", () => {
  test("gives the same bits in every run with two threads", async () => {
    const stream = randomStream("few ids, often repeated");
    const tokens = (length: number) => Array.from({ length }, () => 3 + stream.integer(4));
    const batch = packBatch(
      Array.from({ length: 48 }, () => ({ prompt: tokens(10), response: tokens(40) })),
    );
    const model = await TrainableModel.create(config, parameters, {
      threads: 2,
      kind: "policy",
      loss: logLoss,
    });
    await model.accumulate(batch);
    const first = model.gradients.slice();
    for (let run = 0; run < 25; run++) {
      model.zeroGradients();
      await model.accumulate(batch);
      expect(model.gradients.every((value, i) => value === first[i])).toBe(true);
    }
    await model.dispose();
  });

  test.each(["policy", "critic", "adapter"])(
    "gives the same bits with checkpointing, %s",
    async (what) => {
      const deep = { ...config, layers: 3, tiedEmbeddings: false };
      const weights = initialParameters(deep, randomStream("deep"), 0.2);
      const lora = { rank: 2, alpha: 4, targets: ALL_LINEAR };
      const adapter = what === "adapter" ? createAdapter(deep, lora, randomStream("A")) : null;
      // B starts at 0, which would leave A without a gradient.
      adapter?.parameters.data.forEach((value, i, all) => (all[i] = value + 0.1));
      const batch = packBatch([
        { prompt: [3, 4, 5], response: [6, 7, 8, 2] },
        { prompt: [9], response: [10, 11] },
      ]);
      const results = [];
      for (const checkpointing of [false, true]) {
        const model = await TrainableModel.create(
          deep,
          what === "critic" ? criticOf(deep, weights) : weights,
          {
            threads: 1,
            kind: what === "critic" ? "critic" : "policy",
            loss: what === "critic" ? squareLoss : logLoss,
            adapter,
            checkpointing,
          },
        );
        results.push(await model.accumulate(batch), model.gradients.slice());
        await model.dispose();
      }
      expect(results[2]).toEqual(results[0]);
      expect(results[3]).toEqual(results[1]);
      expect((results[1] as Float32Array).every((value) => value !== 0 || what !== "adapter")).toBe(
        true,
      );
    },
  );

  test("feeds the inputs that the loss declares and refuses when one is absent", async () => {
    const critic = criticParameters(config, parameters);
    const model = await TrainableModel.create(config, critic, {
      threads: 1,
      kind: "critic",
      loss: (graph, values) => {
        const error = graph.sub(values, graph.input("returns", "f32", ["R"]));
        const scaled = graph.mul(error, graph.input("scale", "f32", []));
        return { loss: graph.reduceMean(graph.mul(scaled, scaled)), outputs: { values } };
      },
    });
    const batch = packBatch([{ prompt: [3, 4], response: [5, 6, 2] }]);
    const feeds = { returns: Float32Array.of(1, 2, 3), scale: 2 };
    const { loss, values } = await model.accumulate(batch, feeds);
    // The value head starts at 0: mean of (2·1)², (2·2)², (2·3)².
    expect(loss).toBeCloseTo(56 / 3, 4);
    expect(values).toEqual(new Float32Array(3));
    await expect(model.accumulate(batch, { scale: 2 })).rejects.toThrow("needs the input returns");
    await model.dispose();
  });
});
