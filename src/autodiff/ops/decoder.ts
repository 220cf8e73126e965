/**
 * The parts of a decoder layer, each one operation with a gradient of its own.
 *
 * Deriving them from their elementwise steps would be right too, but would keep more intermediate
 * values alive and run more passes over memory, which is what a small model on a CPU waits for.
 */
import { ShapeError } from "../../core/errors.js";
import { shapeText } from "../shape.js";
import type { OpRule } from "../value.js";

/** The rows of decoder operations. */
export const decoder = {
  /**
   * Inputs x [N, D], weight [D]; attribute epsilon; outputs y [N, D] and 1/rms(x) [N, 1].
   * Source: Zhang and Sennrich 2019, https://arxiv.org/abs/1910.07467
   */
  rmsNorm: {
    outputs: ([x, weight]) => {
      if (weight.shape.length !== 1 || weight.shape[0] !== x.shape.at(-1)) {
        const shapes = `${shapeText(x.shape)} and ${shapeText(weight.shape)}`;
        throw new ShapeError(`rmsNorm needs x [N, D] and weight [D], got ${shapes}`);
      }
      return [
        { dtype: "f32", shape: x.shape },
        { dtype: "f32", shape: [...x.shape.slice(0, -1), 1] },
      ];
    },
    gradient: (b, { inputs: [x, weight], outputs: [, inverse] }, [d]) => {
      if (d === null) return [null, null];
      const last = x.shape.length - 1;
      const normed = b.apply("mul", [x, inverse]);
      const ofX = () => {
        // With x̂ = x/rms: dx = (d·w − x̂ · mean(d·w·x̂)) / rms
        const scaled = b.apply("mul", [d, weight]);
        const along = b.apply("reduceMean", [b.apply("mul", [scaled, normed])], {
          axes: [last],
          keepDims: true,
        });
        const across = b.apply("sub", [scaled, b.apply("mul", [normed, along])]);
        return b.apply("mul", [inverse, across]);
      };
      const ofWeight = () =>
        b.apply("reduceSum", [b.apply("mul", [d, normed])], {
          axes: x.shape.slice(0, -1).map((_, i) => i),
          keepDims: false,
        });
      return [x.gradient ? ofX() : null, weight.gradient ? ofWeight() : null];
    },
    emit: (e, { inputs, outputs, attributes }) => {
      const settings = {
        axis: -1,
        epsilon: { float: attributes.epsilon as number },
        stash_type: 1,
      };
      const names = [inputs.map(e.nameOf), outputs.map(e.nameOf)] as const;
      e.node("SimplifiedLayerNormalization", ...names, settings);
    },
  },
  /**
   * Inputs x [B, T, H·hd], positions [B, T], cos and sin [M, hd/2]; rotates the pair
   * (x_i, x_{i+hd/2}) of each head by the angle of its position.
   * Source: Su et al. 2021, https://arxiv.org/abs/2104.09864, with Hugging Face's pairing of halves.
   */
  rope: {
    outputs: ([x]) => [{ dtype: "f32", shape: x.shape }],
    // The transpose of a rotation is the rotation by the opposite angle.
    gradient: (b, { inputs: [, positions, cos, sin] }, [d]) => [
      d && b.apply("rope", [d, positions, cos, b.apply("neg", [sin])]),
      null,
      null,
      null,
    ],
    emit: (e, { inputs, outputs }) => {
      const names = [inputs.map(e.nameOf), outputs.map(e.nameOf)] as const;
      e.node("RotaryEmbedding", ...names, {}, "com.microsoft");
    },
  },
  /**
   * Inputs gate, up of one shape; outputs silu(gate)·up and silu(gate).
   * Source: Shazeer 2020, https://arxiv.org/abs/2002.05202
   */
  swiglu: {
    outputs: ([gate]) => [
      { dtype: "f32", shape: gate.shape },
      { dtype: "f32", shape: gate.shape },
    ],
    gradient: (b, { inputs: [gate, up], outputs: [y, silu] }, [d]) => {
      if (d === null) return [null, null];
      // With s = sigmoid(gate), silu′ = s + silu·(1 − s), so up·silu′ = y + s·(up − y).
      const ofGate = () => {
        const rest = b.apply("mul", [b.apply("sigmoid", [gate]), b.apply("sub", [up, y])]);
        return b.apply("mul", [d, b.apply("add", [y, rest])]);
      };
      return [gate.gradient ? ofGate() : null, up.gradient ? b.apply("mul", [d, silu]) : null];
    },
    emit: (e, { inputs: [gate, up], outputs: [y, silu] }) => {
      // x · sigmoid(1 · x) in one kernel.
      const settings = { alpha: { float: 1 } };
      e.node("QuickGelu", [e.nameOf(gate)], [e.nameOf(silu)], settings, "com.microsoft");
      e.node("Mul", [e.nameOf(silu), e.nameOf(up)], [e.nameOf(y)]);
    },
  },
} satisfies Record<string, OpRule>;
