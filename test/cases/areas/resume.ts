/** Where training goes on: at the border of an epoch, and from the newest checkpoint. */
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runPaths } from "../../../src/core/run.js";
import { listCheckpoints } from "../../../src/train/checkpoint.js";
import { positionAfter } from "../../../src/train/data-order.js";
import type { Case } from "../case.js";

/** Runs one case. */
export async function run({ input, expected: rawExpected }: Case): Promise<string | null> {
  const expected = rawExpected as Record<string, number>;
  if (Array.isArray(input.resumes)) return newest(input.resumes as number[], expected.step);
  const stepsPerEpoch = input.steps_per_epoch as number;
  const { epoch, batch, stepsLeft } = positionAfter(input.global_step as number, {
    stepsPerEpoch,
    totalSteps: stepsPerEpoch * (input.total_epochs as number),
  });
  const actual = { start_epoch: epoch, start_batch: batch, steps_to_run: stepsLeft };
  const same = JSON.stringify(actual) === JSON.stringify(expected);
  return same ? null : `expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
}

/** Makes checkpoints of these steps in a run directory, and asks which is taken. */
async function newest(steps: number[], wanted: number): Promise<string | null> {
  const dir = await mkdtemp(join(tmpdir(), "rlvr-case-"));
  try {
    for (const step of steps) {
      const path = runPaths(dir).checkpointOf(step);
      await mkdir(path, { recursive: true });
      await writeFile(join(path, "manifest.json"), "{}");
      const found = (await listCheckpoints(dir)).at(-1);
      if (found !== step) return `after saving step ${step}, got ${found}`;
    }
    const found = (await listCheckpoints(dir)).at(-1);
    return found === wanted ? null : `expected step ${wanted}, got ${found}`;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
