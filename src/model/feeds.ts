/** What a packed batch and a model's parameters are fed as. */
import { floatTensor, integerTensor } from "../autodiff/session.js";
import type { Tensor } from "../autodiff/value.js";
import type { TrainBatch } from "./batch.js";
import type { Adapter } from "./lora.js";
import type { Parameters } from "./parameters.js";
import type { RopeTables } from "./rope.js";

/** A score that no softmax lets through, finite so that a row without any key gives no NaN. */
export const MASKED = -1e9;

/**
 * A tensor for each parameter, over the parameters' own memory, so that later changes are seen; an
 * adapter's tensors go beside the frozen ones or in their place.
 */
export function parameterFeeds(
  parameters: Parameters,
  adapter: Adapter | null = null,
): Record<string, Tensor> {
  const feeds: Record<string, Tensor> = {};
  for (const source of adapter === null ? [parameters] : [parameters, adapter.parameters]) {
    for (const name of source.names) {
      feeds[name] = floatTensor(source.view(name), source.shape(name));
    }
  }
  return feeds;
}

/** Rotary tables as the inputs cos and sin. */
export function ropeFeeds({ cos, sin, length }: RopeTables): Record<string, Tensor> {
  const shape = [length, cos.length / length];
  return { cos: floatTensor(cos, shape), sin: floatTensor(sin, shape) };
}

/** Answers the causal mask [length, length], made once per length. */
export function causalMaskSource(): (length: number) => Tensor {
  const known = new Map<number, Tensor>();
  return (length) => {
    let mask = known.get(length);
    if (mask === undefined) {
      const data = new Float32Array(length * length);
      for (let t = 0; t < length; t++) data.fill(MASKED, t * length + t + 1, (t + 1) * length);
      mask = floatTensor(data, [length, length]);
      known.set(length, mask);
    }
    return mask;
  };
}

/** A batch as the inputs ids, positions, rows and targets. */
export function batchFeeds(batch: TrainBatch): Record<string, Tensor> {
  return {
    ids: integerTensor(batch.ids),
    positions: integerTensor(batch.positions, [batch.size, batch.length]),
    rows: integerTensor(batch.rows),
    targets: integerTensor(batch.targets),
  };
}
