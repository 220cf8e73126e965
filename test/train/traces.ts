/** What equal runs have in common, for comparison byte by byte. */
import { createHash } from "node:crypto";
import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { runPaths } from "../../src/core/run.js";
import { listCheckpoints } from "../../src/train/checkpoint.js";
import { metricsOf } from "./fixture.js";

/** SHA-256 of every file under a folder, by relative path. */
async function hashes(dir: string): Promise<Record<string, string>> {
  const names = await readdir(dir, { recursive: true });
  const found: Record<string, string> = {};
  for (const name of names.sort()) {
    if (!(await stat(join(dir, name))).isFile()) continue;
    found[name] = createHash("sha256")
      .update(await readFile(join(dir, name)))
      .digest("hex");
  }
  return found;
}

/** What two equal runs have in common: metrics, rollouts, models, optimizers. */
export async function traces(dir: string) {
  const paths = runPaths(dir);
  const last = paths.checkpointOf((await listCheckpoints(dir)).at(-1) ?? 0);
  const checkpoint = Object.entries(await hashes(last)).filter(([name]) =>
    name.endsWith(".safetensors"),
  );
  return {
    metrics: JSON.stringify(await metricsOf(dir)),
    rollouts: await hashes(paths.rollouts),
    checkpoint,
    steps: await listCheckpoints(dir),
  };
}
