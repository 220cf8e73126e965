/**
 * The words of the graph: values, nodes, and the rule that one operation follows.
 *
 * A graph is a list of nodes over values. A value knows its type and shape; a dimension is a number
 * or, when it is known only at run time, a name such as `T` or a product of names such as `B*T`.
 */
import type { OnnxAttribute, OnnxGraph } from "../formats/onnx.js";

/** Element type of a value. */
export type DType = "f32" | "i64" | "bool";

/** One dimension: its size, or the name of a size known only when the graph runs. */
export type Dim = number | string;

/** A tensor at run time, row-major. `data` may be a view of a larger array. */
export interface Tensor {
  dtype: DType;
  shape: readonly number[];
  data: Float32Array | BigInt64Array | Uint8Array;
}

/** What a node produces and others consume. */
export interface Value {
  /** Unique in its graph and in the bodies inside it. */
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly Dim[];
  /** True when a gradient may flow through it to an input declared with `gradient`. */
  readonly gradient: boolean;
}

/** The operations; each has one row in ops.ts. */
export type OpName =
  // Elementwise, with NumPy's broadcasting.
  | "add"
  | "sub"
  | "mul"
  | "div"
  | "min"
  | "max"
  | "where"
  | "compare"
  | "logic"
  | "cast"
  | "neg"
  | "exp"
  | "log"
  | "sqrt"
  | "sigmoid"
  | "stopGradient"
  | "clip"
  // Reductions and shapes.
  | "reduceSum"
  | "reduceMean"
  | "reduceMax"
  | "sizeOf"
  | "expand"
  | "reshape"
  | "transpose"
  | "concat"
  | "slice"
  | "pad"
  // Products.
  | "matmul"
  | "gemm"
  // Rows of tables, and choices along the last axis.
  | "gatherRows"
  | "scatterRows"
  | "softmax"
  | "logSoftmax"
  | "tokenLogprob"
  | "entropy"
  | "scatterToken"
  // Parts of the decoder.
  | "rmsNorm"
  | "rope"
  | "attention"
  | "attentionGradient"
  | "swiglu"
  // Sampling; these have no gradient.
  | "cumSum"
  | "argMax"
  | "topK"
  | "pickLast"
  | "loop";

/** Settings of a node; their meaning is the operation's own. */
export type Attributes = Readonly<Record<string, unknown>>;

/** One application of an operation. */
export interface Node {
  readonly op: OpName;
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
  readonly attributes: Attributes;
}

/** What a gradient rule builds with: constants, and any operation of the table. */
export interface Builder {
  /** A float32 constant without dimensions. */
  scalar(value: number): Value;
  /** Applies an operation and answers its first output. */
  apply(op: OpName, inputs: readonly Value[], attributes?: Attributes): Value;
  /** Applies an operation and answers all its outputs. */
  applyAll(op: OpName, inputs: readonly Value[], attributes?: Attributes): readonly Value[];
}

/** Type and shape of one output. */
export interface OutputType {
  dtype: DType;
  shape: readonly Dim[];
}

/** A graph as the emitter reads it. */
export interface GraphContent {
  readonly nodes: readonly Node[];
  readonly inputs: readonly Value[];
  readonly outputs: readonly { readonly name: string; readonly value: Value }[];
  /** Data of the values that are constants, by name. */
  readonly constants: ReadonlyMap<string, Tensor>;
}

/** What an emission rule writes with; everything is by ONNX name. */
export interface Emitter {
  nameOf(value: Value): string;
  /** Adds an ONNX node with the given outputs. */
  node(
    op: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes?: Readonly<Record<string, OnnxAttribute>>,
    domain?: string,
  ): void;
  /** Adds a node with one output that is nobody else's, and answers its name. */
  hidden(
    op: string,
    inputs: readonly string[],
    attributes?: Readonly<Record<string, OnnxAttribute>>,
    domain?: string,
  ): string;
  /**
   * Splits along an axis. An axis of `size` is cut into `parts` equal parts, the last ones shorter or
   * empty; x holds the first `count` of them.
   */
  split(
    x: string,
    axis: number,
    along: { size: Dim; parts: number; count: number },
  ): readonly string[];
  constant(tensor: Tensor): string;
  /** A vector of integers, or one without dimensions. */
  integers(values: readonly number[]): string;
  integer(value: number): string;
  float(value: number): string;
  /** Vector of the sizes at run time, [dims.length]. */
  sizes(dims: readonly Dim[]): string;
  /** The same for ONNX's Reshape, where one unknown size may be -1. */
  reshapeTarget(dims: readonly Dim[]): string;
  body(graph: GraphContent, name: string): OnnxGraph;
}

/** Gradients of the inputs of a node; null where none flows. */
export type InputGradients = readonly (Value | null)[];

/** The rule of one operation: what comes out, how gradients flow, and how ONNX says it. */
export interface OpRule {
  /**
   * Type and shape of each output.
   * @throws {ShapeError} if the inputs do not fit.
   */
  outputs(inputs: readonly Value[], attributes: Attributes): OutputType[];
  /**
   * From the gradient of the loss by each output (null where the loss does not depend on it), that
   * by each input. A rule of null: there is none, and asking for it is an error.
   */
  gradient:
    ((builder: Builder, node: Node, by: readonly (Value | null)[]) => InputGradients) | null;
  /** Writes the ONNX nodes that compute the outputs. */
  emit(emitter: Emitter, node: Node): void;
}
