/**
 * AdamW and gradient clipping over flat arenas: every parameter of a model in one Float32Array.
 *
 * The arithmetic follows torch.optim.AdamW (decoupled decay first, bias-corrected moments, ε outside
 * the square root), and like torch it is done in float32.
 *
 * Source: Loshchilov & Hutter 2019, https://arxiv.org/abs/1711.05101
 */
import { ShapeError } from "../core/errors.js";
import { adamWKernel, CHUNK } from "./adam-kernel.js";

/** One update of AdamW; `params`, `m` and `v` are changed in place. */
export interface AdamWStep {
  /** [N] */
  params: Float32Array;
  /** [N] Already accumulated and clipped. */
  gradients: Float32Array;
  /** [N] First moment. */
  m: Float32Array;
  /** [N] Second moment. */
  v: Float32Array;
  /** Number of this update, counted from 1: it corrects the bias of the moments. */
  step: number;
  lr: number;
  betas: readonly [number, number];
  /** Added to the root of the second moment. */
  eps: number;
  weightDecay: number;
}

/**
 * Applies one AdamW update in place.
 *
 * @throws {ShapeError} if the arenas differ in length or `step` is below 1.
 */
export function adamWStep(update: AdamWStep): void {
  const { params, gradients, m, v, step, lr, betas, eps, weightDecay } = update;
  const size = params.length;
  if (gradients.length !== size || m.length !== size || v.length !== size) {
    throw new ShapeError(
      `AdamW needs equal [N] arenas, got params ${size}, gradients ${gradients.length}, m ${m.length}, v ${v.length}`,
    );
  }
  if (!(step >= 1)) throw new ShapeError(`AdamW counts updates from 1, got step ${step}`);
  const [beta1, beta2] = betas;
  // Both bias corrections are taken out of the loop, which leaves one division in it:
  // a·m / (√v/c + ε) = a·c·m / (√v + c·ε), with a = lr / (1 − β₁ⁿ) and c = √(1 − β₂ⁿ).
  const rootCorrection = Math.sqrt(1 - beta2 ** step);
  const stepSize = (lr * rootCorrection) / (1 - beta1 ** step);
  const coefficients = {
    beta1,
    ofGradient: 1 - beta1,
    beta2,
    ofSquare: 1 - beta2,
    decay: 1 - lr * weightDecay,
    stepSize,
    epsilon: eps * rootCorrection,
  };
  const kernel = adamWKernel();
  for (let start = 0; start < size; start += CHUNK) {
    const end = Math.min(start + CHUNK, size);
    kernel.params.set(params.subarray(start, end));
    kernel.gradients.set(gradients.subarray(start, end));
    kernel.m.set(m.subarray(start, end));
    kernel.v.set(v.subarray(start, end));
    kernel.run(end - start, coefficients);
    params.set(kernel.params.subarray(0, end - start), start);
    m.set(kernel.m.subarray(0, end - start), start);
    v.set(kernel.v.subarray(0, end - start), start);
  }
}

/**
 * Scales the gradients in place so that their norm over all parameters is at most `maxNorm`, and
 * returns the norm they had. A norm that is not finite leaves them as they are: the caller decides.
 *
 * `maxNorm` null only measures. The factor is torch's: maxNorm / (norm + 1e-6), at most 1.
 */
export function clipByGlobalNorm(gradients: Float32Array, maxNorm: number | null): number {
  let sum = 0;
  for (let i = 0; i < gradients.length; i++) sum += gradients[i] * gradients[i];
  const norm = Math.sqrt(sum);
  if (maxNorm === null || !Number.isFinite(norm)) return norm;
  const factor = maxNorm / (norm + 1e-6);
  if (factor < 1) for (let i = 0; i < gradients.length; i++) gradients[i] *= factor;
  return norm;
}
