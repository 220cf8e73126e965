/** Where training goes on: at the border of an epoch, and from the newest checkpoint. */
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runPaths } from "../../../src/core/run.js";
import { listCheckpoints } from "../../../src/train/checkpoint.js";
import { batchAt, epochOrder } from "../../../src/train/data-order.js";
import type { Case } from "../case.js";

/** Runs one case. */
export async function run({ input, expected: rawExpected }: Case): Promise<string | null> {
  const expected = rawExpected as Record<string, number>;
  if (Array.isArray(input.resumes)) return newest(input.resumes as number[], expected.step);
  return position(input as Record<string, number>, expected);
}

/** Draws the batch after so many steps; it must stand where the case says, in the epoch it says. */
function position(input: Record<string, number>, expected: Record<string, number>): string | null {
  const batchSize = 2;
  const order = { size: input.steps_per_epoch * batchSize, batchSize, shuffle: true, seed: 42 };
  const drawn = batchAt(order, input.global_step);
  const start = expected.start_batch * batchSize;
  const wanted = epochOrder(order, expected.start_epoch).slice(start, start + batchSize);
  const isThere = JSON.stringify(drawn) === JSON.stringify(wanted);
  return isThere ? null : `expected problems ${wanted.join()}, got ${drawn.join()}`;
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
