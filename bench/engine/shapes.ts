/** The sizes of the engine's bench. torch_baseline.py reads the same shapes from its arguments. */
import type { ModelConfig } from "../../src/model/config.js";

/** `shipped` is the shape of starter/model, `starter` has 2.5 M parameters, `135m` SmolLM2's shape. */
export const SIZES = ["shipped", "starter", "135m"] as const;
export type Size = (typeof SIZES)[number];

const SMALL = {
  trainBatch: 32,
  trainLength: 128,
  generateBatch: 64,
  promptLength: 16,
  newTokens: 96,
};

/** Batches: B sequences of T tokens to train on; prompts and new tokens to generate. */
export const SHAPES = {
  shipped: SMALL,
  starter: SMALL,
  "135m": { trainBatch: 4, trainLength: 128, generateBatch: 8, promptLength: 16, newTokens: 64 },
} as const;

const DECODERS = {
  shipped: {
    vocabSize: 1027,
    hiddenSize: 96,
    intermediateSize: 288,
    layers: 3,
    heads: 3,
    kvHeads: 3,
  },
  starter: {
    vocabSize: 512,
    hiddenSize: 192,
    intermediateSize: 512,
    layers: 6,
    heads: 6,
    kvHeads: 2,
  },
  "135m": {
    vocabSize: 49152,
    hiddenSize: 576,
    intermediateSize: 1536,
    layers: 30,
    heads: 9,
    kvHeads: 3,
  },
} as const;

/** The decoder of a size. */
export function modelConfig(size: Size): ModelConfig {
  const decoder = DECODERS[size];
  return {
    architecture: "llama",
    ...decoder,
    headSize: decoder.hiddenSize / decoder.heads,
    maxPositions: 2048,
    ropeTheta: 10_000,
    ropeScaling: null,
    normEpsilon: 1e-5,
    tiedEmbeddings: true,
    attentionBias: false,
    bosTokenId: null,
    eosTokenIds: [],
    padTokenId: null,
  };
}
