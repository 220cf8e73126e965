/**
 * A model that can be trained: one graph of forward pass, a loss of the caller's, and the gradient.
 *
 * Gradients are written by the runtime into one array laid out like the parameters. Micro-batches
 * add up in it; the caller's optimizer then changes the parameters, which the next run reads.
 */
import { gradients } from "../autodiff/gradient.js";
import { Graph, type Tensor, type Value } from "../autodiff/graph.js";
import { type CompiledGraph, compile, floatTensor, scalarTensor } from "../autodiff/session.js";
import { ConfigError } from "../core/errors.js";
import type { TrainBatch } from "./batch.js";
import { EMBEDDING, type ModelConfig } from "./config.js";
import { batchFeeds, causalMaskSource, parameterFeeds, ropeFeeds } from "./feeds.js";
import type { Adapter, AdapterShapes } from "./lora.js";
import type { Parameters, ParameterShapes } from "./parameters.js";
import { ropeTableSource } from "./rope.js";
import { declareDecoderInputs, declareParameters, hiddenStates, logitsOf } from "./transformer.js";
import { valuesOf } from "./value-head.js";

/** What may be fed to an input: a tensor, a vector, or a number. */
export type Feed = Tensor | Float32Array | number;

/**
 * Builds the loss on top of a model's head: logits [R, V] of a policy, values [R] of a critic.
 *
 * It may declare inputs of its own on the graph, e.g. `graph.input("advantages", "f32", ["R"])`;
 * they are fed by name with each batch. `outputs` are computed beside the loss and answered.
 */
export type LossBuilder = (
  graph: Graph,
  head: Value,
  batch: { targets: Value },
) => { loss: Value; outputs?: Record<string, Value> };

/** How a trainable model is made. */
export interface TrainableOptions {
  threads: number;
  kind: "policy" | "critic";
  loss: LossBuilder;
  /** Trained instead of the parameters, which then stay as they are. */
  adapter?: Adapter | null;
  /** Keep each layer's input only, and compute the layer again for its gradient. */
  checkpointing?: boolean;
}

const GRADIENT = "gradient.";
/** Output [B*T, D]; the embedding's rows add it up outside the graph. */
const EMBEDDED_GRADIENT = "embedded_gradient";

/** A compiled model with its gradients. */
export class TrainableModel {
  /** What is trained: the model's parameters, or its adapter's. */
  readonly parameters: Parameters;
  /** Laid out like `parameters.data`; the sum over the batches since the last reset. */
  readonly gradients: Float32Array;
  readonly #graph: CompiledGraph;
  readonly #outputs: readonly string[];
  readonly #extraInputs: readonly string[];
  readonly #parameterFeeds: Record<string, Tensor>;
  readonly #ropeTables: ReturnType<typeof ropeTableSource>;
  readonly #causalMask = causalMaskSource();
  /** Targets of the gradient outputs: the sum itself, and a second array for what is added to it. */
  readonly #sumTargets: Record<string, Tensor>;
  readonly #gradientNames: readonly string[];
  #partTargets: Record<string, Tensor> | null = null;
  #part: Float32Array | null = null;
  #isZero = true;
  readonly #hasEmbedding: boolean;

  private constructor(
    graph: Graph,
    compiled: CompiledGraph,
    {
      config,
      trained,
      feeds,
      ownInputs,
    }: {
      config: ModelConfig;
      trained: Parameters;
      feeds: Record<string, Tensor>;
      ownInputs: ReadonlySet<string>;
    },
  ) {
    this.parameters = trained;
    this.gradients = new Float32Array(trained.data.length);
    this.#graph = compiled;
    this.#outputs = graph.outputs
      .map(({ name }) => name)
      .filter((n) => !n.startsWith(GRADIENT) && n !== EMBEDDED_GRADIENT);
    this.#extraInputs = graph.inputs.map(({ name }) => name).filter((n) => !ownInputs.has(n));
    this.#parameterFeeds = feeds;
    this.#ropeTables = ropeTableSource(config);
    this.#gradientNames = graph.outputs
      .map(({ name }) => name)
      .filter((name) => name.startsWith(GRADIENT))
      .map((name) => name.slice(GRADIENT.length));
    this.#sumTargets = gradientTargets(trained, this.#gradientNames, this.gradients);
    this.#hasEmbedding = graph.outputs.some(({ name }) => name === EMBEDDED_GRADIENT);
  }

  /** Builds and compiles the graph. The parameters are used where they lie, not copied. */
  static async create(
    config: ModelConfig,
    parameters: Parameters,
    options: TrainableOptions,
  ): Promise<TrainableModel> {
    const { threads, adapter = null, checkpointing = false } = options;
    const { graph, ownInputs } = trainGraph(config, parameters, options);
    const compiled = await compile(graph, { threads, arena: true, keepCopies: checkpointing });
    const trained = adapter?.parameters ?? parameters;
    const feeds = parameterFeeds(parameters, adapter);
    return new TrainableModel(graph, compiled, { config, trained, feeds, ownInputs });
  }

