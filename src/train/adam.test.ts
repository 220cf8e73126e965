import { describe, expect, test } from "vitest";
import { ShapeError } from "../core/errors.js";
import { CHUNK } from "./adam-kernel.js";
import { adamWStep, clipByGlobalNorm } from "./adam.js";

const settings = { lr: 0.1, betas: [0.9, 0.999] as const, eps: 1e-8, weightDecay: 0 };
const zeros = (size: number) => ({ m: new Float32Array(size), v: new Float32Array(size) });

describe("adamWStep", () => {
  test("moves by the learning rate against the sign at its first update, whatever the size", () => {
    const params = Float32Array.of(1, 1, 1);
    const gradients = Float32Array.of(1e-3, -5, 0);
    adamWStep({ params, gradients, ...zeros(3), step: 1, ...settings });
    expect(params[0]).toBeCloseTo(0.9, 5);
    expect(params[1]).toBeCloseTo(1.1, 5);
    expect(params[2]).toBe(1);
  });

  test("equals its definition over three updates", () => {
    const [lr, b1, b2, eps, wd] = [0.05, 0.8, 0.9, 1e-3, 0.1];
    const grads = [0.3, -0.7, 0.2];
    let [p, m, v] = [0.5, 0, 0];
    const params = Float32Array.of(0.5);
    const moments = zeros(1);
    grads.forEach((g, i) => {
      p *= 1 - lr * wd;
      m = b1 * m + (1 - b1) * g;
      v = b2 * v + (1 - b2) * g * g;
      p -= (lr * (m / (1 - b1 ** (i + 1)))) / (Math.sqrt(v / (1 - b2 ** (i + 1))) + eps);
      const gradients = Float32Array.of(g);
      const hyper = { lr, betas: [b1, b2] as const, eps, weightDecay: wd };
      adamWStep({ params, gradients, ...moments, step: i + 1, ...hyper });
    });
    expect(params[0]).toBeCloseTo(p, 6);
  });

  test.each([CHUNK - 1, CHUNK, CHUNK + 2])("updates each of %i parameters alone", (size) => {
    const wave = (i: number) => Math.sin(i + 1);
    const arena = {
      params: Float32Array.from({ length: size }, (_, i) => wave(i)),
      ...zeros(size),
    };
    const gradients = Float32Array.from({ length: size }, (_, i) => 1e-2 * wave(7 * i));
    for (const step of [1, 2]) adamWStep({ ...arena, gradients, step, ...settings });
    for (const i of [0, 1, 2, size - 3, size - 2, size - 1]) {
      const alone = { params: Float32Array.of(wave(i)), ...zeros(1) };
      const own = gradients.slice(i, i + 1);
      for (const step of [1, 2]) adamWStep({ ...alone, gradients: own, step, ...settings });
      expect([arena.params[i], arena.m[i], arena.v[i]]).toEqual([
        alone.params[0],
        alone.m[0],
        alone.v[0],
      ]);
    }
  });

  test("decays weights that have no gradient, and only those asked", () => {
    const params = Float32Array.of(2);
    const gradients = Float32Array.of(0);
    adamWStep({ params, gradients, ...zeros(1), step: 1, ...settings, weightDecay: 0.5 });
    expect(params[0]).toBeCloseTo(2 * (1 - 0.1 * 0.5), 6);
  });

  test("refuses arenas of different lengths and a step counted from 0", () => {
    const params = Float32Array.of(1);
    const update = { params, gradients: Float32Array.of(1), ...zeros(1), step: 1, ...settings };
    expect(() => adamWStep({ ...update, m: new Float32Array(2) })).toThrow(ShapeError);
    expect(() => adamWStep({ ...update, step: 0 })).toThrow(ShapeError);
  });
});

describe("clipByGlobalNorm", () => {
  test("scales all gradients by one factor and answers the norm before", () => {
    const gradients = Float32Array.of(3, 4);
    expect(clipByGlobalNorm(gradients, 1)).toBe(5);
    expect(Math.hypot(...gradients)).toBeCloseTo(1, 5);
    expect(gradients[1] / gradients[0]).toBeCloseTo(4 / 3, 5);
  });

  test("leaves small, unlimited and non-finite gradients alone", () => {
    const small = Float32Array.of(0.3, 0.4);
    expect(clipByGlobalNorm(small, 1)).toBeCloseTo(0.5, 6);
    expect(small).toEqual(Float32Array.of(0.3, 0.4));
    const big = Float32Array.of(30, 40);
    expect(clipByGlobalNorm(big, null)).toBe(50);
    expect(big).toEqual(Float32Array.of(30, 40));
    expect(clipByGlobalNorm(Float32Array.of(NaN, 1), 1)).toBeNaN();
  });
});
