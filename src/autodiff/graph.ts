/**
 * The graph builder: inputs, constants, operations by method, named outputs.
 *
 * The order of creation is an order of execution. Equal applications are the same node, so a
 * subexpression asked for twice, as gradient rules do, costs once.
 */
import { ShapeError } from "../core/errors.js";
import { OPS } from "./ops.js";
import { sameShape } from "./shape.js";
import type {
  Attributes,
  Builder,
  Dim,
  DType,
  GraphContent,
  Node,
  OpName,
  Tensor,
  Value,
} from "./value.js";

export type { Dim, DType, Tensor, Value } from "./value.js";

/** How `compare` compares. */
export type Comparison = "equal" | "less" | "lessOrEqual" | "greater" | "greaterOrEqual";

/** A graph under construction. Methods without a comment do what NumPy does by that name. */
export class Graph implements Builder, GraphContent {
  readonly nodes: Node[] = [];
  readonly inputs: Value[] = [];
  readonly outputs: { name: string; value: Value }[] = [];
  readonly constants = new Map<string, Tensor>();
  readonly #known = new Map<string, readonly Value[]>();
  /** Names are unique across bodies, so a body may use a value of the graph it lies in. */
  readonly #counter: { next: number };

  /** A body (of a loop) names the graph it lies in: it sees that graph's values. */
  constructor(outer: Graph | null = null) {
    this.#counter = outer === null ? { next: 0 } : outer.#counter;
  }

  /** Declares what is fed at run time. `gradient`: gradients with respect to it may be asked for. */
  input(
    name: string,
    dtype: DType,
    shape: readonly Dim[],
    { gradient = false }: { gradient?: boolean } = {},
  ): Value {
    if (this.inputs.some((input) => input.name === name)) {
      throw new ShapeError(`graph input ${name} is declared twice`);
    }
    const value: Value = { name, dtype, shape, gradient };
    this.inputs.push(value);
    return value;
  }

  /** Makes a value an output under a name of the caller's. */
  output(value: Value, name: string): void {
    if (this.outputs.some((output) => output.name === name)) {
      throw new ShapeError(`graph output ${name} is declared twice`);
    }
    this.outputs.push({ name, value });
  }

  apply(op: OpName, inputs: readonly Value[], attributes: Attributes = {}): Value {
    return this.applyAll(op, inputs, attributes)[0];
  }

  /** Applies an operation and answers all its outputs. */
  applyAll(op: OpName, inputs: readonly Value[], attributes: Attributes = {}): readonly Value[] {
    const names = inputs.map((input) => input.name).join(",");
    const key = op === "loop" ? null : `${op}(${names})${JSON.stringify(attributes)}`;
    const known = key === null ? undefined : this.#known.get(key);
    if (known !== undefined) return known;
    const outputs = this.#append(op, inputs, attributes);
    if (key !== null) this.#known.set(key, outputs);
    return outputs;
  }

  /** Applies a node's operation once more, to other inputs; never the same node as an equal one. */
  repeat({ op, attributes }: Node, inputs: readonly Value[]): readonly Value[] {
    return this.#append(op, inputs, attributes);
  }

