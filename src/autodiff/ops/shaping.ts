/** Reductions, and operations that move elements without changing them. */
import { ShapeError } from "../../core/errors.js";
import { broadcastShape, factors, sameShape, shapeText } from "../shape.js";
import type { Builder, Dim, Node, OpRule, Value } from "../value.js";
import { reduceTo } from "./elementwise.js";

const axesOf = (node: Node) => node.attributes.axes as number[];

/** The shape of a reduction's input with 1 for each reduced axis. */
function keptShape(x: Value, axes: readonly number[]): Dim[] {
  return x.shape.map((dim, i) => (axes.includes(i) ? 1 : dim));
}

/** A reduction's value or gradient, [kept…] whether or not axes were dropped. */
function keep(b: Builder, y: Value, { inputs: [x], attributes }: Node): Value {
  const shape = keptShape(x, attributes.axes as number[]);
  return sameShape(y.shape, shape) ? y : b.apply("reshape", [y], { shape });
}

/** Attributes axes (not negative) and keepDims. */
function reduction(onnx: string, gradient: (b: Builder, d: Value, node: Node) => Value): OpRule {
  return {
    outputs: ([x], attributes) => {
      const axes = attributes.axes as number[];
      const shape = attributes.keepDims
        ? keptShape(x, axes)
        : x.shape.filter((_, i) => !axes.includes(i));
      return [{ dtype: "f32", shape }];
    },
    gradient: (b, node, [d]) => [d && gradient(b, keep(b, d, node), node)],
    emit: (e, node) => {
      const inputs = [e.nameOf(node.inputs[0]), e.integers(axesOf(node))];
      e.node(onnx, inputs, node.outputs.map(e.nameOf), {
        keepdims: node.attributes.keepDims ? 1 : 0,
      });
    },
  };
}

const spread = (b: Builder, d: Value, { inputs: [x] }: Node) =>
  sameShape(d.shape, x.shape) ? d : b.apply("expand", [d], { shape: x.shape });

/** The size of `concat` along its axis: the sum of numbers, or the name the caller gave. */
function joinedSize(parts: readonly Value[], axis: number, size: Dim | undefined): Dim {
  const sizes = parts.map((part) => part.shape[axis]);
  if (sizes.every((dim) => typeof dim === "number")) return sizes.reduce((a, b) => a + b, 0);
  if (size === undefined) {
    throw new ShapeError(`concat along ${sizes.join(" + ")} needs a name for the joined size`);
  }
  return size;
}

