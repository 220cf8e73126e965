/**
 * The table of operations: one row per name, holding its shape rule, its gradient rule and its
 * emission to ONNX. A new operation is a name in value.ts and a row; the tests walk the table.
 */
import { attention } from "./ops/attention.js";
import { decoder } from "./ops/decoder.js";
import { elementwise } from "./ops/elementwise.js";
import { products } from "./ops/products.js";
import { rows } from "./ops/rows.js";
import { sampling } from "./ops/sampling.js";
import { shaping } from "./ops/shaping.js";
import type { OpName, OpRule } from "./value.js";

/** Every operation by name. */
export const OPS: Record<OpName, OpRule> = {
  ...elementwise,
  ...shaping,
  ...products,
  ...rows,
  ...attention,
  ...decoder,
  ...sampling,
};
