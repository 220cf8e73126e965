/**
 * Makes the starter model: `npx tsx starter/make-model.ts [--out DIR] [--steps N] [--seed N]`.
 *
 * A tokenizer is trained on texts of the families, then a decoder of Qwen2's architecture is fitted
 * to the answers of answers.ts, from random weights, by the engine of this package. Only wordings of
 * the train split are used. The same seed gives the same model on the same machine.
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { randomStream } from "../src/core/random.js";
import { packBatch } from "../src/model/batch.js";
import type { Sequence } from "../src/model/batch.js";
import type { ModelConfig } from "../src/model/config.js";
import { initialParameters } from "../src/model/parameters.js";
import type { Parameters } from "../src/model/parameters.js";
import { createTokenizer } from "../src/model/tokenizer.js";
import type { Tokenizer } from "../src/model/tokenizer.js";
import { TrainableModel } from "../src/model/trainable.js";
import type { LossBuilder } from "../src/model/trainable.js";
import { saveModel } from "../src/model/weights.js";
import { adamWStep, clipByGlobalNorm } from "../src/train/adam.js";
import { drawAnswer, MIXTURE } from "./answers.js";
import { drawProblem, familiesOf } from "./problems.js";
import { trainTokenizer } from "./tokenizer.js";

/** Settings of the fit. */
interface FitOptions {
  steps: number;
  batch: number;
  /** Highest learning rate: reached after the warm-up, then a cosine down to a twentieth. */
  lr: number;
  warmupSteps: number;
  threads: number;
  seed: number;
}

const TOKENIZER_TEXTS = 20_000;
/** Pieces that occur this often become one token. */
const PIECE_MINIMUM = 20;
const FAMILIES = familiesOf("train");

async function main(): Promise<void> {
  const here = fileURLToPath(new URL("./model", import.meta.url));
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: here },
      steps: { type: "string", default: "600" },
      seed: { type: "string", default: "1" },
      threads: { type: "string", default: "1" },
    },
  });
  const seed = Number(values.seed);
  const start = performance.now();
  const tokenizer = makeTokenizer(seed);
  const config = modelConfig(tokenizer);
  const parameters = startParameters(config, seed);
  await fit(config, parameters, tokenizer, {
    steps: Number(values.steps),
    batch: 64,
    lr: 2.5e-3,
    warmupSteps: 30,
    threads: Number(values.threads),
    seed,
  });
  await saveModel(values.out, { config, parameters, tokenizer }, { dtype: "BF16" });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const peakMegabytes = Math.round(process.resourceUsage().maxRSS / 1024);
  console.log(
    `${values.out}: ${parameters.data.length} parameters, ${config.vocabSize} tokens; ` +
      `${seconds} s, peak ${peakMegabytes} MB`,
  );
}

function makeTokenizer(seed: number): Tokenizer {
  const random = randomStream(seed, "starter", "tokenizer");
  const texts: string[] = [];
  for (let i = 0; i < TOKENIZER_TEXTS; i++) {
    const drawn = drawProblem(FAMILIES[i % FAMILIES.length], "train", random);
    texts.push(drawn.problem.prompt[0].content, drawAnswer(drawn, random, MIXTURE));
  }
  const files = trainTokenizer(texts, PIECE_MINIMUM);
  return createTokenizer(files["tokenizer.json"], files["tokenizer_config.json"]);
}

function modelConfig(tokenizer: Tokenizer): ModelConfig {
  return {
    architecture: "qwen2",
    vocabSize: tokenizer.vocabSize,
    hiddenSize: 96,
    intermediateSize: 288,
    layers: 3,
    heads: 3,
    kvHeads: 3,
    headSize: 32,
    maxPositions: 256,
    ropeTheta: 10_000,
    ropeScaling: null,
    normEpsilon: 1e-6,
    tiedEmbeddings: true,
    attentionBias: true,
    bosTokenId: null,
    eosTokenIds: tokenizer.eosTokenIds,
    padTokenId: tokenizer.padTokenId,
  };
}

/** Random weights; what adds to the residual stream starts smaller, the more layers add to it. */
function startParameters(config: ModelConfig, seed: number): Parameters {
  const parameters = initialParameters(config, randomStream(seed, "starter", "weights"));
  const shrink = 1 / Math.sqrt(2 * config.layers);
  for (const name of parameters.names) {
    if (!/(o_proj|down_proj)\.weight$/.test(name)) continue;
    const weights = parameters.view(name);
    for (let i = 0; i < weights.length; i++) weights[i] *= shrink;
  }
  return parameters;
}

/** Mean negative log-probability of the answer's tokens. */
const answerLoss: LossBuilder = (graph, logits, { targets }) => ({
  loss: graph.neg(graph.reduceMean(graph.tokenLogprob(logits, targets))),
});

async function fit(
  config: ModelConfig,
  parameters: Parameters,
  tokenizer: Tokenizer,
  options: FitOptions,
): Promise<void> {
  const { steps, threads } = options;
  const model = await TrainableModel.create(config, parameters, {
    threads,
    kind: "policy",
    loss: answerLoss,
  });
  const m = new Float32Array(parameters.data.length);
  const v = new Float32Array(parameters.data.length);
  for (let step = 1; step <= steps; step++) {
    model.zeroGradients();
    const { loss } = await model.accumulate(packBatch(drawBatch(tokenizer, options, step)));
    const norm = clipByGlobalNorm(model.gradients, 1);
    adamWStep({
      params: parameters.data,
      gradients: model.gradients,
      m,
      v,
      step,
      lr: learningRate(options, step),
      betas: [0.9, 0.99],
      eps: 1e-8,
      weightDecay: 0.01,
    });
    if (step % 50 === 0 || step === 1) {
      console.log(`step ${step}: loss ${Number(loss).toFixed(3)}, gradient ${norm.toFixed(2)}`);
    }
  }
  await model.dispose();
}

function learningRate({ lr, warmupSteps, steps }: FitOptions, step: number): number {
  const cosine = 0.5 * (1 + Math.cos((Math.PI * step) / steps));
  return lr * Math.min(1, step / warmupSteps) * (0.05 + 0.95 * cosine);
}

function drawBatch(tokenizer: Tokenizer, { batch, seed }: FitOptions, step: number): Sequence[] {
  const random = randomStream(seed, "starter", "answers", step);
  return Array.from({ length: batch }, () => {
    const drawn = drawProblem(FAMILIES[random.integer(FAMILIES.length)], "train", random);
    const prompt = tokenizer.applyChatTemplate(drawn.problem.prompt, { addGenerationPrompt: true });
    const answer = tokenizer.encode(drawAnswer(drawn, random, MIXTURE));
    return { prompt, response: [...answer, tokenizer.eosTokenIds[0]] };
  });
}

await main();
