/** A comparison in plain sentences. */
import type { Comparison } from "./compare.js";

/** A share as percent, e.g. `31.4 %`. */
export function percent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

/** A difference in points with its sign, e.g. `+24.5`. */
export function points(value: number): string {
  const text = (100 * value).toFixed(1);
  return value >= 0 ? `+${text}` : text.replace("-", "−");
}

/** A p-value as one writes it. */
export function pValue(p: number): string {
  return p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;
}

/** Says whether the difference is beyond noise, and what it would take to know. */
export function conclude(comparison: Comparison): string {
  const { passAt1, counts, mcnemar, isBeyondNoise, pairs } = comparison;
  const difference =
    `pass@1 changed by ${points(passAt1.difference)} points on ${pairs.length} problems ` +
    `(95 % interval ${points(passAt1.low)} to ${points(passAt1.high)}; ` +
    `${counts.gained} gained, ${counts.lost} lost` +
    `${mcnemar === null ? "" : `, McNemar ${pValue(mcnemar)}`})`;
  if (isBeyondNoise) return `${difference}: more than chance explains.`;
  if (comparison.problemsNeeded === null) return `${difference}: no difference.`;
  return (
    `${difference}: within noise. A true difference of this size would take about ` +
    `${comparison.problemsNeeded.toLocaleString("en")} problems to show.`
  );
}
