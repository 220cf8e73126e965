/**
 * The critic: the policy's body with a head that answers one number per token.
 *
 * The head starts at zero, so that the first values are exactly 0 and the first advantages are the
 * rewards, whatever the body holds.
 */
import type { Graph, Value } from "../autodiff/graph.js";
import { HEAD, type ModelConfig, parameterShapes } from "./config.js";
import { Parameters } from "./parameters.js";

/** Name of the value head's weight, [1, D]. */
export const VALUE_HEAD = "value_head.weight";

/** Shapes of a critic's parameters: a policy's without its head, and the value head. */
export function criticShapes(config: ModelConfig): Map<string, readonly number[]> {
  const shapes = new Map<string, readonly number[]>(parameterShapes(config));
  shapes.delete(HEAD);
  shapes.set(VALUE_HEAD, [1, config.hiddenSize]);
  return shapes;
}

/** A critic's parameters: a copy of a policy's body, and a value head of zeros. */
export function criticParameters(config: ModelConfig, policy: Parameters): Parameters {
  const critic = new Parameters(criticShapes(config));
  for (const name of critic.names) {
    if (name !== VALUE_HEAD) critic.view(name).set(policy.view(name));
  }
  return critic;
}

/** Values [R] of hidden rows [R, D]. */
export function valuesOf(
  graph: Graph,
  parameters: Readonly<Record<string, Value>>,
  rows: Value,
): Value {
  const column = graph.linear(rows, parameters[VALUE_HEAD]);
  return graph.reshape(column, [column.shape[0]]);
}