  /**
   * Runs forward and backward once and adds to `gradients`.
   *
   * `extraFeeds` holds the inputs that the loss declared.
   *
   * @returns `loss` and the loss's outputs: numbers for those without dimensions.
   * @throws {ConfigError} if an input of the loss is missing.
   */
  async accumulate(
    batch: TrainBatch,
    extraFeeds: Readonly<Record<string, Feed>> = {},
  ): Promise<Record<string, number | Float32Array>> {
    const feeds: Record<string, Tensor> = {
      ...this.#parameterFeeds,
      ...batchFeeds(batch),
      ...ropeFeeds(this.#ropeTables(batch.length)),
      mask: this.#causalMask(batch.length),
    };
    for (const name of this.#extraInputs) feeds[name] = toTensor(name, extraFeeds[name]);
    const fetches: Record<string, Tensor | null> = { ...this.#targets() };
    for (const name of this.#outputs) fetches[name] = null;
    if (this.#hasEmbedding) fetches[EMBEDDED_GRADIENT] = null;
    const results = await this.#graph.run(feeds, fetches);
    if (!this.#isZero && this.#part !== null) addInto(this.gradients, this.#part);
    this.#isZero = false;
    if (this.#hasEmbedding) this.#addEmbeddingRows(batch.ids, results[EMBEDDED_GRADIENT]);
    return Object.fromEntries(
      this.#outputs.map((name) => {
        const { shape, data } = results[name];
        return [name, shape.length === 0 ? Number(data[0]) : (data as Float32Array)];
      }),
    );
  }

  /** Starts a new sum. */
  zeroGradients(): void {
    this.gradients.fill(0);
    this.#isZero = true;
  }

  /** Gives the native memory back. */
  async dispose(): Promise<void> {
    await this.#graph.dispose();
  }

  /** A row of the embedding gets the gradient of every token that was looked up in it. */
  #addEmbeddingRows(ids: BigInt64Array, { data }: Tensor): void {
    const rows = data as Float32Array;
    const table = this.parameters.view(EMBEDDING, this.gradients);
    const width = rows.length / ids.length;
    for (let i = 0; i < ids.length; i++) {
      const start = Number(ids[i]) * width;
      for (let k = 0; k < width; k++) table[start + k] += rows[i * width + k];
    }
  }

  /** The first batch writes into the sum itself, so one batch per update needs no second array. */
  #targets(): Record<string, Tensor> {
    if (this.#isZero) return this.#sumTargets;
    this.#part ??= new Float32Array(this.gradients.length);
    this.#partTargets ??= gradientTargets(this.parameters, this.#gradientNames, this.#part);
    return this.#partTargets;
  }
}

/** A graph's options as far as its shape goes: no weights are needed. */
export type TrainGraphOptions = Omit<TrainableOptions, "threads" | "adapter"> & {
  adapter?: AdapterShapes | null;
};

/**
 * Builds forward pass, loss and gradients as one graph, with the names of the inputs that are not
 * the loss's own.
 */
export function trainGraph(
  config: ModelConfig,
  parameters: ParameterShapes,
  { kind, loss: buildLoss, adapter = null, checkpointing = false }: TrainGraphOptions,
): { graph: Graph; ownInputs: Set<string> } {
  const graph = new Graph();
  const declared = declareParameters(graph, parameters, { gradient: true, adapter });
  const inputs = declareDecoderInputs(graph, config);
  const rows = graph.input("rows", "i64", ["R"]);
  const targets = graph.input("targets", "i64", ["R"]);
  const ownInputs = new Set(graph.inputs.map(({ name }) => name));
  const { hidden, stream } = hiddenStates(graph, config, declared, inputs);
  const chosen = graph.gatherRows(hidden, rows, { distinct: true });
  const head =
    kind === "critic"
      ? valuesOf(graph, declared, chosen)
      : logitsOf(graph, config, declared, chosen);
  const { loss, outputs = {} } = buildLoss(graph, head, { targets });
  graph.output(loss, "loss");
  for (const [name, value] of Object.entries(outputs)) graph.output(value, name);
  const trained = adapter?.parameters ?? parameters;
  const checkpoints = checkpointing ? stream : [];
  declareGradients(graph, { loss, embedded: stream[0], trained, checkpoints, kind, config });
  return { graph, ownInputs };
}

/**
 * Adds the gradient outputs. The embedding's lookup is left out: its gradient is a table of the
 * vocabulary's size for a few rows, and is summed into the array of gradients directly. What remains
 * is the part through a tied head, if there is one.
 */
function declareGradients(
  graph: Graph,
  {
    loss,
    embedded,
    trained,
    checkpoints,
    kind,
    config,
  }: {
    loss: Value;
    embedded: Value;
    trained: ParameterShapes;
    checkpoints: readonly Value[];
    kind: "policy" | "critic";
    config: ModelConfig;
  },
): void {
  const isHead = kind === "policy" && config.tiedEmbeddings;
  const names = trained.names.filter((name) => name !== EMBEDDING || isHead);
  const inputByName = new Map(graph.inputs.map((input) => [input.name, input]));
  const wrt = names.map((name) => inputByName.get(name) as Value);
  const rows = trained.has(EMBEDDING) ? [embedded] : [];
  const found = gradients(graph, loss, [...wrt, ...rows], { leaves: rows, checkpoints });
  found.forEach((gradient, i) => {
    graph.output(gradient, i < names.length ? GRADIENT + names[i] : EMBEDDED_GRADIENT);
  });
}

function gradientTargets(
  parameters: Parameters,
  names: readonly string[],
  array: Float32Array,
): Record<string, Tensor> {
  return Object.fromEntries(
    names.map((name) => [
      GRADIENT + name,
      floatTensor(parameters.view(name, array), parameters.shape(name)),
    ]),
  );
}

function toTensor(name: string, feed: Feed | undefined): Tensor {
  if (feed === undefined)
    throw new ConfigError(`the loss needs the input ${name}, which is absent`);
  if (typeof feed === "number") return scalarTensor(feed);
  return feed instanceof Float32Array ? floatTensor(feed) : feed;
}

function addInto(sum: Float32Array, part: Float32Array): void {
  for (let i = 0; i < sum.length; i++) sum[i] += part[i];
}
