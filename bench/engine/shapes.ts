/** The two sizes of the engine's bench. torch_baseline.py reads the same shapes from its arguments. */
import type { ModelConfig } from "../../src/model/config.js";

/** A model of 2.5 M parameters, and one of SmolLM2's shape. */
export type Size = "starter" | "135m";

/** Batches: B sequences of T tokens to train on; prompts and new tokens to generate. */
export const SHAPES = {
  starter: { trainBatch: 32, trainLength: 128, generateBatch: 64, promptLength: 16, newTokens: 96 },
  "135m": { trainBatch: 4, trainLength: 128, generateBatch: 8, promptLength: 16, newTokens: 64 },
} as const;

const DECODERS = {
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