/** The rows of reductions and shape operations. */
export const shaping = {
  reduceSum: reduction("ReduceSum", spread),
  reduceMean: reduction("ReduceMean", (b, d, node) => {
    const dims = node.inputs[0].shape.filter((_, i) => axesOf(node).includes(i));
    return spread(b, b.apply("div", [d, b.apply("sizeOf", [], { dims })]), node);
  }),
  /** Elements that tie for the maximum all receive the gradient. */
  reduceMax: reduction("ReduceMax", (b, d, node) => {
    const highest = keep(b, node.outputs[0], node);
    const isHighest = b.apply("compare", [node.inputs[0], highest], { how: "equal" });
    return b.apply("where", [isHighest, d, b.scalar(0)]);
  }),
  /** Attribute dims; their product as a float32 without dimensions. */
  sizeOf: {
    outputs: () => [{ dtype: "f32", shape: [] }],
    gradient: null,
    emit: (e, { outputs, attributes }) => {
      const sizes = e.sizes(attributes.dims as Dim[]);
      const product = e.hidden("ReduceProd", [sizes], { keepdims: 0 });
      e.node("Cast", [product], outputs.map(e.nameOf), { to: 1 });
    },
  },
  /** Attribute shape, to which the input broadcasts. */
  expand: {
    outputs: ([x], { shape }) => {
      const target = shape as Dim[];
      if (!sameShape(broadcastShape(x.shape, target), target)) {
        throw new ShapeError(`${shapeText(x.shape)} does not expand to ${shapeText(target)}`);
      }
      return [{ dtype: x.dtype, shape: target }];
    },
    gradient: (b, { inputs: [x] }, [d]) => [d && reduceTo(b, d, x.shape)],
    emit: (e, { inputs, outputs, attributes }) => {
      const target = e.sizes(attributes.shape as Dim[]);
      e.node("Expand", [e.nameOf(inputs[0]), target], outputs.map(e.nameOf));
    },
  },
  /** Attribute shape, with the same product. */
  reshape: {
    outputs: ([x], { shape }) => {
      const target = shape as Dim[];
      const [from, to] = [factors(x.shape), factors(target)];
      if (from.factor !== to.factor || from.names.join() !== to.names.join()) {
        throw new ShapeError(`${shapeText(x.shape)} does not reshape to ${shapeText(target)}`);
      }
      return [{ dtype: x.dtype, shape: target }];
    },
    gradient: (b, { inputs: [x] }, [d]) => [d && b.apply("reshape", [d], { shape: x.shape })],
    emit: (e, { inputs, outputs, attributes }) => {
      const target = e.reshapeTarget(attributes.shape as Dim[]);
      e.node("Reshape", [e.nameOf(inputs[0]), target], outputs.map(e.nameOf));
    },
  },
  /** Attribute order: output axis i is input axis order[i]. */
  transpose: {
    outputs: ([x], { order }) => [
      { dtype: x.dtype, shape: (order as number[]).map((axis) => x.shape[axis]) },
    ],
    gradient: (b, { attributes }, [d]) => {
      const order = attributes.order as number[];
      const inverse = order.map((_, axis) => order.indexOf(axis));
      return [d && b.apply("transpose", [d], { order: inverse })];
    },
    emit: (e, { inputs, outputs, attributes }) => {
      const perm = attributes.order as number[];
      e.node("Transpose", inputs.map(e.nameOf), outputs.map(e.nameOf), { perm });
    },
  },
  /** Attributes axis and, where sizes are not all numbers, the joined size. */
  concat: {
    outputs: (parts, { axis, size }) => {
      const joined = joinedSize(parts, axis as number, size as Dim | undefined);
      const shape = parts[0].shape.map((dim, i) => (i === axis ? joined : dim));
      return [{ dtype: parts[0].dtype, shape }];
    },
    gradient: (b, { inputs, attributes }, [d]) => {
      const axis = attributes.axis as number;
      let start = 0;
      return inputs.map((part) => {
        const size = part.shape[axis];
        if (typeof size !== "number") {
          throw new ShapeError(`the gradient of concat needs sizes in numbers, got ${size}`);
        }
        const end = start + size;
        const piece = d && b.apply("slice", [d], { axis, start, end });
        start = end;
        return piece;
      });
    },
    emit: (e, { inputs, outputs, attributes }) => {
      const axis = attributes.axis as number;
      e.node("Concat", inputs.map(e.nameOf), outputs.map(e.nameOf), { axis });
    },
  },
  /** Attributes axis, start, end, within a size known as a number. */
  slice: {
    outputs: ([x], attributes) => {
      const { axis, start, end } = attributes as { axis: number; start: number; end: number };
      const size = x.shape[axis];
      if (typeof size !== "number" || start < 0 || end > size || start >= end) {
        throw new ShapeError(
          `slice ${start}:${end} needs a range within axis ${axis}, got ${size}`,
        );
      }
      return [{ dtype: x.dtype, shape: x.shape.map((dim, i) => (i === axis ? end - start : dim)) }];
    },
    gradient: (b, { inputs: [x], attributes }, [d]) => {
      const { axis, start, end } = attributes as { axis: number; start: number; end: number };
      const after = (x.shape[axis] as number) - end;
      return [d && b.apply("pad", [d], { axis, before: start, after })];
    },
    emit: (e, { inputs, outputs, attributes }) => {
      const bounds = [attributes.start, attributes.end, attributes.axis] as number[];
      const names = bounds.map((value) => e.integers([value]));
      e.node("Slice", [e.nameOf(inputs[0]), ...names], outputs.map(e.nameOf));
    },
  },
  /** Zeros before and after along one axis of a size known as a number. */
  pad: {
    outputs: ([x], attributes) => {
      const { axis, before, after } = attributes as { axis: number; before: number; after: number };
      const size = (x.shape[axis] as number) + before + after;
      return [{ dtype: x.dtype, shape: x.shape.map((dim, i) => (i === axis ? size : dim)) }];
    },
    gradient: (b, { inputs: [x], attributes }, [d]) => {
      const { axis, before } = attributes as { axis: number; before: number };
      const end = before + (x.shape[axis] as number);
      return [d && b.apply("slice", [d], { axis, start: before, end })];
    },
    emit: (e, { inputs, outputs, attributes }) => {
      const { axis, before, after } = attributes as { axis: number; before: number; after: number };
      const pads = [e.integers([before, after]), "", e.integers([axis])];
      e.node("Pad", [e.nameOf(inputs[0]), ...pads], outputs.map(e.nameOf));
    },
  },
} satisfies Record<string, OpRule>;
