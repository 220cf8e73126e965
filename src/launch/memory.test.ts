import { expect, test } from "vitest";
import { resolveConfig } from "../config/resolve.js";
import { estimateMemory, sizeByName } from "./memory.js";

const GIB = 2 ** 30;

function estimate(preset: string, gpuGib: number, overrides: string[] = []) {
  const { config } = resolveConfig({ preset, overrides });
  const size = sizeByName(config.actor_rollout_ref.model.path ?? "");
  if (size === null) throw new Error(`${preset} names a model without a size`);
  return estimateMemory(config, size, gpuGib * GIB);
}

// The GPUs that the chapter names for each.
test.each([
  ["qwen2.5-coder-0.5b-1gpu", 24],
  ["qwen2.5-coder-1.5b-lora-1gpu", 24],
  ["qwen2.5-coder-7b-8gpu", 80],
])("%s fits a GPU of %d GiB", (preset, gib) => {
  expect(estimate(preset, gib).peak).toBeLessThan(gib * GIB);
});

test("what cannot fit does not: 7B whole on one GPU of 80 GiB", () => {
  const one = ["trainer.n_gpus_per_node=1"];
  expect(estimate("qwen2.5-coder-7b-8gpu", 80, one).peak).toBeGreaterThan(80 * GIB);
});

test("at rest a trained parameter takes its weight and two moments, over the GPUs", () => {
  const alone = estimate("qwen2.5-coder-0.5b-1gpu", 24);
  expect(alone.actor / 494e6).toBeCloseTo(4 + 8);
  const two = estimate("qwen2.5-coder-0.5b-1gpu", 24, ["trainer.n_gpus_per_node=2"]);
  expect(two.actor).toBeCloseTo(alone.actor / 2);
});
