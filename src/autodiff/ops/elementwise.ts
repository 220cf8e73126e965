/** Elementwise operations, with NumPy's broadcasting. */
import { broadcastShape, sameShape } from "../shape.js";
import { ShapeError } from "../../core/errors.js";
import { ONNX_TYPES } from "../../formats/onnx.js";
import type { Builder, Dim, DType, Node, OpRule, Value } from "../value.js";

/** Sums a gradient over the axes along which its input was broadcast. */
export function reduceTo(b: Builder, gradient: Value, shape: readonly Dim[]): Value {
  if (sameShape(gradient.shape, shape)) return gradient;
  const lead = gradient.shape.length - shape.length;
  const axes = gradient.shape.flatMap((dim, i) =>
    i < lead || (shape[i - lead] === 1 && dim !== 1) ? [i] : [],
  );
  const summed =
    axes.length === 0 ? gradient : b.apply("reduceSum", [gradient], { axes, keepDims: true });
  return lead === 0 ? summed : b.apply("reshape", [summed], { shape });
}

type Part = (b: Builder, d: Value, node: Node) => Value;

/** A binary operation of ONNX; `left` and `right` are its gradients before broadcasting is undone. */
function binary(onnx: string, left: Part, right: Part): OpRule {
  return {
    outputs: ([a, b]) => [{ dtype: a.dtype, shape: broadcastShape(a.shape, b.shape) }],
    gradient: (b, node, [d]) =>
      [left, right].map((part, i) => {
        const input = node.inputs[i];
        return d !== null && input.gradient ? reduceTo(b, part(b, d, node), input.shape) : null;
      }),
    emit: (e, { inputs, outputs }) => e.node(onnx, inputs.map(e.nameOf), outputs.map(e.nameOf)),
  };
}

/** A unary operation of ONNX whose output has the shape of its input. */
function unary(onnx: string, part: Part): OpRule {
  return {
    outputs: ([x]) => [{ dtype: x.dtype, shape: x.shape }],
    gradient: (b, node, [d]) => [d === null ? null : part(b, d, node)],
    emit: (e, { inputs, outputs }) => e.node(onnx, inputs.map(e.nameOf), outputs.map(e.nameOf)),
  };
}

/** d where the comparison of the two inputs holds, else 0. */
function chosen(how: string): Part {
  return (b, d, { inputs }) =>
    b.apply("where", [b.apply("compare", inputs, { how }), d, b.scalar(0)]);
}

const COMPARISONS: Record<string, string> = {
  equal: "Equal",
  less: "Less",
  lessOrEqual: "LessOrEqual",
  greater: "Greater",
  greaterOrEqual: "GreaterOrEqual",
};

/** The rows of elementwise operations. */
export const elementwise = {
  add: binary(
    "Add",
    (_, d) => d,
    (_, d) => d,
  ),
  sub: binary(
    "Sub",
    (_, d) => d,
    (b, d) => b.apply("neg", [d]),
  ),
  mul: binary(
    "Mul",
    (b, d, { inputs }) => b.apply("mul", [d, inputs[1]]),
    (b, d, { inputs }) => b.apply("mul", [d, inputs[0]]),
  ),
  div: binary(
    "Div",
    (b, d, { inputs }) => b.apply("div", [d, inputs[1]]),
    // ∂(a/b)/∂b = −(a/b)/b
    (b, d, { inputs, outputs }) =>
      b.apply("neg", [b.apply("div", [b.apply("mul", [d, outputs[0]]), inputs[1]])]),
  ),
  // On a tie the gradient goes to the first input, so that it is counted once.
  min: binary("Min", chosen("lessOrEqual"), chosen("greater")),
  max: binary("Max", chosen("greaterOrEqual"), chosen("less")),
  neg: unary("Neg", (b, d) => b.apply("neg", [d])),
  exp: unary("Exp", (b, d, { outputs }) => b.apply("mul", [d, outputs[0]])),
  log: unary("Log", (b, d, { inputs }) => b.apply("div", [d, inputs[0]])),
  sqrt: unary("Sqrt", (b, d, { outputs }) =>
    b.apply("div", [b.apply("mul", [d, b.scalar(0.5)]), outputs[0]]),
  ),
  sigmoid: unary("Sigmoid", (b, d, { outputs: [y] }) =>
    b.apply("mul", [d, b.apply("sub", [y, b.apply("mul", [y, y])])]),
  ),
  /** The same values, taken as constants by every gradient. */
  stopGradient: {
    outputs: ([x]) => [{ dtype: x.dtype, shape: x.shape }],
    gradient: null,
    emit: (e, { inputs, outputs }) =>
      e.node("Identity", inputs.map(e.nameOf), outputs.map(e.nameOf)),
  },
  /** Attributes low, high. */
  clip: {
    outputs: ([x]) => [{ dtype: "f32", shape: x.shape }],
    gradient: (b, { inputs: [x], outputs: [y] }, [d]) => [
      d && b.apply("where", [b.apply("compare", [x, y], { how: "equal" }), d, b.scalar(0)]),
    ],
    emit: (e, { inputs, outputs, attributes }) => {
      const bounds = [attributes.low, attributes.high].map((bound) => e.float(bound as number));
      e.node("Clip", [e.nameOf(inputs[0]), ...bounds], outputs.map(e.nameOf));
    },
  },
  /** Inputs condition, a, b. */
  where: {
    outputs: ([condition, a, b]) => {
      if (condition.dtype !== "bool" || a.dtype !== b.dtype) {
        throw new ShapeError(
          `where needs a bool and two of one type, got ${condition.dtype}, ${a.dtype}, ${b.dtype}`,
        );
      }
      const shape = broadcastShape(condition.shape, broadcastShape(a.shape, b.shape));
      return [{ dtype: a.dtype, shape }];
    },
    gradient: (b, { inputs: [condition, x, y] }, [d]) => {
      if (d === null) return [null, null, null];
      const zero = b.scalar(0);
      const left = () => reduceTo(b, b.apply("where", [condition, d, zero]), x.shape);
      const right = () => reduceTo(b, b.apply("where", [condition, zero, d]), y.shape);
      return [null, x.gradient ? left() : null, y.gradient ? right() : null];
    },
    emit: (e, { inputs, outputs }) => e.node("Where", inputs.map(e.nameOf), outputs.map(e.nameOf)),
  },
  /** Attribute how; the result is bool. */
  compare: {
    outputs: ([a, b]) => [{ dtype: "bool", shape: broadcastShape(a.shape, b.shape) }],
    gradient: null,
    emit: (e, { inputs, outputs, attributes }) => {
      e.node(COMPARISONS[attributes.how as string], inputs.map(e.nameOf), outputs.map(e.nameOf));
    },
  },
  /** Attribute how: and, or. */
  logic: {
    outputs: ([a, b]) => [{ dtype: "bool", shape: broadcastShape(a.shape, b.shape) }],
    gradient: null,
    emit: (e, { inputs, outputs, attributes }) => {
      const op = attributes.how === "and" ? "And" : "Or";
      e.node(op, inputs.map(e.nameOf), outputs.map(e.nameOf));
    },
  },
  /** Attribute to, the new type. */
  cast: {
    outputs: ([x], { to }) => [{ dtype: to as DType, shape: x.shape }],
    gradient: null,
    emit: (e, { inputs, outputs, attributes }) => {
      const to = ONNX_TYPES[attributes.to as DType];
      e.node("Cast", inputs.map(e.nameOf), outputs.map(e.nameOf), { to });
    },
  },
} satisfies Record<string, OpRule>;
