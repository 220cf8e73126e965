/**
 * Tables of rotary position embeddings: cosines and sines of every position's angles.
 *
 * Rounded to float32 at the steps at which transformers rounds, so that long positions agree.
 * Sources: https://arxiv.org/abs/2104.09864; transformers' modeling_rope_utils.py for the scalings.
 */
import { ConfigError } from "../core/errors.js";
import type { ModelConfig } from "./config.js";

/** cos and sin, each [length, headSize/2]. */
export interface RopeTables {
  length: number;
  cos: Float32Array;
  sin: Float32Array;
}

const LENGTH_MULTIPLE = 256;

/** Radians per position for each pair of a head, [headSize/2]. */
export function ropeFrequencies(config: ModelConfig): Float32Array {
  const { headSize, ropeTheta, ropeScaling } = config;
  return Float32Array.from({ length: headSize / 2 }, (_, i) => {
    const frequency = 1 / Math.fround(ropeTheta ** ((2 * i) / headSize));
    if (ropeScaling === null) return frequency;
    if (ropeScaling.type === "linear") return frequency / ropeScaling.factor;
    const { factor, lowFrequencyFactor, highFrequencyFactor, originalMaxPositions } = ropeScaling;
    const turns = (originalMaxPositions * frequency) / (2 * Math.PI);
    if (turns > highFrequencyFactor) return frequency;
    if (turns < lowFrequencyFactor) return frequency / factor;
    const share = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
    return ((1 - share) * frequency) / factor + share * frequency;
  });
}

/** Answers tables of at least the asked length, computed again only when they must grow. */
export function ropeTableSource(config: ModelConfig): (positions: number) => RopeTables {
  const frequencies = ropeFrequencies(config);
  let tables: RopeTables = { length: 0, cos: new Float32Array(), sin: new Float32Array() };
  return (positions) => {
    if (positions > config.maxPositions) {
      throw new ConfigError(
        `a sequence of ${positions} tokens exceeds the model's ${config.maxPositions} positions`,
      );
    }
    if (positions > tables.length) {
      tables = buildTables(frequencies, Math.ceil(positions / LENGTH_MULTIPLE) * LENGTH_MULTIPLE);
    }
    return tables;
  };
}

function buildTables(frequencies: Float32Array, length: number): RopeTables {
  const width = frequencies.length;
  const cos = new Float32Array(length * width);
  const sin = new Float32Array(length * width);
  for (let position = 0; position < length; position++) {
    for (let i = 0; i < width; i++) {
      const angle = Math.fround(position * frequencies[i]);
      cos[position * width + i] = Math.cos(angle);
      sin[position * width + i] = Math.sin(angle);
    }
  }
  return { length, cos, sin };
}