  #append(op: OpName, inputs: readonly Value[], attributes: Attributes): readonly Value[] {
    const flows = OPS[op].gradient !== null && inputs.some((input) => input.gradient);
    const outputs = OPS[op].outputs(inputs, attributes).map(({ dtype, shape }) => ({
      name: this.#nextName(op),
      dtype,
      shape,
      gradient: flows && dtype === "f32",
    }));
    this.nodes.push({ op, inputs, outputs, attributes });
    return outputs;
  }

  constant(dtype: DType, shape: readonly number[], data: Tensor["data"]): Value {
    const value: Value = { name: this.#nextName("constant"), dtype, shape, gradient: false };
    this.constants.set(value.name, { dtype, shape, data });
    return value;
  }

  scalar(value: number): Value {
    return this.#sharedConstant(`f32:${value}`, () =>
      this.constant("f32", [], Float32Array.of(value)),
    );
  }

  /** An int64 constant without dimensions. */
  integer(value: number): Value {
    return this.#sharedConstant(`i64:${value}`, () =>
      this.constant("i64", [], BigInt64Array.of(BigInt(value))),
    );
  }

  add(a: Value, b: Value): Value {
    return this.apply("add", [a, b]);
  }

  sub(a: Value, b: Value): Value {
    return this.apply("sub", [a, b]);
  }

  mul(a: Value, b: Value): Value {
    return this.apply("mul", [a, b]);
  }

  div(a: Value, b: Value): Value {
    return this.apply("div", [a, b]);
  }

  /** The smaller of two, elementwise. */
  min(a: Value, b: Value): Value {
    return this.apply("min", [a, b]);
  }

  /** The larger of two, elementwise. */
  max(a: Value, b: Value): Value {
    return this.apply("max", [a, b]);
  }

  neg(x: Value): Value {
    return this.apply("neg", [x]);
  }

  exp(x: Value): Value {
    return this.apply("exp", [x]);
  }

  log(x: Value): Value {
    return this.apply("log", [x]);
  }

  sqrt(x: Value): Value {
    return this.apply("sqrt", [x]);
  }

  sigmoid(x: Value): Value {
    return this.apply("sigmoid", [x]);
  }

  /** x, taken as a constant by every gradient. */
  stopGradient(x: Value): Value {
    return this.apply("stopGradient", [x]);
  }

  /** Bounds by constants; the gradient is 1 inside and on the bounds, 0 outside. */
  clip(x: Value, low: number, high: number): Value {
    return this.apply("clip", [x], { low, high });
  }

  /** x · factor. */
  scale(x: Value, factor: number): Value {
    return this.mul(x, this.scalar(factor));
  }

  compare(how: Comparison, a: Value, b: Value): Value {
    return this.apply("compare", [a, b], { how });
  }

  logic(how: "and" | "or", a: Value, b: Value): Value {
    return this.apply("logic", [a, b], { how });
  }

  where(condition: Value, a: Value, b: Value): Value {
    return this.apply("where", [condition, a, b]);
  }

  cast(x: Value, to: DType): Value {
    return x.dtype === to ? x : this.apply("cast", [x], { to });
  }

  /** Sum over axes (all of them when not given), which disappear unless `keepDims`. */
  reduceSum(x: Value, axes?: readonly number[], keepDims = false): Value {
    return this.#reduce("reduceSum", x, axes, keepDims);
  }

  reduceMean(x: Value, axes?: readonly number[], keepDims = false): Value {
    return this.#reduce("reduceMean", x, axes, keepDims);
  }

  reduceMax(x: Value, axes?: readonly number[], keepDims = false): Value {
    return this.#reduce("reduceMax", x, axes, keepDims);
  }

  expand(x: Value, shape: readonly Dim[]): Value {
    return sameShape(x.shape, shape) ? x : this.apply("expand", [x], { shape });
  }

  reshape(x: Value, shape: readonly Dim[]): Value {
    return sameShape(x.shape, shape) ? x : this.apply("reshape", [x], { shape });
  }

  transpose(x: Value, order: readonly number[]): Value {
    return this.apply("transpose", [x], { order });
  }

  /** Joins along an axis; `size` names the joined dimension when it is not a sum of numbers. */
  concat(parts: readonly Value[], axis: number, size?: Dim): Value {
    return this.apply("concat", parts, size === undefined ? { axis } : { axis, size });
  }

  /** x[start:end] along one axis of known size. */
  slice(x: Value, axis: number, start: number, end: number): Value {
    return this.apply("slice", [x], { axis, start, end });
  }

  /** alpha · a b over the last two axes, each transposed on request; leading axes broadcast. */
  matmul(a: Value, b: Value, { transA = false, transB = false, alpha = 1 } = {}): Value {
    return this.apply("matmul", [a, b], { transA, transB, alpha });
  }

  /** x [N, in] · weightᵀ + bias, weight [out, in] → [N, out]. */
  linear(x: Value, weight: Value, bias?: Value): Value {
    const inputs = bias === undefined ? [x, weight] : [x, weight, bias];
    return this.apply("gemm", inputs, { transA: false, transB: true, alpha: 1 });
  }

  /**
   * table [V, …] and integer ids of any shape → [ids…, …]. `distinct` promises that no id repeats,
   * which makes the gradient a copy instead of a sum.
   */
  gatherRows(table: Value, ids: Value, { distinct = false } = {}): Value {
    return this.apply("gatherRows", [table, ids], { distinct });
  }

  /** Adds updates [N, …] into a zero table of `rows` rows, at ids [N]. */
  scatterRows(ids: Value, updates: Value, rows: Dim): Value {
    return this.apply("scatterRows", [ids, updates], { rows });
  }

  /** Over the last axis. */
  softmax(x: Value): Value {
    return this.apply("softmax", [x]);
  }

  /** Over the last axis. */
  logSoftmax(x: Value): Value {
    return this.apply("logSoftmax", [x]);
  }

  /** ln softmax(logits [R, V]) at targets [R] → [R]. */
  tokenLogprob(logits: Value, targets: Value): Value {
    return this.apply("tokenLogprob", [logits, targets]);
  }

  /** Entropy in nats of softmax(logits [R, V]) → [R]. */
  entropy(logits: Value): Value {
    return this.apply("entropy", [logits]);
  }

  /** x [N, D] / rms(x) · weight [D]. */
  rmsNorm(x: Value, weight: Value, epsilon: number): Value {
    return this.apply("rmsNorm", [x, weight], { epsilon });
  }

  /** Rotates halves of each head of x [B, T, H·hd] by positions [B, T], tables cos, sin [M, hd/2]. */
  rope(x: Value, positions: Value, cos: Value, sin: Value): Value {
    return this.apply("rope", [x, positions, cos, sin]);
  }

  /**
   * softmax(q kᵀ · scale + mask) v for q [B, G, Q, hd], k and v [B, G, S, hd] → [B, G, Q, hd]. More
   * than one block: the mask [Q, S] is causal, and what it hides is not computed.
   */
  attention(
    { q, k, v, mask }: { q: Value; k: Value; v: Value; mask: Value },
    { scale, blocks }: { scale: number; blocks: number },
  ): Value {
    return this.apply("attention", [q, k, v, mask], { scale, blocks });
  }

  /** silu(gate) · up. */
  swiglu(gate: Value, up: Value): Value {
    return this.apply("swiglu", [gate, up]);
  }

  #reduce(op: OpName, x: Value, axes: readonly number[] | undefined, keepDims: boolean): Value {
    const rank = x.shape.length;
    const all = axes?.map((axis) => (axis < 0 ? axis + rank : axis)) ?? x.shape.map((_, i) => i);
    return this.apply(op, [x], { axes: all, keepDims });
  }

  #sharedConstant(key: string, make: () => Value): Value {
    const known = this.#known.get(key);
    if (known !== undefined) return known[0];
    const value = make();
    this.#known.set(key, [value]);
    return value;
  }

  #nextName(hint: string): string {
    return `${hint}_${this.#counter.next++}`;
  }
}
