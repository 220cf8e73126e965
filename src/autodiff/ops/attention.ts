/**
 * Attention, whose gradient is an operation of its own so that both can leave out what a causal mask
 * hides: queries are taken in blocks, and a block looks only at the keys up to its end.
 */
import { ShapeError } from "../../core/errors.js";
import { shapeText } from "../shape.js";
import type { Attributes, Dim, Emitter, OpRule, Value } from "../value.js";

/** Settings of attention and of its gradient. */
interface AttentionSettings {
  scale: number;
  /** Blocks of queries; 1 unless the mask is causal, and queries and keys are the same tokens. */
  blocks: number;
  /** Of the gradient: which of those by q, k and v are asked for. */
  wanted: readonly boolean[];
}

const settingsOf = (attributes: Attributes) => attributes as unknown as AttentionSettings;

/** The size of the first `count` of equal parts, or a name for it, such as `2/4 of T`. */
function reach(size: Dim, parts: number, count: number): Dim {
  if (count === parts) return size;
  if (typeof size === "string") return `${count}/${parts} of ${size.replaceAll("*", "·")}`;
  return Math.min(Math.ceil(size / parts) * count, size);
}

/** The size of one of equal parts, or a name for it, such as `part 1/4 of T`. */
function partSize(size: Dim, parts: number, i: number): Dim {
  if (parts === 1) return size;
  if (typeof size === "string") return `part ${i}/${parts} of ${size.replaceAll("*", "·")}`;
  const part = Math.ceil(size / parts);
  return Math.min(part * (i + 1), size) - Math.min(part * i, size);
}

function product(
  e: Emitter,
  [a, b]: readonly string[],
  { transA = false, transB = false, alpha = 1 },
): string {
  if (!transA && !transB && alpha === 1) return e.hidden("MatMul", [a, b]);
  const settings = { transA: +transA, transB: +transB, alpha: { float: alpha } };
  return e.hidden("FusedMatMul", [a, b], settings, "com.microsoft");
}

function joined(e: Emitter, parts: readonly string[], axis: number): string {
  return parts.length === 1 ? parts[0] : e.hidden("Concat", parts, { axis });
}

/** The equal parts of a value. */
function split(e: Emitter, x: Value, axis: number, parts: number): readonly string[] {
  return e.split(e.nameOf(x), axis, { size: x.shape[axis], parts, count: parts });
}

/** The first part, the first two parts, … of a value; all of them are the value itself. */
function prefixes(e: Emitter, x: Value, axis: number, parts: number): string[] {
  const pieces = split(e, x, axis, parts);
  return pieces.map((_, i) =>
    i === parts - 1 ? e.nameOf(x) : joined(e, pieces.slice(0, i + 1), axis),
  );
}

/** Sum over blocks of what each gives to the keys up to its end, [B, G, S, hd]. */
function sumOfPrefixes(e: Emitter, byBlock: readonly string[], size: Dim): string {
  const parts = byBlock.length;
  const sums: string[] = [];
  for (let i = parts - 1; i >= 0; i--) {
    e.split(byBlock[i], 2, { size, parts, count: i + 1 }).forEach((piece, j) => {
      sums[j] = i === parts - 1 ? piece : e.hidden("Add", [sums[j], piece]);
    });
  }
  return joined(e, sums, 2);
}

