/**
 * Graph → ONNX: walks the nodes that the outputs need, in order, and lets each write itself.
 *
 * What no output needs is not written, so a forward-only graph holds no work of a backward pass.
 */
import { ShapeError } from "../core/errors.js";
import {
  encodeOnnxModel,
  type OnnxAttribute,
  type OnnxGraph,
  type OnnxNode,
  type OnnxTensor,
} from "../formats/onnx.js";
import { OPS } from "./ops.js";
import { factors } from "./shape.js";
import type { Dim, Emitter, GraphContent, Node, Tensor, Value } from "./value.js";

/**
 * Writes a graph as an ONNX model, its nodes last to first.
 *
 * ONNX Runtime chooses the order of execution: depth first from the nodes that feed none, later ones
 * of the file before earlier ones, each node as late as it may be. Written last to first, gradients
 * are finished in the order of the backward pass, and what they read is freed on the way; written
 * first to last, all of them wait for the end of it.
 */
export function emitModel(graph: GraphContent): Uint8Array {
  const model = emitGraph(graph, "model", "", new Map());
  return encodeOnnxModel({ ...model, nodes: model.nodes.toReversed() });
}

type Names = ReadonlyMap<string, string>;

/** `prefix` keeps the hidden names of a body apart from those around it; `outer`: names seen there. */
function emitGraph(graph: GraphContent, name: string, prefix: string, outer: Names): OnnxGraph {
  const needed = neededValues(graph);
  const live = graph.nodes.filter((node) => node.outputs.some(({ name: n }) => needed.has(n)));
  const names = new Map<string, string>(outer);
  const copies: OnnxNode[] = [];
  const produced = new Set(live.flatMap((node) => node.outputs.map((value) => value.name)));
  for (const output of graph.outputs) {
    const { name: valueName } = output.value;
    // A value takes its output's name; one that cannot (an input, a second output) is copied.
    if (produced.has(valueName) && !names.has(valueName)) names.set(valueName, output.name);
    else copies.push(copyNode(names.get(valueName) ?? valueName, output.name));
  }
  const writer = new GraphWriter(prefix, names);
  for (const input of graph.inputs) writer.sees(input);
  for (const [constantName, tensor] of graph.constants) {
    if (needed.has(constantName)) writer.constants.set(constantName, tensor);
  }
  for (const node of live) writer.write(node);
  return {
    name,
    nodes: [...writer.nodes, ...copies],
    constants: writer.constants,
    inputs: graph.inputs,
    outputs: graph.outputs.map(({ name: outputName, value }) => ({
      name: outputName,
      dtype: value.dtype,
      shape: value.shape,
    })),
  };
}

function copyNode(from: string, to: string): OnnxNode {
  return { op: "Identity", domain: "", inputs: [from], outputs: [to], attributes: {} };
}

/** Names of the values that the outputs depend on, those of a surrounding graph included. */
function neededValues(graph: GraphContent): Set<string> {
  const needed = new Set(graph.outputs.map(({ value }) => value.name));
  for (let i = graph.nodes.length - 1; i >= 0; i--) {
    const node = graph.nodes[i];
    if (!node.outputs.some(({ name }) => needed.has(name))) continue;
    for (const input of node.inputs) needed.add(input.name);
    if (node.op === "loop") {
      for (const name of neededValues(node.attributes.body as GraphContent)) needed.add(name);
    }
  }
  return needed;
}

/** Writes the nodes of one graph. Methods are arrow functions: rules pass them on as callbacks. */
class GraphWriter implements Emitter {
  readonly nodes: OnnxNode[] = [];
  readonly constants = new Map<string, OnnxTensor>();
  readonly #names: Names;
  readonly #prefix: string;
  /** Where each named dimension can be read: a value and its axis. */
  readonly #dims = new Map<string, { name: string; axis: number }>();
  readonly #shared = new Map<string, string>();
  #count = 0;

  constructor(prefix: string, names: Names) {
    this.#prefix = prefix;
    this.#names = names;
  }

  /** Remembers the named dimensions of a value that exists from here on. */
  sees(value: Value): void {
    value.shape.forEach((dim, axis) => {
      if (typeof dim === "string" && !this.#dims.has(dim)) {
        this.#dims.set(dim, { name: this.nameOf(value), axis });
      }
    });
  }

