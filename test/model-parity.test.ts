/**
 * The decoder against transformers: tiny random models whose logits, gradients and greedy
 * continuations were written down by test/golden/engine/make.py.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { randomStream } from "../src/core/random.js";
import { readSafetensorsHeader } from "../src/formats/safetensors-header.js";
import { packBatch } from "../src/model/batch.js";
import {
  loadModelConfig,
  loadParameters,
  saveModelConfig,
  saveParameters,
} from "../src/model/weights.js";
import { parameterShapes } from "../src/model/config.js";
import { createAdapter, loadAdapter, mergeAdapter, saveAdapter } from "../src/model/lora.js";
import { Sampler } from "../src/model/sample.js";
import { TrainableModel } from "../src/model/trainable.js";
import { largestDifference, logitsOfRows, norm, readGolden } from "./model-fixtures.js";

const GOLDEN = fileURLToPath(new URL("golden/engine", import.meta.url));
const PROMPT_LENGTH = 5;

/** Golden tensors of a folder, with the token rows they belong to. */
async function loadRows(dir: string) {
  const path = join(dir, "golden.safetensors");
  const golden = await readGolden(path);
  const place = (await readSafetensorsHeader(path)).tensors.get("ids")!;
  const bytes = (await readFile(path)).subarray(place.offset, place.offset + place.sizeBytes);
  const [height, width] = place.shape;
  const idAt = (i: number) => Number(bytes.readBigInt64LE(8 * i));
  const rows = Array.from({ length: height }, (_, b) =>
    Array.from({ length: width }, (_, t) => idAt(b * width + t)),
  );
  const sequences = rows.map((row) => ({
    prompt: row.slice(0, PROMPT_LENGTH),
    response: row.slice(PROMPT_LENGTH),
  }));
  return { golden, rows, sequences };
}

async function loadGolden(name: string) {
  const dir = join(GOLDEN, name);
  const config = await loadModelConfig(dir);
  const parameters = await loadParameters(dir, parameterShapes(config));
  return { config, parameters, ...(await loadRows(dir)) };
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

describe("a LoRA adapter of PEFT", () => {
  const loadAdapted = async () => {
    const { config, parameters } = await loadGolden("qwen2");
    const dir = join(GOLDEN, "qwen2-lora");
    const { adapter, lora } = await loadAdapter(dir, config);
    return { config, parameters, adapter, lora, ...(await loadRows(dir)) };
  };

  test("gives PEFT's logits, beside the weights and merged into them", async () => {
    const { config, parameters, adapter, golden, rows } = await loadAdapted();
    const expected = golden.get("logits")!;
    const beside = await logitsOfRows(config, parameters, rows, adapter);
    expect(largestDifference(beside, expected)).toBeLessThan(1e-4);
    const merged = await logitsOfRows(config, mergeAdapter(parameters, adapter), rows);
    expect(largestDifference(merged, expected)).toBeLessThan(1e-4);
  });

  test("has PEFT's gradients, and none of the model's size", async () => {
    const { config, parameters, adapter, golden, sequences } = await loadAdapted();
    const model = await TrainableModel.create(config, parameters, {
      threads: 1,
      kind: "policy",
      adapter,
      loss: (graph, logits, { targets }) => ({
        loss: graph.neg(graph.reduceMean(graph.tokenLogprob(logits, targets))),
      }),
    });
    const { loss } = await model.accumulate(packBatch(sequences));
    expect(loss).toBeCloseTo(golden.get("loss")![0], 5);
    expect(model.gradients.length).toBe(adapter.parameters.data.length);
    for (const name of adapter.parameters.names) {
      const expected = golden.get(`gradient.${name}`)!;
      const ours = adapter.parameters.view(name, model.gradients);
      expect(largestDifference(ours, expected) / norm(expected), name).toBeLessThan(1e-4);
    }
    await model.dispose();
  });

  test("samples with the adapter as the merged model does", async () => {
    const { config, parameters, adapter, rows } = await loadAdapted();
    const request = {
      prompts: rows,
      maxNewTokens: 12,
      temperature: 0,
      stopTokenIds: [],
      uniforms: () => 0,
    };
    const beside = await Sampler.create(config, parameters, { threads: 1, adapter });
    const merged = await Sampler.create(config, mergeAdapter(parameters, adapter), { threads: 1 });
    const [a, b] = [await beside.generate(request), await merged.generate(request)];
    expect(a.map(({ tokens }) => tokens)).toEqual(b.map(({ tokens }) => tokens));
    await beside.dispose();
    await merged.dispose();
  });

  test("is the same after saving and loading", async () => {
    const { config, adapter, lora } = await loadAdapted();
    const dir = await mkdtemp(join(tmpdir(), "adapter-"));
    try {
      await saveAdapter(dir, adapter, lora);
      const again = await loadAdapter(dir, config);
      expect(again.lora).toEqual(lora);
      expect(again.adapter.scale).toBe(adapter.scale);
      expect(again.adapter.parameters.data).toEqual(adapter.parameters.data);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  test("of a stabilised rank keeps its scale, alpha / √r", async () => {
    const { config, adapter, lora } = await loadAdapted();
    const dir = await mkdtemp(join(tmpdir(), "adapter-"));
    try {
      await saveAdapter(dir, adapter, lora);
      const path = join(dir, "adapter_config.json");
      const file = JSON.parse(await readFile(path, "utf8")) as object;
      await writeFile(path, JSON.stringify({ ...file, use_rslora: true }));
      const stabilised = await loadAdapter(dir, config);
      expect(stabilised.adapter.scale).toBe(lora.alpha / Math.sqrt(lora.rank));
      await saveAdapter(dir, stabilised.adapter, stabilised.lora);
      const again = await loadAdapter(dir, config);
      expect(again.adapter.scale).toBeCloseTo(stabilised.adapter.scale, 12);
      await writeFile(path, JSON.stringify({ ...file, alpha_pattern: { q_proj: 1 } }));
      await expect(loadAdapter(dir, config)).rejects.toThrow(/alpha_pattern .*not supported/);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  test("changes nothing when it is new", async () => {
    const { config, parameters, rows } = await loadAdapted();
    const lora = { rank: 4, alpha: 8, targets: ["q_proj", "up_proj"] };
    const adapter = createAdapter(config, lora, randomStream("adapter"));
    const beside = await logitsOfRows(config, parameters, rows, adapter);
    const plain = await logitsOfRows(config, parameters, rows);
    expect(largestDifference(beside, plain)).toBe(0);
  });
});
