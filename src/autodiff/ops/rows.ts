/** Rows of tables, and distributions over the last axis. */
import { ShapeError } from "../../core/errors.js";
import { productDim, sameShape, shapeText } from "../shape.js";
import type { Builder, Dim, Emitter, OpRule, Value } from "../value.js";

const LAST = { axes: [-1], keepDims: true };

/** Sum over the last axis, which stays with size 1. */
function sumLast(b: Builder, x: Value): Value {
  return b.apply("reduceSum", [x], { ...LAST, axes: [x.shape.length - 1] });
}

/** x [R] as a column [R, 1]. */
function column(b: Builder, x: Value): Value {
  return b.apply("reshape", [x], { shape: [...x.shape, 1] });
}

function unsqueezeLast(e: Emitter, x: Value): string {
  return e.hidden("Unsqueeze", [e.nameOf(x), e.integers([x.shape.length])]);
}

function expectRows(logits: Value, perRow: Value): void {
  if (!sameShape(logits.shape.slice(0, -1), perRow.shape)) {
    const shapes = `${shapeText(logits.shape)} and ${shapeText(perRow.shape)}`;
    throw new ShapeError(`expected one entry for each row of logits, got ${shapes}`);
  }
}

/** The rows of table and distribution operations. */
export const rows = {
  /** Inputs table [V, …], ids; attribute distinct: no id repeats; output [ids…, …]. */
  gatherRows: {
    outputs: ([table, ids]) => [
      { dtype: table.dtype, shape: [...ids.shape, ...table.shape.slice(1)] },
    ],
    gradient: (b, { inputs: [table, ids], attributes: { distinct } }, [d]) => [
      d && b.apply("scatterRows", [ids, d], { rows: table.shape[0], distinct }),
      null,
    ],
    emit: (e, { inputs, outputs }) =>
      e.node("Gather", inputs.map(e.nameOf), outputs.map(e.nameOf), { axis: 0 }),
  },
  /** Inputs ids, updates [ids…, …]; attributes rows, distinct. Adds updates into a zero table. */
  scatterRows: {
    outputs: ([ids, updates], { rows: size }) => [
      { dtype: "f32", shape: [size as Dim, ...updates.shape.slice(ids.shape.length)] },
    ],
    gradient: (b, { inputs: [ids], attributes: { distinct } }, [d]) => [
      null,
      d && b.apply("gatherRows", [d, ids], { distinct }),
    ],
    // ScatterND copies whole rows, but adds rows of one id from several threads at once: its sums
    // would differ from run to run. ScatterElements adds in order.
    emit: (e, { inputs: [ids, updates], outputs: [table], attributes: { distinct } }) => {
      const width = productDim(updates.shape.slice(ids.shape.length));
      const flat = [productDim(ids.shape), width];
      const zero = { dtype: "f32", shape: [1], data: new Float32Array(1) } as const;
      const empty = e.hidden("ConstantOfShape", [e.sizes([table.shape[0], width])], {
        value: { tensor: zero },
      });
      const column = e.hidden("Reshape", [e.nameOf(ids), e.integers([-1, 1])]);
      const by = e.hidden("Reshape", [e.nameOf(updates), e.reshapeTarget(flat)]);
      const added = () => {
        const at = e.hidden("Expand", [column, e.sizes(flat)]);
        const settings = { axis: 0, reduction: "add" };
        return e.hidden("ScatterElements", [empty, at, by], settings);
      };
      const sum = distinct === true ? e.hidden("ScatterND", [empty, column, by]) : added();
      e.node("Reshape", [sum, e.reshapeTarget(table.shape)], [e.nameOf(table)]);
    },
  },
  softmax: {
    outputs: ([x]) => [{ dtype: "f32", shape: x.shape }],
    gradient: (b, { outputs: [p] }, [d]) => {
      if (d === null) return [null];
      const weighted = b.apply("mul", [d, p]);
      return [b.apply("sub", [weighted, b.apply("mul", [p, sumLast(b, weighted)])])];
    },
    emit: (e, { inputs, outputs }) =>
      e.node("Softmax", inputs.map(e.nameOf), outputs.map(e.nameOf), { axis: -1 }),
  },
  logSoftmax: {
    outputs: ([x]) => [{ dtype: "f32", shape: x.shape }],
    gradient: (b, { outputs: [y] }, [d]) => {
      if (d === null) return [null];
      const p = b.apply("exp", [y]);
      return [b.apply("sub", [d, b.apply("mul", [p, sumLast(b, d)])])];
    },
    emit: (e, { inputs, outputs }) =>
      e.node("LogSoftmax", inputs.map(e.nameOf), outputs.map(e.nameOf), { axis: -1 }),
  },
  /** Inputs logits [R, V], targets [R]; outputs the log-probabilities [R] and logSoftmax [R, V]. */
  tokenLogprob: {
    outputs: ([logits, targets]) => {
      expectRows(logits, targets);
      return [
        { dtype: "f32", shape: targets.shape },
        { dtype: "f32", shape: logits.shape },
      ];
    },
    // ∂ ln p_target/∂ logits = onehot(target) − p
    gradient: (b, { inputs: [, targets], outputs: [, all] }, [d]) => {
      if (d === null) return [null, null];
      const spread = b.apply("mul", [b.apply("exp", [all]), column(b, b.apply("neg", [d]))]);
      return [b.apply("scatterToken", [spread, targets, d]), null];
    },
    emit: (e, { inputs: [logits, targets], outputs: [chosen, all] }) => {
      e.node("LogSoftmax", [e.nameOf(logits)], [e.nameOf(all)], { axis: -1 });
      const axis = targets.shape.length;
      const at = unsqueezeLast(e, targets);
      const picked = e.hidden("GatherElements", [e.nameOf(all), at], { axis });
      e.node("Squeeze", [picked, e.integers([axis])], [e.nameOf(chosen)]);
    },
  },
  /** Inputs logits [R, V]; outputs the entropies [R] and logSoftmax [R, V]. */
  entropy: {
    outputs: ([logits]) => [
      { dtype: "f32", shape: logits.shape.slice(0, -1) },
      { dtype: "f32", shape: logits.shape },
    ],
    // ∂H/∂ logits = −p (ln p + H)
    gradient: (b, { outputs: [entropies, all] }, [d]) => {
      if (d === null) return [null];
      const surprise = b.apply("add", [all, column(b, entropies)]);
      const weighted = b.apply("mul", [b.apply("exp", [all]), column(b, b.apply("neg", [d]))]);
      return [b.apply("mul", [weighted, surprise])];
    },
    emit: (e, { inputs: [logits], outputs: [entropies, all] }) => {
      e.node("LogSoftmax", [e.nameOf(logits)], [e.nameOf(all)], { axis: -1 });
      const weighted = e.hidden("Mul", [e.hidden("Exp", [e.nameOf(all)]), e.nameOf(all)]);
      const axes = e.integers([logits.shape.length - 1]);
      const negative = e.hidden("ReduceSum", [weighted, axes], { keepdims: 0 });
      e.node("Neg", [negative], [e.nameOf(entropies)]);
    },
  },
  /** Inputs base [R, V], targets [R], amounts [R]; adds each amount at its row's target. */
  scatterToken: {
    outputs: ([base, targets]) => {
      expectRows(base, targets);
      return [{ dtype: "f32", shape: base.shape }];
    },
    gradient: (b, { inputs: [, targets] }, [d]) => [
      d,
      null,
      d && b.apply("pickLast", [d, targets]),
    ],
    emit: (e, { inputs: [base, targets, amounts], outputs }) => {
      const [at, by] = [unsqueezeLast(e, targets), unsqueezeLast(e, amounts)];
      const settings = { axis: targets.shape.length, reduction: "add" };
      e.node("ScatterElements", [e.nameOf(base), at, by], outputs.map(e.nameOf), settings);
    },
  },
  /** Inputs x […, V], ids […]; output x at ids, […]. */
  pickLast: {
    outputs: ([x, ids]) => {
      expectRows(x, ids);
      return [{ dtype: x.dtype, shape: ids.shape }];
    },
    gradient: (b, { inputs: [x, ids] }, [d]) => {
      if (d === null) return [null, null];
      const zero = b.apply("expand", [b.scalar(0)], { shape: x.shape });
      return [b.apply("scatterToken", [zero, ids, d]), null];
    },
    emit: (e, { inputs: [x, ids], outputs }) => {
      const axis = ids.shape.length;
      const picked = e.hidden("GatherElements", [e.nameOf(x), unsqueezeLast(e, ids)], { axis });
      e.node("Squeeze", [picked, e.integers([axis])], outputs.map(e.nameOf));
    },
  },
} satisfies Record<string, OpRule>;