  write(node: Node): void {
    OPS[node.op].emit(this, node);
    for (const output of node.outputs) this.sees(output);
  }

  nameOf = ({ name }: Value): string => this.#names.get(name) ?? name;

  node = (
    op: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
    domain = "",
  ): void => {
    this.nodes.push({ op, domain, inputs, outputs, attributes });
  };

  hidden = (
    op: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
    domain = "",
  ): string => {
    const output = this.#fresh();
    this.node(op, inputs, [output], attributes, domain);
    return output;
  };

  split = (
    x: string,
    axis: number,
    { size, parts, count }: { size: Dim; parts: number; count: number },
  ): readonly string[] => {
    if (count === 1) return [x];
    const pieces = Array.from({ length: count }, () => this.#fresh());
    this.node("Split", [x, this.#partSizes(size, parts, count)], pieces, { axis });
    return pieces;
  };

  constant = (tensor: Tensor): string => {
    const name = this.#fresh();
    this.constants.set(name, tensor);
    return name;
  };

  integers = (values: readonly number[]): string =>
    this.#share(`integers ${values.join()}`, () =>
      this.constant({
        dtype: "i64",
        shape: [values.length],
        data: BigInt64Array.from(values.map(BigInt)),
      }),
    );

  integer = (value: number): string =>
    this.#share(`integer ${value}`, () =>
      this.constant({ dtype: "i64", shape: [], data: BigInt64Array.of(BigInt(value)) }),
    );

  float = (value: number): string =>
    this.#share(`float ${value}`, () =>
      this.constant({ dtype: "f32", shape: [], data: Float32Array.of(value) }),
    );

  sizes = (dims: readonly Dim[]): string => {
    if (dims.every((dim) => typeof dim === "number")) return this.integers(dims);
    const parts = dims.map((dim) => this.#size(dim));
    if (parts.length === 1) return parts[0];
    return this.#share(`sizes ${dims.join()}`, () => this.hidden("Concat", parts, { axis: 0 }));
  };

  reshapeTarget = (dims: readonly Dim[]): string => {
    const unknown = dims.filter((dim) => typeof dim === "string");
    if (unknown.length > 1) return this.sizes(dims);
    return this.integers(dims.map((dim) => (typeof dim === "number" ? dim : -1)));
  };

  body = (graph: GraphContent, name: string): OnnxGraph =>
    emitGraph(graph, name, this.#fresh(), this.#names);

  /** One size at run time, [1]. */
  #size(dim: Dim): string {
    const { factor, names } = factors([dim]);
    return this.#share(`size ${dim}`, () => {
      const parts = names.map((name) => this.#namedSize(name));
      if (factor !== 1 || names.length === 0) parts.push(this.integers([factor]));
      return parts.reduce((product, part) => this.hidden("Mul", [product, part]));
    });
  }

  /** Sizes of the first `count` of equal parts: ceil(size / parts) each, as far as the size goes. */
  #partSizes(size: Dim, parts: number, count: number): string {
    return this.#share(`parts ${size} ${parts} ${count}`, () => {
      const whole = this.sizes([size]);
      const raised = this.hidden("Add", [whole, this.integers([parts - 1])]);
      const part = this.hidden("Div", [raised, this.integers([parts])]);
      const [starts, ends] = [0, 1].map((from) => {
        const numbers = Array.from({ length: count }, (_, i) => i + from);
        return this.hidden("Min", [this.hidden("Mul", [part, this.integers(numbers)]), whole]);
      });
      return this.hidden("Sub", [ends, starts]);
    });
  }

  #namedSize(name: string): string {
    const origin = this.#dims.get(name);
    if (origin === undefined) {
      throw new ShapeError(`size ${name} is needed before any value of the graph has it`);
    }
    return this.#share(`named ${name}`, () => {
      const { axis } = origin;
      return this.hidden("Shape", [origin.name], { start: axis, end: axis + 1 });
    });
  }

  /** Makes what has this key once. */
  #share(key: string, make: () => string): string {
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const name = make();
    this.#shared.set(key, name);
    return name;
  }

  #fresh(): string {
    return `${this.#prefix}~${this.#count++}`;
  }
}
