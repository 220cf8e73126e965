/**
 * The two graphs of generation: the prompts' keys and values, then one loop over new tokens.
 *
 * The loop runs inside the runtime, so a token costs no call; it ends when every sequence has ended.
 * A token is drawn by inverting the cumulative distribution at one uniform number per sequence and
 * round, so that a caller decides all randomness.
 */
import { Graph, type Value } from "../autodiff/graph.js";
import type { ModelConfig } from "./config.js";
import type { Adapter } from "./lora.js";
import type { Parameters } from "./parameters.js";
import { declareParameters, hiddenStates, logitsOf } from "./transformer.js";

/** How the next token is chosen. `candidates`: only that many most likely tokens are looked at. */
export type ChoiceRule =
  { kind: "greedy" } | { kind: "full" } | { kind: "truncated"; candidates: number };

/** Graph from left-padded prompts, without their last token, to keys and values. */
export function prefillGraph(
  config: ModelConfig,
  parameters: Parameters,
  adapter: Adapter | null,
): Graph {
  const graph = new Graph();
  const declared = declareParameters(graph, parameters, { gradient: false, adapter });
  const { keys, values } = hiddenStates(graph, config, declared, {
    ids: graph.input("ids", "i64", ["B*T"]),
    positions: graph.input("positions", "i64", ["B", "T"]),
    mask: graph.input("mask", "f32", ["B", 1, "T", "T"]),
    ...ropeInputs(graph, config),
  });
  keys.forEach((key, layer) => graph.output(key, `key_${layer}`));
  values.forEach((value, layer) => graph.output(value, `value_${layer}`));
  return graph;
}

/** Graph from keys and values and the prompts' last tokens to new tokens, [rounds, B] each. */
export function loopGraph(
  config: ModelConfig,
  parameters: Parameters,
  { rule, adapter }: { rule: ChoiceRule; adapter: Adapter | null },
): Graph {
  const graph = new Graph();
  const declared = declareParameters(graph, parameters, { gradient: false, adapter });
  const settings = {
    ...ropeInputs(graph, config),
    temperature: graph.input("temperature", "f32", []),
    topP: graph.input("top_p", "f32", []),
    uniforms: graph.input("uniforms", "f32", ["N", "B"]),
    stops: graph.input("stops", "i64", [1, "K"]),
  };
  const states = declareStates(graph, config, "", "Z");
  const body = new Graph(graph);
  const round = body.input("round", "i64", []);
  body.input("running", "bool", []);
  const inner = declareStates(body, config, "body_", "bodyZ");
  const { hidden, keys, values } = hiddenStates(
    body,
    config,
    declared,
    { ...inner, ...settings },
    { keys: inner.keys, values: inner.values, totalLength: "S" },
  );
  const logits = body.div(logitsOf(body, config, declared, hidden, false), settings.temperature);
  const logprobs = body.logSoftmax(logits);
  const uniform = body.gatherRows(settings.uniforms, round);
  const drawn = chooseToken(body, logprobs, { rule, uniform, topP: settings.topP });
  const token = body.where(inner.done, body.integer(0), drawn);
  const column = body.reshape(token, ["B", 1]);
  const isStop = body.cast(body.compare("equal", column, settings.stops), "f32");
  const stopped = body.compare("greater", body.reduceMax(isStop, [1]), body.scalar(0));
  const done = body.logic("or", inner.done, stopped);
  const open = body.where(done, body.scalar(0), body.scalar(1));
  const visible = body.scale(body.reshape(open, ["B", 1, 1, 1]), 0);
  body.output(body.compare("greater", body.reduceMax(open), body.scalar(0)), "body_continue");
  body.output(token, "body_next");
  body.output(body.apply("add", [inner.positions, body.integer(1)]), "body_next_positions");
  body.output(done, "body_next_done");
  body.output(body.concat([inner.mask, visible], 3, "S+1"), "body_next_mask");
  keys.forEach((key, layer) => body.output(key, `body_next_key_${layer}`));
  values.forEach((value, layer) => body.output(value, `body_next_value_${layer}`));
  body.output(token, "body_token");
  body.output(body.apply("pickLast", [logprobs, token]), "body_logprob");
  const rounds = graph.input("rounds", "i64", []);
  const running = graph.constant("bool", [], Uint8Array.of(1));
  const first = [states.ids, states.positions, states.done, states.mask];
  const initial = [...first, ...states.keys, ...states.values];
  const outputs = graph.applyAll("loop", [rounds, running, ...initial], {
    body,
    states: initial.length,
    rounds: "rounds",
  });
  graph.output(outputs[initial.length], "tokens");
  graph.output(outputs[initial.length + 1], "logprobs");
  return graph;
}

function ropeInputs(graph: Graph, { headSize }: ModelConfig): { cos: Value; sin: Value } {
  return {
    cos: graph.input("cos", "f32", ["M", headSize / 2]),
    sin: graph.input("sin", "f32", ["M", headSize / 2]),
  };
}

/** What a round hands to the next; past keys have length `past`, and the mask covers one more. */
function declareStates(graph: Graph, config: ModelConfig, prefix: string, past: string) {
  const shape = ["B", config.kvHeads, past, config.headSize];
  const ids = graph.input(`${prefix}ids`, "i64", ["B"]);
  const positions = graph.input(`${prefix}positions`, "i64", ["B", 1]);
  const done = graph.input(`${prefix}done`, "bool", ["B"]);
  const mask = graph.input(`${prefix}mask`, "f32", ["B", 1, 1, "S"]);
  const layers = Array.from({ length: config.layers }, (_, layer) => layer);
  const keys = layers.map((layer) => graph.input(`${prefix}key_${layer}`, "f32", shape));
  const values = layers.map((layer) => graph.input(`${prefix}value_${layer}`, "f32", shape));
  return { ids, positions, done, mask, keys, values };
}

/** Token ids [B] from log-probabilities [B, V]. */
function chooseToken(
  graph: Graph,
  logprobs: Value,
  { rule, uniform, topP }: { rule: ChoiceRule; uniform: Value; topP: Value },
): Value {
  if (rule.kind === "greedy") return graph.apply("argMax", [logprobs]);
  if (rule.kind === "full") return invertCumulative(graph, graph.exp(logprobs), uniform);
  const [best, ids] = graph.applyAll("topK", [logprobs], { size: rule.candidates });
  const probabilities = graph.exp(best);
  const cumulative = graph.apply("cumSum", [probabilities]);
  // A candidate stays if those before it do not yet hold the share topP of what top-k left.
  const bound = graph.mul(graph.slice(cumulative, 1, rule.candidates - 1, rule.candidates), topP);
  const stays = graph.compare("less", graph.sub(cumulative, probabilities), bound);
  const kept = graph.where(stays, probabilities, graph.scalar(0));
  return graph.apply("pickLast", [ids, invertCumulative(graph, kept, uniform)]);
}

/** Index [B] of the first entry whose cumulative weight exceeds the share `uniform` of the total. */
function invertCumulative(graph: Graph, weights: Value, uniform: Value): Value {
  const size = weights.shape[1] as number;
  const cumulative = graph.apply("cumSum", [weights]);
  // The total is not exactly 1, so the share is of what was summed.
  const total = graph.slice(cumulative, 1, size - 1, size);
  const bound = graph.mul(total, graph.reshape(uniform, ["B", 1]));
  const passed = graph.cast(graph.compare("lessOrEqual", cumulative, bound), "f32");
  return graph.cast(graph.reduceSum(passed, [1]), "i64");
}
