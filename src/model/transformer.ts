/**
 * The decoder as a graph: token ids in, hidden states or logits out.
 *
 * Hidden states are rows, [B*T, D]: only attention looks at sequences. With grouped-query attention
 * the g query heads of one key head are stacked as T·g queries, so that keys are never repeated.
 *
 * Source: the Qwen2 and Llama models of transformers, whose weights fit by name and layout.
 */
import type { Dim, Graph, Value } from "../autodiff/graph.js";
import { productDim } from "../autodiff/shape.js";
import { EMBEDDING, FINAL_NORM, HEAD, layerNames, type ModelConfig } from "./config.js";
import { type AdapterShapes, factorOf } from "./lora.js";
import type { ParameterShapes } from "./parameters.js";

/** What the decoder reads besides parameters. */
export interface DecoderInputs {
  /** i64 [B*T] */
  ids: Value;
  /** i64 [B, T] Position of each token in its sequence. */
  positions: Value;
  /** 0 where a query may look and -1e9 where not: [T, S], or [B, 1, T, S]. */
  mask: Value;
  /** Rotary tables, [M, headSize/2]. */
  cos: Value;
  sin: Value;
}

/** Keys and values of earlier tokens, one [B, kvHeads, P, headSize] per layer; S is the name of P + T. */
export interface KeyValueCache {
  keys: readonly Value[];
  values: readonly Value[];
  totalLength: Dim;
}

/** Blocks of queries in causal attention; with n of them (n − 1) / 2n of its work is left out. */
const BLOCKS = 4;

/**
 * Declares every parameter as a graph input named like its tensor. With an adapter only its tensors
 * can have gradients, and each adapted projection finds its factors under `NAME.lora_A` and
 * `NAME.lora_B`, the scale included.
 */
export function declareParameters(
  graph: Graph,
  parameters: ParameterShapes,
  { gradient, adapter = null }: { gradient: boolean; adapter?: AdapterShapes | null },
): Record<string, Value> {
  const declared: Record<string, Value> = {};
  const isFrozen = adapter !== null;
  for (const name of parameters.names) {
    if (adapter?.parameters.has(name)) continue;
    const shape = parameters.shape(name);
    declared[name] = graph.input(name, "f32", shape, { gradient: gradient && !isFrozen });
  }
  for (const name of adapter?.parameters.names ?? []) {
    const value = graph.input(name, "f32", adapter?.parameters.shape(name) ?? [], { gradient });
    const found = factorOf(name);
    if (found === null) declared[name] = value;
    else {
      const scaled = found.factor === "A" ? value : graph.scale(value, adapter?.scale ?? 1);
      declared[`${found.module}.lora_${found.factor}`] = scaled;
    }
  }
  return declared;
}

/** Declares ids, positions, mask, cos and sin under these names, the mask as [T, T]. */
export function declareDecoderInputs(graph: Graph, config: ModelConfig): DecoderInputs {
  const half = config.headSize / 2;
  return {
    ids: graph.input("ids", "i64", ["B*T"]),
    positions: graph.input("positions", "i64", ["B", "T"]),
    mask: graph.input("mask", "f32", ["T", "T"]),
    cos: graph.input("cos", "f32", ["M", half]),
    sin: graph.input("sin", "f32", ["M", half]),
  };
}

/**
 * Adds the decoder up to its final norm.
 *
 * @returns Hidden states [B*T, D]; the residual stream [B*T, D] before each layer and after the last,
 *   embedded tokens first; and per layer the keys and values seen so far, the cache's first.
 */
export function hiddenStates(
  graph: Graph,
  config: ModelConfig,
  parameters: Readonly<Record<string, Value>>,
  inputs: DecoderInputs,
  cache: KeyValueCache | null = null,
): { hidden: Value; stream: Value[]; keys: Value[]; values: Value[] } {
  const [keys, values]: [Value[], Value[]] = [[], []];
  const { enter, leave, project } = projections(graph, parameters, cache === null);
  const mask = maskOfGroups(graph, inputs.mask, config.heads / config.kvHeads);
  let x = graph.gatherRows(parameters[EMBEDDING], inputs.ids);
  const stream = [x];
  for (let layer = 0; layer < config.layers; layer++) {
    const names = layerNames(layer);
    const norm = (y: Value, name: string) =>
      graph.rmsNorm(y, parameters[`${name}.weight`], config.normEpsilon);
    const normed = enter(norm(x, names.inputNorm));
    const [q, newKeys, newValues] = [names.query, names.key, names.value].map((name, i) => {
      const rows = leave(project(normed, name));
      const sequences = graph.reshape(rows, [...inputs.positions.shape, rows.shape[1]]);
      if (i === 2) return byKeyHead(graph, sequences, config);
      const { positions, cos, sin } = inputs;
      return byKeyHead(graph, graph.rope(sequences, positions, cos, sin), config);
    });
    const join = (past: readonly Value[] | undefined, fresh: Value) =>
      past === undefined ? fresh : graph.concat([past[layer], fresh], 2, cache?.totalLength);
    keys.push(join(cache?.keys, newKeys));
    values.push(join(cache?.values, newValues));
    const blocks = cache === null ? BLOCKS : 1;
    const { positions } = inputs;
    const [k, v] = [keys[layer], values[layer]];
    const attended = attend(graph, config, { q, k, v, mask, blocks, positions });
    x = graph.add(x, leave(project(enter(attended), names.output)));
    const again = enter(norm(x, names.outputNorm));
    const mixed = graph.swiglu(project(again, names.gate), project(again, names.up));
    x = graph.add(x, leave(project(mixed, names.down)));
    stream.push(x);
  }
  const hidden = graph.rmsNorm(x, parameters[FINAL_NORM], config.normEpsilon);
  return { hidden, stream, keys, values };
}

