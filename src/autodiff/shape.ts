/** Arithmetic on shapes whose dimensions are numbers or names. */
import { ShapeError } from "../core/errors.js";
import type { Dim } from "./value.js";

/** A shape as text, for messages. */
export function shapeText(shape: readonly Dim[]): string {
  return `[${shape.join(", ")}]`;
}

/** True when two shapes are the same, name by name. */
export function sameShape(a: readonly Dim[], b: readonly Dim[]): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i]);
}

/**
 * The shape to which two shapes broadcast by NumPy's rules.
 * @throws {ShapeError} if they do not.
 */
export function broadcastShape(a: readonly Dim[], b: readonly Dim[]): Dim[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const left = a[a.length - rank + i] ?? 1;
    const right = b[b.length - rank + i] ?? 1;
    if (left !== right && left !== 1 && right !== 1) {
      throw new ShapeError(`shapes ${shapeText(a)} and ${shapeText(b)} do not broadcast`);
    }
    return left === 1 ? right : left;
  });
}

/** The product of dimensions: a number, or a name such as `4*B*T`. */
export function productDim(dims: readonly Dim[]): Dim {
  const { factor, names } = factors(dims);
  if (names.length === 0 || factor === 0) return factor;
  return [...(factor === 1 ? [] : [String(factor)]), ...names].join("*");
}

/** Splits dimensions into the product of their numbers and the names, sorted. */
export function factors(dims: readonly Dim[]): { factor: number; names: string[] } {
  let factor = 1;
  const names: string[] = [];
  for (const part of dims.flatMap((dim) => String(dim).split("*"))) {
    if (/^\d+$/.test(part)) factor *= Number(part);
    else names.push(part);
  }
  return { factor, names: names.sort() };
}
