/**
 * The decoder against transformers: tiny random models whose logits, gradients and greedy
 * continuations were written down by test/golden/engine/make.py.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { readSafetensorsHeader } from "../src/formats/safetensors-header.js";
import { packBatch } from "../src/model/batch.js";
import {
  loadModelConfig,
  loadParameters,
  saveModelConfig,
  saveParameters,
} from "../src/model/weights.js";
import { parameterShapes } from "../src/model/config.js";
import { Sampler } from "../src/model/sample.js";
import { TrainableModel } from "../src/model/trainable.js";
import { largestDifference, logitsOfRows, norm, readGolden } from "./model-fixtures.js";

const GOLDEN = fileURLToPath(new URL("golden/engine", import.meta.url));
const PROMPT_LENGTH = 5;

async function loadGolden(name: string) {
  const dir = join(GOLDEN, name);
  const config = await loadModelConfig(dir);
  const parameters = await loadParameters(dir, parameterShapes(config));
  const path = join(dir, "golden.safetensors");
  const golden = await readGolden(path);
  const { ids: place } = Object.fromEntries((await readSafetensorsHeader(path)).tensors);
  const bytes = (await readFile(path)).subarray(place.offset, place.offset + place.sizeBytes);
  const flat = Array.from({ length: bytes.length / 8 }, (_, i) =>
    Number(bytes.readBigInt64LE(8 * i)),
  );
  const width = place.shape[1];
  const rows = Array.from({ length: place.shape[0] }, (_, b) =>
    flat.slice(b * width, (b + 1) * width),
  );
  const sequences = rows.map((row) => ({
    prompt: row.slice(0, PROMPT_LENGTH),
    response: row.slice(PROMPT_LENGTH),
  }));
  return { config, parameters, golden, rows, sequences };
}

describe.each(["qwen2", "llama"])("a %s model", (name) => {
  test("has transformers' logits within 1e-4", async () => {
    const { config, parameters, golden, rows } = await loadGolden(name);
    const logits = await logitsOfRows(config, parameters, rows);
    expect(largestDifference(logits, golden.get("logits")!)).toBeLessThan(1e-4);
  });

  test("has transformers' gradient of every parameter within 1e-4 of its norm", async () => {
    const { config, parameters, golden, sequences } = await loadGolden(name);
    const model = await TrainableModel.create(config, parameters, {
      threads: 1,
      kind: "policy",
      loss: (graph, logits, { targets }) => ({
        loss: graph.neg(graph.reduceMean(graph.tokenLogprob(logits, targets))),
      }),
    });
    const { loss } = await model.accumulate(packBatch(sequences));
    expect(loss).toBeCloseTo(golden.get("loss")![0], 5);
    for (const parameter of parameters.names) {
      const expected = golden.get(`gradient.${parameter}`)!;
      const ours = parameters.view(parameter, model.gradients);
      const relative = largestDifference(ours, expected) / norm(expected);
      expect(relative, parameter).toBeLessThan(1e-4);
    }
    await model.dispose();
  });

  test("adds up the gradients of micro-batches", async () => {
    const { config, parameters, sequences } = await loadGolden(name);
    const model = await TrainableModel.create(config, parameters, {
      threads: 1,
      kind: "policy",
      loss: (graph, logits, { targets }) => ({
        loss: graph.neg(graph.reduceSum(graph.tokenLogprob(logits, targets))),
      }),
    });
    await model.accumulate(packBatch(sequences));
    const whole = model.gradients.slice();
    model.zeroGradients();
    for (const sequence of sequences) await model.accumulate(packBatch([sequence]));
    expect(largestDifference(model.gradients, whole) / norm(whole)).toBeLessThan(1e-5);
    await model.dispose();
  });

  test("continues ragged prompts greedily with transformers' tokens", async () => {
    const { config, parameters } = await loadGolden(name);
    const { prompts, greedy } = JSON.parse(
      await readFile(join(GOLDEN, name, "greedy.json"), "utf8"),
    ) as { prompts: number[][]; greedy: number[][] };
    const sampler = await Sampler.create(config, parameters, { threads: 1 });
    const completions = await sampler.generate({
      prompts,
      maxNewTokens: greedy[0].length,
      temperature: 0,
      stopTokenIds: [],
      uniforms: () => 0,
    });
    expect(completions.map(({ tokens }) => tokens)).toEqual(greedy);
    await sampler.dispose();
  });

  test("is the same after saving in shards and loading", async () => {
    const { config, parameters } = await loadGolden(name);
    const dir = await mkdtemp(join(tmpdir(), "model-"));
    try {
      await saveModelConfig(dir, config, "F32");
      await saveParameters(dir, parameters, { dtype: "F32", shardBytes: 4000 });
      expect(await loadModelConfig(dir)).toEqual(config);
      const again = await loadParameters(dir, parameterShapes(config));
      expect(again.data).toEqual(parameters.data);
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});
