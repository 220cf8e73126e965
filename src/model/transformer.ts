/**
 * The decoder as a graph: token ids in, hidden states or logits out.
 *
 * Hidden states are rows, [B*T, D]: only attention looks at sequences. With grouped-query attention
 * the g query heads of one key head are stacked as g·T queries, so that keys are never repeated.
 *
 * Source: the Qwen2 and Llama models of transformers, whose weights fit by name and layout.
 */
import type { Dim, Graph, Value } from "../autodiff/graph.js";
import { productDim } from "../autodiff/shape.js";
import { EMBEDDING, FINAL_NORM, HEAD, layerNames, type ModelConfig } from "./config.js";
import { type Adapter, factorOf } from "./lora.js";
import type { Parameters } from "./parameters.js";

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

/**
 * Declares every parameter as a graph input named like its tensor. With an adapter only its tensors
 * can have gradients, and each adapted projection finds its factors under `NAME.lora_A` and
 * `NAME.lora_B`, the scale included.
 */
export function declareParameters(
  graph: Graph,
  parameters: Parameters,
  { gradient, adapter = null }: { gradient: boolean; adapter?: Adapter | null },
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
 * @returns Hidden states [B*T, D]; the embedded tokens they started from; and per layer the keys and
 *   values seen so far, the cache's first.
 */
export function hiddenStates(
  graph: Graph,
  config: ModelConfig,
  parameters: Readonly<Record<string, Value>>,
  inputs: DecoderInputs,
  cache: KeyValueCache | null = null,
): { hidden: Value; embedded: Value; keys: Value[]; values: Value[] } {
  const [keys, values]: [Value[], Value[]] = [[], []];
  const mask = maskOfGroups(graph, inputs.mask, config.heads / config.kvHeads);
  const embedded = graph.gatherRows(parameters[EMBEDDING], inputs.ids);
  let x = embedded;
  for (let layer = 0; layer < config.layers; layer++) {
    const names = layerNames(layer);
    const norm = (y: Value, name: string) =>
      graph.rmsNorm(y, parameters[`${name}.weight`], config.normEpsilon);
    const project = (y: Value, name: string) => projection(graph, parameters, y, name);
    const normed = norm(x, names.inputNorm);
    const [q, newKeys, newValues] = [names.query, names.key, names.value].map((name, i) => {
      const heads = splitHeads(graph, project(normed, name), config, inputs.positions);
      return i === 2 ? heads : graph.rope(heads, inputs.positions, inputs.cos, inputs.sin);
    });
    const join = (past: readonly Value[] | undefined, fresh: Value) =>
      past === undefined ? fresh : graph.concat([past[layer], fresh], 2, cache?.totalLength);
    keys.push(join(cache?.keys, newKeys));
    values.push(join(cache?.values, newValues));
    const attended = attend(graph, config, { q, k: keys[layer], v: values[layer], mask });
    x = graph.add(x, project(attended, names.output));
    const again = norm(x, names.outputNorm);
    const mixed = graph.swiglu(project(again, names.gate), project(again, names.up));
    x = graph.add(x, project(mixed, names.down));
  }
  const hidden = graph.rmsNorm(x, parameters[FINAL_NORM], config.normEpsilon);
  return { hidden, embedded, keys, values };
}

/** A linear layer by name, its adapter included. */
function projection(
  graph: Graph,
  parameters: Readonly<Record<string, Value | undefined>>,
  x: Value,
  name: string,
): Value {
  const y = graph.linear(x, parameters[`${name}.weight`] as Value, parameters[`${name}.bias`]);
  const [a, b] = [parameters[`${name}.lora_A`], parameters[`${name}.lora_B`]];
  if (a === undefined || b === undefined) return y;
  return graph.add(y, graph.linear(graph.linear(x, a), b));
}

/** Logits [R, V] of hidden rows [R, D], through the head or, when tied, the embedding. */
export function logitsOf(
  graph: Graph,
  config: ModelConfig,
  parameters: Readonly<Record<string, Value>>,
  rows: Value,
): Value {
  return graph.linear(rows, parameters[config.tiedEmbeddings ? EMBEDDING : HEAD]);
}

/** [B*T, H*hd] → [B, H, T, hd] */
function splitHeads(graph: Graph, x: Value, config: ModelConfig, { shape }: Value): Value {
  const heads = (x.shape[1] as number) / config.headSize;
  return graph.transpose(graph.reshape(x, [...shape, heads, config.headSize]), [0, 2, 1, 3]);
}

/** Attention over heads, merged back into rows [B*T, H*hd]. */
function attend(
  graph: Graph,
  config: ModelConfig,
  { q, k, v, mask }: { q: Value; k: Value; v: Value; mask: Value },
): Value {
  const { heads, kvHeads, headSize } = config;
  const [batch, , length] = q.shape;
  const stacked = [batch, kvHeads, productDim([heads / kvHeads, length]), headSize];
  const scale = 1 / Math.sqrt(headSize);
  const y = graph.attention(graph.reshape(q, stacked), k, v, mask, scale);
  const apart = graph.transpose(graph.reshape(y, q.shape), [0, 2, 1, 3]);
  return graph.reshape(apart, [productDim([batch, length]), heads * headSize]);
}

/** Repeats a mask […, T, S] for g stacked groups of queries: […, g·T, S]. */
function maskOfGroups(graph: Graph, mask: Value, groups: number): Value {
  const lead = mask.shape.slice(0, -2);
  const [length, keys] = mask.shape.slice(-2);
  if (groups === 1 || length === 1) return mask;
  const apart = graph.reshape(mask, [...lead, 1, length, keys]);
  const repeated = graph.expand(apart, [...lead, groups, length, keys]);
  return graph.reshape(repeated, [...lead, productDim([groups, length]), keys]);
}
