/**
 * Sampling: completions of prompts with their log-probabilities.
 *
 * Prompts of a batch are padded on the left to one length, masked, and count positions from their
 * first real token. Equal prompts are read once and their keys and values shared out.
 */
import type { Tensor } from "../autodiff/graph.js";
import {
  type CompiledGraph,
  compile,
  floatTensor,
  integerTensor,
  scalarTensor,
} from "../autodiff/session.js";
import { ConfigError } from "../core/errors.js";
import type { ModelConfig } from "./config.js";
import { MASKED, parameterFeeds, ropeFeeds } from "./feeds.js";
import { type ChoiceRule, loopGraph, prefillGraph } from "./generation-graph.js";
import type { Adapter } from "./lora.js";
import type { Parameters } from "./parameters.js";
import { ropeTableSource } from "./rope.js";

/** What to generate. */
export interface GenerateRequest {
  prompts: readonly (readonly number[])[];
  maxNewTokens: number;
  /** 0 takes the most likely token each time. */
  temperature: number;
  /** Share of the probability that candidates must hold, most likely first; 1 for all. */
  topP?: number;
  /** Number of most likely tokens that are candidates; null for all. */
  topK?: number | null;
  /** Tokens that end a completion; the token itself is part of it. */
  stopTokenIds: readonly number[];
  /** The number in [0, 1) that decides token `position` of completion `sequence`. */
  uniforms: (sequence: number, position: number) => number;
}

/** One completion. */
export interface Completion {
  tokens: number[];
  /**
   * [tokens.length] Under the model at the sampling temperature (1 when greedy), before candidates
   * were cut by topP or topK.
   */
  logprobs: Float32Array;
  finish: "stop" | "length";
}

/** Prompt lengths are rounded up to a multiple, so that few different shapes reach the runtime. */
const LENGTH_MULTIPLE = 8;
/** The largest float32 below 1 that leaves room for rounding in the product with a total. */
const LARGEST_UNIFORM = 0.999999;

/** A compiled generator. It reads the parameters as they are at each call. */
export class Sampler {
  readonly #config: ModelConfig;
  readonly #parameters: Parameters;
  readonly #adapter: Adapter | null;
  readonly #parameterFeeds: Record<string, Tensor>;
  readonly #ropeTables: ReturnType<typeof ropeTableSource>;
  readonly #threads: number;
  readonly #prefill: CompiledGraph;
  /** By choice rule; compiled at first use. */
  readonly #loops = new Map<string, Promise<CompiledGraph>>();

  private constructor(
    config: ModelConfig,
    parameters: Parameters,
    {
      threads,
      adapter,
      prefill,
    }: { threads: number; adapter: Adapter | null; prefill: CompiledGraph },
  ) {
    this.#config = config;
    this.#parameters = parameters;
    this.#adapter = adapter;
    this.#parameterFeeds = parameterFeeds(parameters, adapter);
    this.#ropeTables = ropeTableSource(config);
    this.#threads = threads;
    this.#prefill = prefill;
  }

  /** Compiles the prompt graph. The parameters are used where they lie, not copied. */
  static async create(
    config: ModelConfig,
    parameters: Parameters,
    { threads, adapter = null }: { threads: number; adapter?: Adapter | null },
  ): Promise<Sampler> {
    const prefill = await compile(prefillGraph(config, parameters, adapter), {
      threads,
      arena: false,
    });
    return new Sampler(config, parameters, { threads, adapter, prefill });
  }

