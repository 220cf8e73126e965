/** What generation needs besides the decoder: choices, and the loop. None has a gradient. */
import type { Dim, GraphContent, OpRule } from "../value.js";

/** The rows of sampling operations. */
export const sampling = {
  /** Running sum along the last axis. */
  cumSum: {
    outputs: ([x]) => [{ dtype: "f32", shape: x.shape }],
    gradient: null,
    emit: (e, { inputs: [x], outputs }) => {
      const axis = e.integer(x.shape.length - 1);
      e.node("CumSum", [e.nameOf(x), axis], outputs.map(e.nameOf));
    },
  },
  /** Index of the first maximum of the last axis, which disappears. */
  argMax: {
    outputs: ([x]) => [{ dtype: "i64", shape: x.shape.slice(0, -1) }],
    gradient: null,
    emit: (e, { inputs, outputs }) =>
      e.node("ArgMax", inputs.map(e.nameOf), outputs.map(e.nameOf), { axis: -1, keepdims: 0 }),
  },
  /** Attribute size; the largest of the last axis in falling order, and their indices. */
  topK: {
    outputs: ([x], { size }) => {
      const shape = [...x.shape.slice(0, -1), size as number];
      return [
        { dtype: "f32", shape },
        { dtype: "i64", shape },
      ];
    },
    gradient: null,
    emit: (e, { inputs: [x], outputs, attributes }) => {
      const size = e.integers([attributes.size as number]);
      e.node("TopK", [e.nameOf(x), size], outputs.map(e.nameOf), { axis: -1 });
    },
  },
  /**
   * Inputs the greatest number of rounds, the first condition, then the states; attributes body, a
   * graph from (round, condition, states…) to (condition, states…, per-round results…), states (how
   * many) and rounds (the name of the rounds' dimension). Outputs the last states, then each result
   * of all rounds stacked [rounds, …].
   */
  loop: {
    outputs: (_, attributes) => {
      const body = attributes.body as GraphContent;
      const count = attributes.states as number;
      return body.outputs.slice(1).map(({ value: { dtype, shape } }, i) => ({
        dtype,
        shape: i < count ? shape : [attributes.rounds as Dim, ...shape],
      }));
    },
    gradient: null,
    emit: (e, { inputs, outputs, attributes }) => {
      const graph = e.body(attributes.body as GraphContent, "body");
      e.node("Loop", inputs.map(e.nameOf), outputs.map(e.nameOf), { body: { graph } });
    },
  },
} satisfies Record<string, OpRule>;