/** The rows of attention. */
export const attention = {
  /**
   * Inputs q [B, G, Q, hd], k and v [B, G, S, hd], mask that broadcasts to [B, G, Q, S] and is added
   * to the scores; attributes scale and blocks. Outputs [B, G, Q, hd], then the probabilities of each
   * block [B, G, its queries, the keys up to its end]. With n blocks the mask must hide from the i-th
   * of n equal parts of the queries whatever comes after the i-th of n equal parts of the keys.
   */
  attention: {
    outputs: ([q, k, v, mask], attributes) => {
      const { blocks } = settingsOf(attributes);
      const [queries, keys] = [q.shape[2], k.shape[2]];
      if (blocks > 1 && (mask.shape.at(-2) !== queries || mask.shape.at(-1) !== keys)) {
        const shapes = [q, k, v, mask].map(({ shape }) => shapeText(shape)).join(", ");
        throw new ShapeError(`attention in blocks needs a mask […, Q, S], got ${shapes}`);
      }
      const probabilities = Array.from({ length: blocks }, (_, i) => {
        const sizes = [partSize(queries, blocks, i), reach(keys, blocks, i + 1)];
        return { dtype: "f32", shape: [...q.shape.slice(0, 2), ...sizes] } as const;
      });
      return [{ dtype: "f32", shape: q.shape }, ...probabilities];
    },
    gradient: (b, { inputs, outputs, attributes }, [d]) => {
      if (d === null) return [null, null, null, null];
      const factors = inputs.slice(0, 3);
      const wanted = factors.map(({ gradient }) => gradient);
      const settings = { ...attributes, wanted };
      const found = b.applyAll("attentionGradient", [d, ...factors, ...outputs], settings);
      const order = wanted.map((_, i) => wanted.slice(0, i).filter(Boolean).length);
      return [...wanted.map((is, i) => (is ? found[order[i]] : null)), null];
    },
    emit: (e, { inputs: [q, k, v, mask], outputs: [y, ...probabilities], attributes }) => {
      const { scale: alpha, blocks } = settingsOf(attributes);
      const [rows, columns] = [mask.shape.length - 2, mask.shape.length - 1];
      const queries = split(e, q, 2, blocks);
      const masks = blocks === 1 ? [e.nameOf(mask)] : split(e, mask, rows, blocks);
      const [keys, values] = [k, v].map((x) => prefixes(e, x, 2, blocks));
      const along = { size: mask.shape[columns], parts: blocks, count: blocks };
      const results = probabilities.map((p, i) => {
        const scores = product(e, [queries[i], keys[i]], { transB: true, alpha });
        const pieces = e.split(masks[i], columns, along);
        const masked = e.hidden("Add", [scores, joined(e, pieces.slice(0, i + 1), columns)]);
        e.node("Softmax", [masked], [e.nameOf(p)], { axis: -1 });
        return [e.nameOf(p), values[i]];
      });
      if (blocks === 1) e.node("MatMul", results[0], [e.nameOf(y)]);
      else {
        const parts = results.map((factors) => product(e, factors, {}));
        e.node("Concat", parts, [e.nameOf(y)], { axis: 2 });
      }
    },
  },
  /**
   * Inputs the loss's gradient by attention's first output, then attention's q, k, v and outputs;
   * attributes those of attention, and which of the gradients by q, k and v are the outputs.
   */
  attentionGradient: {
    outputs: ([, ...factors], attributes) => {
      const { wanted } = settingsOf(attributes);
      const asked = factors.filter((_, i) => wanted[i]);
      return asked.map(({ shape }) => ({ dtype: "f32", shape }));
    },
    gradient: null,
    emit: (e, { inputs: [d, q, k, v, y, ...probabilities], outputs, attributes }) => {
      const { scale: alpha, blocks, wanted } = settingsOf(attributes);
      const [ds, queries, ys] = [d, q, y].map((x) => split(e, x, 2, blocks));
      const [keys, values] = [k, v].map((x) => prefixes(e, x, 2, blocks));
      const byBlock = probabilities.map((probability, i) => {
        const p = e.nameOf(probability);
        // softmax's inner product Σ p·dp per query equals d·y, which is hd long instead of S.
        const products = e.hidden("Mul", [ds[i], ys[i]]);
        const inner = e.hidden("ReduceSum", [products, e.integers([3])], { keepdims: 1 });
        const byP = product(e, [ds[i], values[i]], { transB: true });
        return { i, p, scores: e.hidden("Mul", [p, e.hidden("Sub", [byP, inner])]) };
      });
      const gradients = [
        () => {
          const parts = byBlock.map(({ i, scores }) => product(e, [scores, keys[i]], { alpha }));
          return joined(e, parts, 2);
        },
        () => {
          const settings = { transA: true, alpha };
          const parts = byBlock.map(({ i, scores }) => product(e, [scores, queries[i]], settings));
          return sumOfPrefixes(e, parts, k.shape[2]);
        },
        () => {
          const parts = byBlock.map(({ i, p }) => product(e, [p, ds[i]], { transA: true }));
          return sumOfPrefixes(e, parts, v.shape[2]);
        },
      ];
      gradients
        .filter((_, i) => wanted[i])
        .forEach((gradient, i) => e.node("Identity", [gradient()], [e.nameOf(outputs[i])]));
    },
  },
} satisfies Record<string, OpRule>;
