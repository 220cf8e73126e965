/**
 * Reverse-mode differentiation: the nodes of the gradient are added to the graph they come from.
 */
import { ShapeError } from "../core/errors.js";
import type { Graph } from "./graph.js";
import { OPS } from "./ops.js";
import { recomputation } from "./recompute.js";
import { sameShape, shapeText } from "./shape.js";
import type { Value } from "./value.js";

/** Where the walk ends, and what it may keep. */
export interface GradientOptions {
  /** Values taken as inputs: what they were computed from gets no gradient through them. */
  leaves?: readonly Value[];
  /**
   * Values kept from the forward pass, in order of creation; what lies between the first and the
   * last of them is computed again for the backward pass. None keeps everything.
   */
  checkpoints?: readonly Value[];
}

/**
 * Adds the gradients of a scalar loss with respect to the given values, in their order.
 *
 * @throws {ShapeError} if the loss is no scalar, or does not depend on one of the values.
 */
export function gradients(
  graph: Graph,
  loss: Value,
  wrt: readonly Value[],
  { leaves = [], checkpoints = [] }: GradientOptions = {},
): Value[] {
  if (loss.shape.length !== 0) {
    throw new ShapeError(`a loss has no dimensions, got ${shapeText(loss.shape)}`);
  }
  const found = new Map<string, Value>([[loss.name, graph.scalar(1)]]);
  const accumulate = (input: Value, gradient: Value) => {
    if (!sameShape(input.shape, gradient.shape)) {
      const shapes = `${shapeText(gradient.shape)} for ${shapeText(input.shape)}`;
      throw new ShapeError(`the gradient of ${input.name} has the wrong shape: ${shapes}`);
    }
    const before = found.get(input.name);
    found.set(input.name, before === undefined ? gradient : graph.add(before, gradient));
  };
  const again = recomputation(graph, checkpoints);
  // The nodes added below come after those that are walked.
  for (let i = graph.nodes.length - 1; i >= 0; i--) {
    const node = graph.nodes[i];
    const by = node.outputs.map((output) => found.get(output.name) ?? null);
    if (by.every((gradient) => gradient === null)) continue;
    if (node.outputs.some((output) => leaves.includes(output))) continue;
    const rule = OPS[node.op].gradient;
    if (rule === null || !node.inputs.some((input) => input.gradient)) continue;
    rule(graph, again(node), by).forEach((gradient, k) => {
      const input = node.inputs[k];
      if (gradient !== null && input?.gradient === true) accumulate(input, gradient);
    });
  }
  return wrt.map((value) => {
    const gradient = found.get(value.name);
    if (gradient === undefined) throw new ShapeError(`the loss does not depend on ${value.name}`);
    return gradient;
  });
}
