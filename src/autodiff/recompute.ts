/**
 * Gradient checkpointing: a part of the forward pass is computed a second time where the backward
 * pass needs it, so that between the two only a few values are kept.
 *
 * Nothing but the order of execution is needed to make it pay: the runtime computes a node as late as
 * it may (see emit.ts) and frees a value after its last use, so the second copy of a layer exists
 * only while that layer's gradient is computed. The runtime must not merge the two copies.
 *
 * Source: Chen et al. 2016, https://arxiv.org/abs/1604.06174
 */
import type { Graph } from "./graph.js";
import type { Node, Value } from "./value.js";

/**
 * Answers, for a node of the forward pass, the node whose values a gradient rule is to read: the
 * node itself, or its copy between checkpoints. The same operations on the same numbers, so the
 * gradients are the same bits.
 */
export function recomputation(graph: Graph, checkpoints: readonly Value[]): (node: Node) => Node {
  if (checkpoints.length < 2) return (node) => node;
  const between = nodesBetween(graph, checkpoints);
  const kept = new Set(checkpoints.map(({ name }) => name));
  const producers = new Map(
    [...between].flatMap((node) => node.outputs.map(({ name }) => [name, node] as const)),
  );
  const copies = new Map<Node, Node>();
  const copyOf = (node: Node): Node => {
    const known = copies.get(node);
    if (known !== undefined) return known;
    const inputs = node.inputs.map(valueOf);
    const copy = { ...node, inputs, outputs: graph.repeat(node, inputs) };
    copies.set(node, copy);
    return copy;
  };
  const valueOf = (value: Value): Value => {
    const node = producers.get(value.name);
    if (node === undefined || kept.has(value.name)) return value;
    return copyOf(node).outputs[node.outputs.findIndex(({ name }) => name === value.name)];
  };
  return (node) => (between.has(node) ? copyOf(node) : node);
}

/** The nodes that depend on the first checkpoint and come no later than the last. */
function nodesBetween({ nodes }: Graph, checkpoints: readonly Value[]): Set<Node> {
  const between = new Set<Node>();
  const reached = new Set([checkpoints[0].name]);
  const last = checkpoints[checkpoints.length - 1].name;
  for (const node of nodes) {
    if (!node.inputs.some(({ name }) => reached.has(name))) continue;
    between.add(node);
    for (const { name } of node.outputs) reached.add(name);
    if (reached.has(last)) break;
  }
  return between;
}
