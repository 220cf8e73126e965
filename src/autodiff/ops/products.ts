/** Matrix products. */
import { ShapeError } from "../../core/errors.js";
import { broadcastShape, shapeText } from "../shape.js";
import type { OpRule } from "../value.js";
import { reduceTo } from "./elementwise.js";

/** Settings of both products: y = alpha · a b, each operand transposed on request. */
interface ProductAttributes {
  transA: boolean;
  transB: boolean;
  alpha: number;
}

/** The rows of matrix products. */
export const products = {
  /** Over the last two axes; leading axes broadcast. */
  matmul: {
    outputs: ([a, b], attributes) => {
      const { transA, transB } = attributes as unknown as ProductAttributes;
      const [rows, inner] = transA ? [a.shape.at(-1), a.shape.at(-2)] : a.shape.slice(-2);
      const [inner2, columns] = transB ? [b.shape.at(-1), b.shape.at(-2)] : b.shape.slice(-2);
      if (rows === undefined || columns === undefined || inner !== inner2) {
        throw new ShapeError(`matmul of ${shapeText(a.shape)} and ${shapeText(b.shape)}`);
      }
      const lead = broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
      return [{ dtype: "f32", shape: [...lead, rows, columns] }];
    },
    gradient: (builder, { inputs: [a, b], attributes }, [d]) => {
      if (d === null) return [null, null];
      const { transA, transB, alpha } = attributes as unknown as ProductAttributes;
      const product = (x: typeof a, y: typeof a, tx: boolean, ty: boolean) =>
        builder.apply("matmul", [x, y], { transA: tx, transB: ty, alpha });
      const left = () => (transA ? product(b, d, transB, true) : product(d, b, false, !transB));
      const right = () => (transB ? product(d, a, true, transA) : product(a, d, !transA, false));
      return [
        a.gradient ? reduceTo(builder, left(), a.shape) : null,
        b.gradient ? reduceTo(builder, right(), b.shape) : null,
      ];
    },
    emit: (e, { inputs, outputs, attributes }) => {
      const { transA, transB, alpha } = attributes as unknown as ProductAttributes;
      const names = [inputs.map(e.nameOf), outputs.map(e.nameOf)] as const;
      if (!transA && !transB && alpha === 1) e.node("MatMul", ...names);
      else {
        const settings = { transA: +transA, transB: +transB, alpha: { float: alpha } };
        e.node("FusedMatMul", ...names, settings, "com.microsoft");
      }
    },
  },
  /** Of two matrices, with an optional third input, a bias [columns]. */
  gemm: {
    outputs: ([a, b, bias], attributes) => {
      const { transA, transB } = attributes as unknown as ProductAttributes;
      const [rows, inner] = transA ? [a.shape[1], a.shape[0]] : a.shape;
      const [inner2, columns] = transB ? [b.shape[1], b.shape[0]] : b.shape;
      const fits = a.shape.length === 2 && b.shape.length === 2 && inner === inner2;
      if (!fits || (bias !== undefined && bias.shape[0] !== columns)) {
        const shapes = [a, b, ...(bias === undefined ? [] : [bias])].map((x) => shapeText(x.shape));
        throw new ShapeError(`matrix product of ${shapes.join(" and ")}`);
      }
      return [{ dtype: "f32", shape: [rows, columns] }];
    },
    gradient: (builder, { inputs: [a, b, bias], attributes }, [d]) => {
      if (d === null) return [null, null, null];
      const { transA, transB, alpha } = attributes as unknown as ProductAttributes;
      const product = (x: typeof a, y: typeof a, tx: boolean, ty: boolean) =>
        builder.apply("gemm", [x, y], { transA: tx, transB: ty, alpha });
      const left = () => (transA ? product(b, d, transB, true) : product(d, b, false, !transB));
      const right = () => (transB ? product(d, a, true, transA) : product(a, d, !transA, false));
      const ofBias = () => builder.apply("reduceSum", [d], { axes: [0], keepDims: false });
      return [
        a.gradient ? left() : null,
        b.gradient ? right() : null,
        bias?.gradient === true ? ofBias() : null,
      ];
    },
    emit: (e, { inputs, outputs, attributes }) => {
      const { transA, transB, alpha } = attributes as unknown as ProductAttributes;
      const settings = { transA: +transA, transB: +transB, alpha: { float: alpha } };
      e.node("Gemm", inputs.map(e.nameOf), outputs.map(e.nameOf), settings);
    },
  },
} satisfies Record<string, OpRule>;
