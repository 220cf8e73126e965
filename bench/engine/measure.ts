/**
 * One measurement of the engine in a process of its own, so that its peak memory is its own:
 * `measure.ts TASK SIZE THREADS REPEATS`. Prints {"seconds": [...], "peakBytes": n}.
 */
import { readFileSync } from "node:fs";
import { randomStream } from "../../src/core/random.js";
import { Graph } from "../../src/autodiff/graph.js";
import { compile, floatTensor } from "../../src/autodiff/session.js";
import { packBatch } from "../../src/model/batch.js";
import { initialParameters } from "../../src/model/parameters.js";
import { Sampler } from "../../src/model/sample.js";
import { TrainableModel } from "../../src/model/trainable.js";
import { adamWStep } from "../../src/train/adam.js";
import { modelConfig, SHAPES, type Size } from "./shapes.js";

const [task, size, threadsText, repeatsText] = process.argv.slice(2);
const [threads, repeats] = [Number(threadsText), Number(repeatsText)];
const stream = randomStream("bench", 1);

/** Forward, backward and AdamW of one batch. */
async function trainStep(size: Size): Promise<() => Promise<void>> {
  const config = modelConfig(size);
  const { trainBatch, trainLength } = SHAPES[size];
  const parameters = initialParameters(config, stream);
  const model = await TrainableModel.create(config, parameters, {
    threads,
    kind: "policy",
    loss: (graph, logits, { targets }) => ({
      loss: graph.neg(graph.reduceMean(graph.tokenLogprob(logits, targets))),
    }),
  });
  const token = () => stream.integer(config.vocabSize);
  const batch = packBatch(
    Array.from({ length: trainBatch }, () => ({
      prompt: [token()],
      response: Array.from({ length: trainLength }, token),
    })),
  );
  const [m, v] = [parameters.data, parameters.data].map(({ length }) => new Float32Array(length));
  let step = 0;
  return async () => {
    model.zeroGradients();
    await model.accumulate(batch);
    adamWStep({
      params: parameters.data,
      gradients: model.gradients,
      m,
      v,
      step: ++step,
      lr: 1e-5,
      betas: [0.9, 0.999],
      eps: 1e-8,
      weightDecay: 0.01,
    });
  };
}

/** Sampling of one batch, prompts included. */
async function generation(size: Size): Promise<() => Promise<void>> {
  const config = modelConfig(size);
  const { promptLength, generateBatch, newTokens } = SHAPES[size];
  const sampler = await Sampler.create(config, initialParameters(config, stream), { threads });
  const prompts = Array.from({ length: generateBatch }, () =>
    Array.from({ length: promptLength }, () => stream.integer(config.vocabSize)),
  );
  return async () => {
    await sampler.generate({
      prompts,
      maxNewTokens: newTokens,
      temperature: 1,
      stopTokenIds: [],
      uniforms: () => stream.next(),
    });
  };
}

/** One product of two square matrices, for the machine's peak. */
async function product(side: number): Promise<() => Promise<void>> {
  const graph = new Graph();
  const [a, b] = ["a", "b"].map((name) => graph.input(name, "f32", [side, side]));
  graph.output(graph.linear(a, b), "y");
  const compiled = await compile(graph, { threads, arena: true });
  const data = () =>
    floatTensor(
      Float32Array.from({ length: side * side }, () => stream.next()),
      [side, side],
    );
  const feeds = { a: data(), b: data() };
  const fetches = { y: new Float32Array(side * side) };
  return async () => {
    await compiled.run(feeds, fetches);
  };
}

const once = await (task === "train"
  ? trainStep(size as Size)
  : task === "generate"
    ? generation(size as Size)
    : product(Number(size)));
for (let i = 0; i < 2; i++) await once();
const seconds: number[] = [];
for (let i = 0; i < repeats; i++) {
  const start = performance.now();
  await once();
  seconds.push((performance.now() - start) / 1000);
}
const status = readFileSync("/proc/self/status", "utf8");
const peakBytes = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024;
console.log(JSON.stringify({ seconds, peakBytes }));
