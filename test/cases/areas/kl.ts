/** KL estimators and their gradients. */
import { type KlEstimator, klGradientOf, klKind, klOf } from "../../../src/train/kl.js";
import { maskedMean } from "../../../src/train/masked.js";
import type { Case } from "../case.js";
import { differ } from "./numbers.js";

interface Input {
  estimator: KlEstimator | KlEstimator[];
  logp: number[];
  ref_logp: number[];
  mask: number[];
  check?: string;
}

/** Runs one case. */
export async function run({ input: raw, expected: rawExpected }: Case): Promise<string | null> {
  const input = raw as unknown as Input;
  const expected = rawExpected as Record<string, unknown>;
  const names = [input.estimator].flat();
  for (const name of names) {
    const { estimator } = klKind(name);
    const values = input.logp.map((logp, i) => klOf(estimator, logp, input.ref_logp[i]));
    const wanted = (names.length > 1 ? expected[name] : expected.per_token) as number[] | undefined;
    const tolerance = (expected.tol as number | undefined) ?? 1e-6;
    const wrong = wanted === undefined ? null : differ(values, wanted, tolerance);
    if (wrong !== null) return `${name}: ${wrong}`;
    if (typeof expected.mean === "number") {
      const mean = differ([maskedMean(values, input.mask)], [expected.mean], tolerance);
      if (mean !== null) return mean;
    }
    const slopes = input.logp.map((logp, i) => klGradientOf(klKind(name), logp, input.ref_logp[i]));
    const finite = [...values, ...slopes].every(Number.isFinite);
    if (expected.gradient_finite === true && !finite) return `not finite: ${slopes.join(", ")}`;
  }
  return null;
}
