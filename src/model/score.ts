/**
 * Scoring without gradients: log-probabilities and entropies of responses under a policy, values
 * under a critic. The graph holds the forward pass only.
 */
import { Graph, type Tensor } from "../autodiff/graph.js";
import { type CompiledGraph, compile, scalarTensor } from "../autodiff/session.js";
import { microBatches, packBatch, type Sequence } from "./batch.js";
import type { ModelConfig } from "./config.js";
import { batchFeeds, causalMaskSource, parameterFeeds, ropeFeeds } from "./feeds.js";
import type { Adapter, AdapterShapes } from "./lora.js";
import type { Parameters, ParameterShapes } from "./parameters.js";
import { ropeTableSource } from "./rope.js";
import { declareDecoderInputs, declareParameters, hiddenStates, logitsOf } from "./transformer.js";
import { valuesOf } from "./value-head.js";

/** How a scorer is made. */
export interface ScorerOptions {
  threads: number;
  kind: "policy" | "critic";
  adapter?: Adapter | null;
}

/** A compiled forward pass over sequences. It reads the parameters as they are at each call. */
export class Scorer {
  readonly #graph: CompiledGraph;
  readonly #kind: "policy" | "critic";
  readonly #parameterFeeds: Record<string, Tensor>;
  readonly #ropeTables: ReturnType<typeof ropeTableSource>;
  readonly #causalMask = causalMaskSource();

  private constructor(
    graph: CompiledGraph,
    kind: "policy" | "critic",
    { config, feeds }: { config: ModelConfig; feeds: Record<string, Tensor> },
  ) {
    this.#graph = graph;
    this.#kind = kind;
    this.#parameterFeeds = feeds;
    this.#ropeTables = ropeTableSource(config);
  }

  /** Builds and compiles the graph. The parameters are used where they lie, not copied. */
  static async create(
    config: ModelConfig,
    parameters: Parameters,
    { threads, kind, adapter = null }: ScorerOptions,
  ): Promise<Scorer> {
    const graph = scoreGraph(config, parameters, { kind, adapter });
    const feeds = parameterFeeds(parameters, adapter);
    return new Scorer(await compile(graph, { threads, arena: false }), kind, { config, feeds });
  }

  /**
   * Log-probabilities of the response tokens at a temperature, and the entropies of the
   * distributions they were drawn from, in nats; both [R], in the order of the sequences.
   */
  async scorePolicy(
    sequences: readonly Sequence[],
    { temperature, microBatchTokens }: { temperature: number; microBatchTokens: number },
  ): Promise<{ logprobs: Float32Array; entropies: Float32Array }> {
    const extra = { temperature: scalarTensor(temperature) };
    const results = await this.#score(sequences, microBatchTokens, extra);
    return { logprobs: results.logprobs, entropies: results.entropies };
  }

  /** Values of the states in which the response tokens were chosen, [R]. */
  async scoreCritic(
    sequences: readonly Sequence[],
    { microBatchTokens }: { microBatchTokens: number },
  ): Promise<{ values: Float32Array }> {
    const results = await this.#score(sequences, microBatchTokens, {});
    return { values: results.values };
  }

  /** Gives the native memory back. */
  async dispose(): Promise<void> {
    await this.#graph.dispose();
  }

  async #score(
    sequences: readonly Sequence[],
    microBatchTokens: number,
    extra: Record<string, Tensor>,
  ): Promise<Record<string, Float32Array>> {
    const starts = responseStarts(sequences);
    const names = this.#kind === "critic" ? ["values"] : ["logprobs", "entropies"];
    const results = Object.fromEntries(
      names.map((name) => [name, new Float32Array(starts[sequences.length])]),
    );
    for (const indices of microBatches(sequences, microBatchTokens)) {
      const batch = packBatch(indices.map((index) => sequences[index]));
      const { targets, ...feeds } = batchFeeds(batch);
      const found = await this.#graph.run(
        {
          ...this.#parameterFeeds,
          ...feeds,
          ...(this.#kind === "policy" ? { targets } : {}),
          ...ropeFeeds(this.#ropeTables(batch.length)),
          ...extra,
          mask: this.#causalMask(batch.length),
        },
        Object.fromEntries(names.map((name) => [name, null])),
      );
      let from = 0;
      for (const index of indices) {
        const to = from + sequences[index].response.length;
        for (const name of names) {
          const part = (found[name].data as Float32Array).subarray(from, to);
          results[name].set(part, starts[index]);
        }
        from = to;
      }
    }
    return results;
  }
}

/** Builds the forward pass; no weights are needed. */
export function scoreGraph(
  config: ModelConfig,
  parameters: ParameterShapes,
  { kind, adapter }: { kind: "policy" | "critic"; adapter: AdapterShapes | null },
): Graph {
  const graph = new Graph();
  const declared = declareParameters(graph, parameters, { gradient: false, adapter });
  const inputs = declareDecoderInputs(graph, config);
  const rows = graph.input("rows", "i64", ["R"]);
  const { hidden } = hiddenStates(graph, config, declared, inputs);
  const chosen = graph.gatherRows(hidden, rows);
  if (kind === "critic") graph.output(valuesOf(graph, declared, chosen), "values");
  else {
    const targets = graph.input("targets", "i64", ["R"]);
    const temperature = graph.input("temperature", "f32", []);
    const logits = graph.div(logitsOf(graph, config, declared, chosen), temperature);
    graph.output(graph.tokenLogprob(logits, targets), "logprobs");
    graph.output(graph.entropy(logits), "entropies");
  }
  return graph;
}

/** Where each sequence's response tokens start in an array of all; the last entry is their number. */
export function responseStarts(sequences: readonly Sequence[]): number[] {
  const starts = [0];
  for (const { response } of sequences) starts.push(starts[starts.length - 1] + response.length);
  return starts;
}
