/** What the tests of the model share: golden tensors and logits of whole rows. */
import { Graph } from "../src/autodiff/graph.js";
import { compile } from "../src/autodiff/session.js";
import { readFloatTensors } from "../src/formats/safetensors.js";
import { readSafetensorsHeader } from "../src/formats/safetensors-header.js";
import { packBatch } from "../src/model/batch.js";
import type { ModelConfig } from "../src/model/config.js";
import { batchFeeds, causalMaskSource, parameterFeeds, ropeFeeds } from "../src/model/feeds.js";
import type { Adapter } from "../src/model/lora.js";
import type { Parameters } from "../src/model/parameters.js";
import { ropeTableSource } from "../src/model/rope.js";
import {
  declareDecoderInputs,
  declareParameters,
  hiddenStates,
  logitsOf,
} from "../src/model/transformer.js";

/** The float32 tensors of a safetensors file. */
export async function readGolden(path: string): Promise<Map<string, Float32Array>> {
  const { tensors } = await readSafetensorsHeader(path);
  const wanted = [...tensors.values()]
    .filter(({ dtype }) => dtype === "F32")
    .map((tensor) => ({ tensor, target: new Float32Array(tensor.sizeBytes / 4) }));
  await readFloatTensors(path, wanted);
  return new Map(wanted.map(({ tensor, target }) => [tensor.name, target]));
}

/** Logits of every token of equally long rows, [B, T, V]. */
export async function logitsOfRows(
  config: ModelConfig,
  parameters: Parameters,
  rows: readonly (readonly number[])[],
  adapter: Adapter | null = null,
): Promise<Float32Array> {
  const graph = new Graph();
  const declared = declareParameters(graph, parameters, { gradient: false, adapter });
  const inputs = declareDecoderInputs(graph, config);
  const { hidden } = hiddenStates(graph, config, declared, inputs);
  graph.output(logitsOf(graph, config, declared, hidden), "logits");
  const compiled = await compile(graph, { threads: 2, arena: true });
  // A last token is only ever predicted, so one more is appended.
  const sequences = rows.map((row) => ({ prompt: row, response: [0] }));
  const batch = packBatch(sequences, { lengthMultiple: 1 });
  const { ids, positions } = batchFeeds(batch);
  const { logits } = await compiled.run(
    {
      ...parameterFeeds(parameters, adapter),
      ids,
      positions,
      mask: causalMaskSource()(batch.length),
      ...ropeFeeds(ropeTableSource(config)(batch.length)),
    },
    { logits: null },
  );
  await compiled.dispose();
  return logits.data as Float32Array;
}

/** The largest absolute difference of two arrays, Infinity if their lengths differ. */
export function largestDifference(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return Infinity;
  return a.reduce((worst, value, i) => Math.max(worst, Math.abs(value - b[i])), 0);
}

/** Euclidean norm. */
export function norm(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, x) => sum + x * x, 0));
}