/** Linear layers by name, their adapters included, and the way into and out of their layout. */
interface Projections {
  enter(rows: Value): Value;
  project(x: Value, name: string): Value;
  leave(y: Value): Value;
}

/**
 * Projections of rows [N, D], or of the same as columns [D, N]. The runtime packs the right factor of
 * a product, which is lost on weights when only the few rows of one token per sequence meet them; as
 * columns the weights are the left factor.
 */
function projections(
  graph: Graph,
  parameters: Readonly<Record<string, Value | undefined>>,
  isByRow: boolean,
): Projections {
  const turn = (x: Value) => (isByRow ? x : graph.transpose(x, [1, 0]));
  const multiply = (x: Value, weight: Value, bias?: Value) => {
    if (isByRow) return graph.linear(x, weight, bias);
    const y = graph.matmul(weight, x);
    return bias === undefined ? y : graph.add(y, graph.reshape(bias, [...bias.shape, 1]));
  };
  return {
    enter: turn,
    leave: turn,
    project: (x, name) => {
      const y = multiply(x, parameters[`${name}.weight`] as Value, parameters[`${name}.bias`]);
      const [a, b] = [parameters[`${name}.lora_A`], parameters[`${name}.lora_B`]];
      if (a === undefined || b === undefined) return y;
      return graph.add(y, multiply(multiply(x, a), b));
    },
  };
}

/**
 * Logits [R, V] of hidden rows [R, D], through the head or, when tied, the embedding; `isByRow` is
 * false where rows are few, as in generation.
 */
export function logitsOf(
  graph: Graph,
  config: ModelConfig,
  parameters: Readonly<Record<string, Value>>,
  rows: Value,
  isByRow = true,
): Value {
  const { enter, leave, project } = projections(graph, parameters, isByRow);
  const name = config.tiedEmbeddings ? EMBEDDING : HEAD;
  return leave(project(enter(rows), name.replace(/\.weight$/, "")));
}

/** [B, T, H*hd] → [B, kvHeads, T·g, hd], with g = H / kvHeads heads of a token side by side. */
function byKeyHead(graph: Graph, x: Value, { kvHeads, headSize }: ModelConfig): Value {
  const [batch, length, width] = x.shape;
  const groups = (width as number) / (kvHeads * headSize);
  const shape = [batch, kvHeads, productDim([length, groups]), headSize];
  if (length === 1) return graph.reshape(x, shape);
  const apart = graph.reshape(x, [batch, length, kvHeads, groups * headSize]);
  return graph.reshape(graph.transpose(apart, [0, 2, 1, 3]), shape);
}

/** Attention over heads, merged back into rows [B*T, H*hd]. */
function attend(
  graph: Graph,
  { heads, kvHeads, headSize }: ModelConfig,
  inputs: { q: Value; k: Value; v: Value; mask: Value; blocks: number; positions: Value },
): Value {
  const { q, k, v, mask, blocks } = inputs;
  const [batch, length] = inputs.positions.shape;
  const y = graph.attention({ q, k, v, mask }, { scale: 1 / Math.sqrt(headSize), blocks });
  const rows = [productDim([batch, length]), heads * headSize];
  if (length === 1) return graph.reshape(y, rows);
  const width = (heads / kvHeads) * headSize;
  const byToken = graph.transpose(graph.reshape(y, [batch, kvHeads, length, width]), [0, 2, 1, 3]);
  return graph.reshape(byToken, rows);
}

/** Repeats each row of a mask […, T, S] for g stacked queries: […, T·g, S]. */
function maskOfGroups(graph: Graph, mask: Value, groups: number): Value {
  const lead = mask.shape.slice(0, -2);
  const [length, keys] = mask.shape.slice(-2);
  if (groups === 1 || length === 1) return mask;
  const apart = graph.reshape(mask, [...lead, length, 1, keys]);
  const repeated = graph.expand(apart, [...lead, length, groups, keys]);
  return graph.reshape(repeated, [...lead, productDim([length, groups]), keys]);
}
