/**
 * The memory of a graph's intermediate values, computed without running it.
 *
 * ONNX Runtime frees a value after its last use, so the peak is that of the values alive at once in
 * the order in which nodes run. Inputs, constants and outputs are the caller's and are not counted.
 *
 * Not covered: the runtime's own padding and fragmentation, and kernels' scratch memory except where
 * `WORKSPACE` names it.
 */
import { ShapeError } from "../core/errors.js";
import { factors } from "./shape.js";
import type { Dim, GraphContent, Node, OpName, Value } from "./value.js";

/** The named dimensions of a graph as numbers. */
export type Sizes = Readonly<Record<string, number>>;

const BYTES = { f32: 4, i64: 8, bool: 1 } as const;

/** Operations whose output may take the place of an input of its size that is not used again. */
const IN_PLACE: ReadonlySet<OpName> = new Set<OpName>([
  ...(["add", "sub", "mul", "div", "neg", "exp", "log", "sqrt", "sigmoid", "clip"] as const),
  ...(["reshape", "stopGradient"] as const),
]);

type Bytes = (value: Value) => number;

/** Bytes that an operation needs beside its outputs while it runs. */
const WORKSPACE: Partial<Record<OpName, (node: Node, bytes: Bytes) => number>> = {
  // The scores, which become the probabilities.
  attention: ({ outputs: [, ...probabilities] }, bytes) => total(probabilities, bytes),
  // The gradient by the scores, and the pieces that its operands are cut into.
  attentionGradient: ({ inputs }, bytes) => total(inputs, bytes),
};

function total(values: readonly Value[], bytes: Bytes): number {
  return values.reduce((sum, value) => sum + bytes(value), 0);
}

/**
 * The most bytes of intermediate values alive at once.
 *
 * @throws {ShapeError} if a dimension's size is not given.
 */
export function peakBytes(graph: GraphContent, sizes: Sizes): number {
  const bytes: Bytes = ({ dtype, shape }) =>
    shape.reduce<number>((product, dim) => product * sizeOf(dim, sizes), BYTES[dtype]);
  const order = executionOrder(graph);
  const lastUse = new Map<string, number>();
  order.forEach(({ inputs }, i) => inputs.forEach(({ name }) => lastUse.set(name, i)));
  const callers = new Set(graph.outputs.map(({ value }) => value.name));
  const alive = new Map<string, number>();
  let [now, peak] = [0, 0];
  order.forEach((node, i) => {
    const made = node.outputs.filter(({ name }) => !callers.has(name));
    const dying = [...new Set(node.inputs.map(({ name }) => name))].filter(
      (name) => alive.has(name) && lastUse.get(name) === i,
    );
    for (const value of made) {
      const size = bytes(value);
      const place = IN_PLACE.has(node.op) && dying.find((name) => alive.get(name) === size);
      if (place) now -= size;
      now += size;
      alive.set(value.name, size);
      if (place) alive.set(place, 0);
    }
    peak = Math.max(peak, now + (WORKSPACE[node.op]?.(node, bytes) ?? 0));
    const unread = made.map(({ name }) => name).filter((name) => !lastUse.has(name));
    for (const name of [...dying, ...unread]) {
      now -= alive.get(name) ?? 0;
      alive.delete(name);
    }
  });
  return peak;
}

/**
 * The nodes that the outputs need in the order in which the runtime runs them: for each node that
 * feeds none, what it needs and has not run yet, depth first, earlier nodes before later ones.
 */
function executionOrder({ nodes, outputs }: GraphContent): Node[] {
  const producers = new Map(
    nodes.flatMap((node, i) => node.outputs.map(({ name }) => [name, i] as const)),
  );
  const sourcesOf = (i: number) =>
    [...new Set(nodes[i].inputs.map(({ name }) => producers.get(name)))]
      .filter((source) => source !== undefined)
      .sort((a, b) => b - a);
  const needed = new Set(outputs.map(({ value }) => producers.get(value.name)));
  const feeding = new Set<number>();
  for (let i = nodes.length - 1; i >= 0; i--) {
    if (!needed.has(i)) continue;
    for (const source of sourcesOf(i)) {
      needed.add(source);
      feeding.add(source);
    }
  }
  const order: Node[] = [];
  const seen = new Set<number>();
  for (let leaf = 0; leaf < nodes.length; leaf++) {
    if (!needed.has(leaf) || feeding.has(leaf)) continue;
    const stack = [{ node: leaf, isReady: false }];
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      if (top.isReady) order.push(nodes[top.node]);
      if (top.isReady || seen.has(top.node)) continue;
      seen.add(top.node);
      stack.push({ node: top.node, isReady: true });
      for (const source of sourcesOf(top.node)) stack.push({ node: source, isReady: false });
    }
  }
  return order;
}

function sizeOf(dim: Dim, sizes: Sizes): number {
  const { factor, names } = factors([dim]);
  return names.reduce((product, name) => {
    const size = sizes[name] ?? partOf(name, sizes);
    if (size === null) throw new ShapeError(`size ${name} is needed, got none`);
    return product * size;
  }, factor);
}

/** The size of `2/4 of T`, the first two of four equal parts, or of `part 1/4 of T`, one of them. */
function partOf(name: string, sizes: Sizes): number | null {
  const found = /^(part )?(\d+)\/(\d+) of (?:.* of )?(.+)$/.exec(name);
  if (found === null) return null;
  const [count, parts] = [found[1] === undefined ? Number(found[2]) : 1, Number(found[3])];
  return Math.ceil(sizeOf(found[4].replaceAll("·", "*"), sizes) / parts) * count;
}