  /**
   * Completes every prompt.
   *
   * @throws {ConfigError} if a setting is out of range or a prompt is empty.
   */
  async generate(request: GenerateRequest): Promise<Completion[]> {
    const { prompts, maxNewTokens } = request;
    checkRequest(request);
    if (prompts.length === 0) return [];
    const longest = Math.max(...prompts.map((prompt) => prompt.length));
    // The loop reads the last prompt token; the cache needs at least one column before it.
    const past = Math.max(1, Math.ceil((longest - 1) / LENGTH_MULTIPLE)) * LENGTH_MULTIPLE;
    const rope = ropeFeeds(this.#ropeTables(longest + maxNewTokens));
    const cache = await this.#readPrompts(prompts, past, rope);
    const loop = await this.#loop(ruleOf(request, this.#config.vocabSize));
    const results = await loop.run(
      { ...this.#parameterFeeds, ...rope, ...cache, ...loopFeeds(request, past) },
      { tokens: null, logprobs: null },
    );
    const rounds = results.tokens.shape[0];
    const tokens = results.tokens.data as BigInt64Array;
    const logprobs = results.logprobs.data as Float32Array;
    const stops = new Set(request.stopTokenIds);
    return prompts.map((_, b) => completionOf(b, { rounds, tokens, logprobs, stops, prompts }));
  }

  /** Gives the native memory back. */
  async dispose(): Promise<void> {
    await this.#prefill.dispose();
    for (const loop of this.#loops.values()) await (await loop).dispose();
  }

  #loop(rule: ChoiceRule): Promise<CompiledGraph> {
    const key = JSON.stringify(rule);
    let loop = this.#loops.get(key);
    if (loop === undefined) {
      const graph = loopGraph(this.#config, this.#parameters, {
        rule,
        adapter: this.#adapter,
      });
      loop = compile(graph, { threads: this.#threads, arena: true, threadsWait: "briefly" });
      this.#loops.set(key, loop);
    }
    return loop;
  }

  /** Keys and values of all but the last token of each prompt, [B, kvHeads, past, headSize]. */
  async #readPrompts(
    prompts: readonly (readonly number[])[],
    past: number,
    rope: Record<string, Tensor>,
  ): Promise<Record<string, Tensor>> {
    const distinct = new Map<string, number>();
    const sources = prompts.map((prompt) => {
      const key = prompt.join();
      const source = distinct.get(key) ?? distinct.size;
      distinct.set(key, source);
      return source;
    });
    const firsts = Array.from({ length: distinct.size }, (_, i) => prompts[sources.indexOf(i)]);
    const names = Array.from({ length: this.#config.layers }, (_, layer) => layer).flatMap(
      (layer) => [`key_${layer}`, `value_${layer}`],
    );
    const cache = await this.#prefill.run(
      { ...this.#parameterFeeds, ...rope, ...promptFeeds(firsts, past) },
      Object.fromEntries(names.map((name) => [name, null])),
    );
    if (firsts.length === prompts.length) return cache;
    return Object.fromEntries(
      Object.entries(cache).map(([name, tensor]) => [name, repeatRows(tensor, sources)]),
    );
  }
}

function checkRequest({ prompts, maxNewTokens, temperature, topP, topK }: GenerateRequest): void {
  const expect = (holds: boolean, what: string, found: unknown) => {
    if (!holds) throw new ConfigError(`generation needs ${what}, got ${String(found)}`);
  };
  expect(temperature >= 0, "a temperature of at least 0", temperature);
  expect(Number.isInteger(maxNewTokens) && maxNewTokens > 0, "1 or more new tokens", maxNewTokens);
  expect(topP === undefined || (topP > 0 && topP <= 1), "topP in (0, 1]", topP);
  expect(topK === undefined || topK === null || topK > 0, "topK of at least 1", topK);
  const empty = prompts.findIndex((prompt) => prompt.length === 0);
  expect(empty === -1, "a token in every prompt", `none in prompt ${empty}`);
}

function ruleOf({ temperature, topP, topK }: GenerateRequest, vocabSize: number): ChoiceRule {
  if (temperature === 0) return { kind: "greedy" };
  if ((topP ?? 1) === 1 && (topK ?? vocabSize) >= vocabSize) return { kind: "full" };
  return { kind: "truncated", candidates: Math.min(topK ?? vocabSize, vocabSize) };
}

/** Inputs of the prompt graph: B prompts right-aligned in `past` columns, last tokens left out. */
function promptFeeds(prompts: readonly (readonly number[])[], past: number) {
  const size = prompts.length;
  const ids = new BigInt64Array(size * past);
  const positions = new BigInt64Array(size * past);
  const mask = new Float32Array(size * past * past);
  prompts.forEach((prompt, b) => {
    const padding = past - (prompt.length - 1);
    for (let t = 0; t < past; t++) {
      const row = b * past + t;
      if (t >= padding) {
        ids[row] = BigInt(prompt[t - padding]);
        positions[row] = BigInt(t - padding);
      }
      mask.fill(MASKED, row * past, row * past + padding);
      mask.fill(MASKED, row * past + t + 1, (row + 1) * past);
    }
  });
  return {
    ids: integerTensor(ids),
    positions: integerTensor(positions, [size, past]),
    mask: floatTensor(mask, [size, 1, past, past]),
  };
}

/** Inputs of the loop graph besides parameters, tables and cache. */
function loopFeeds(request: GenerateRequest, past: number): Record<string, Tensor> {
  const { prompts, maxNewTokens, temperature, topP = 1, stopTokenIds, uniforms } = request;
  const size = prompts.length;
  const mask = new Float32Array(size * (past + 1));
  prompts.forEach((prompt, b) => {
    const start = b * (past + 1);
    mask.fill(MASKED, start, start + past - (prompt.length - 1));
  });
  const numbers = new Float32Array(maxNewTokens * size);
  if (temperature > 0) {
    for (let position = 0; position < maxNewTokens; position++) {
      for (let b = 0; b < size; b++) {
        numbers[position * size + b] = Math.min(uniforms(b, position), LARGEST_UNIFORM);
      }
    }
  }
  // No token has the id -1, so an empty list of stops stops nothing.
  const stops = stopTokenIds.length === 0 ? [-1] : stopTokenIds;
  const count = BigInt64Array.of(BigInt(maxNewTokens));
  return {
    ids: integerTensor(BigInt64Array.from(prompts, (prompt) => BigInt(prompt[prompt.length - 1]))),
    positions: integerTensor(
      BigInt64Array.from(prompts, (prompt) => BigInt(prompt.length - 1)),
      [size, 1],
    ),
    done: { dtype: "bool", shape: [size], data: new Uint8Array(size) },
    mask: floatTensor(mask, [size, 1, 1, past + 1]),
    temperature: scalarTensor(temperature === 0 ? 1 : temperature),
    top_p: scalarTensor(topP),
    uniforms: floatTensor(numbers, [maxNewTokens, size]),
    stops: integerTensor(BigInt64Array.from(stops.map(BigInt)), [1, stops.length]),
    rounds: integerTensor(count, []),
  };
}

/** Rows of a tensor in the order of `sources`, which may repeat. */
function repeatRows({ shape, data }: Tensor, sources: readonly number[]): Tensor {
  const width = data.length / shape[0];
  const repeated = new Float32Array(sources.length * width);
  sources.forEach((source, b) => {
    const row = (data as Float32Array).subarray(source * width, (source + 1) * width);
    repeated.set(row, b * width);
  });
  return floatTensor(repeated, [sources.length, ...shape.slice(1)]);
}

interface LoopResults {
  rounds: number;
  tokens: BigInt64Array;
  logprobs: Float32Array;
  stops: ReadonlySet<number>;
  prompts: readonly unknown[];
}

function completionOf(
  sequence: number,
  { rounds, tokens, logprobs, stops, prompts }: LoopResults,
): Completion {
  const chosen: number[] = [];
  let finish: Completion["finish"] = "length";
  for (let round = 0; round < rounds && finish === "length"; round++) {
    const token = Number(tokens[round * prompts.length + sequence]);
    chosen.push(token);
    if (stops.has(token)) finish = "stop";
  }
  const own = chosen.map((_, round) => logprobs[round * prompts.length + sequence]);
  return { tokens: chosen, logprobs: Float32Array.from(own), finish };
}
