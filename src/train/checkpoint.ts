/**
 * Checkpoints: everything that the next step depends on, written beside its place and moved there
 * whole, the manifest last. What stands under `checkpoints/step_NNNNNN` with a manifest is complete.
 *
 *     actor/                     Hugging Face directory of the policy, float32; LoRA merged in
 *     actor_adapter/             LoRA alone, in PEFT's form
 *     actor_optimizer.safetensors
 *     critic/model.safetensors   body and value head
 *     critic_optimizer.safetensors
 *     state.json                 step, data position, KL coefficient, best validation, config
 *     manifest.json              every other file with its size and SHA-256
 *
 * There is no random state to keep: everything random is a function of (seed, step, prompt, sample).
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, readFile, readdir, rename, rm, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Config } from "../config/schema.js";
import { CheckpointError } from "../core/errors.js";
import { runPaths, stepName, writeAtomic } from "../core/run.js";
import { readFloatTensors, writeFloatTensors } from "../formats/safetensors.js";
import { readSafetensorsHeader } from "../formats/safetensors-header.js";
import { loadAdapter, mergeAdapter, saveAdapter } from "../model/lora.js";
import type { Parameters } from "../model/parameters.js";
import { loadParameters, saveModel } from "../model/weights.js";
import type { Learner, OptimizerState, Roles } from "./roles.js";
import type { TrainState } from "./step.js";

/** What `state.json` holds. */
export interface CheckpointState {
  format: 1;
  train: TrainState;
  updates: { actor: number; critic: number | null };
  config: Config;
  /** What the data and the starting model were, to notice another one on resume. */
  identity: RunIdentity;
}

/** Hashes of what a run started from. */
export interface RunIdentity {
  trainData: string;
  valData: string | null;
  /** Over the reference policy's weights. */
  model: string;
}

interface Manifest {
  format: 1;
  step: number;
  files: { path: string; bytes: number; sha256: string }[];
}

const MANIFEST = "manifest.json";
const STATE = "state.json";
const ADAPTER = "actor_adapter";

/** Saves a checkpoint of the run in `dir` and points `latest` at it. Answers its directory. */
export async function saveCheckpoint(
  dir: string,
  roles: Roles,
  state: CheckpointState,
): Promise<string> {
  const paths = runPaths(dir);
  const { step } = state.train;
  const target = paths.checkpointOf(step);
  const partial = join(paths.checkpoints, `.${stepName(step)}.partial-${process.pid}`);
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  const { config, tokenizer, policy, critic, base, lora } = roles;
  const parameters = lora === null ? base : mergeAdapter(base, lora.adapter);
  await saveModel(join(partial, "actor"), { config, parameters, tokenizer }, { dtype: "F32" });
  if (lora !== null) {
    await saveAdapter(join(partial, ADAPTER), lora.adapter, lora.settings);
  }
  await writeOptimizer(join(partial, "actor_optimizer.safetensors"), policy.optimizer);
  if (critic !== null) {
    await mkdir(join(partial, "critic"));
    await writeFloatTensors(
      join(partial, "critic", "model.safetensors"),
      namedTensors(critic.parameters),
      { dtype: "F32" },
    );
    await writeOptimizer(join(partial, "critic_optimizer.safetensors"), critic.optimizer);
  }
  await writeAtomic(join(partial, STATE), JSON.stringify(state, null, 2) + "\n");
  const manifest: Manifest = { format: 1, step, files: await listFiles(partial) };
  await writeAtomic(join(partial, MANIFEST), JSON.stringify(manifest, null, 2) + "\n");
  await rm(target, { recursive: true, force: true });
  await rename(partial, target);
  await writeAtomic(paths.latest, stepName(step) + "\n");
  return target;
}

/** Points `best` at the checkpoint of a step. */
export async function markBest(dir: string, step: number): Promise<void> {
  await writeAtomic(runPaths(dir).best, stepName(step) + "\n");
}

/** Removes the oldest checkpoints until `keep` are left; the best by validation is never removed. */
export async function rotateCheckpoints(dir: string, keep: number | null): Promise<void> {
  if (keep === null) return;
  const paths = runPaths(dir);
  const best = existsSync(paths.best) ? (await readFile(paths.best, "utf8")).trim() : null;
  const steps = await listCheckpoints(dir);
  for (const step of steps.slice(0, Math.max(0, steps.length - keep))) {
    if (stepName(step) === best) continue;
    await rm(paths.checkpointOf(step), { recursive: true, force: true });
  }
}

/**
 * Puts checkpoints after `step` aside, where neither a resume nor the rotation finds them: they are
 * of the course that a run left when it went back. Answers their new names.
 */
export async function setAsideAfter(
  dir: string,
  step: number,
  best: number | null,
): Promise<string[]> {
  const paths = runPaths(dir);
  const steps = await listCheckpoints(dir);
  const later = steps.filter((other) => other > step);
  if (later.length === 0) return [];
  const names = later.map((other) => `${stepName(other)}.abandoned`);
  for (const [index, other] of later.entries()) {
    const aside = join(paths.checkpoints, names[index]);
    await rm(aside, { recursive: true, force: true });
    await rename(paths.checkpointOf(other), aside);
  }
  const newest = steps.filter((other) => other <= step).at(-1);
  if (newest === undefined) await rm(paths.latest, { force: true });
  else await writeAtomic(paths.latest, stepName(newest) + "\n");
  if (best !== null && steps.includes(best)) await markBest(dir, best);
  else await rm(paths.best, { force: true });
  return names;
}

/** Steps that have a complete checkpoint, in order. */
export async function listCheckpoints(dir: string): Promise<number[]> {
  const { checkpoints } = runPaths(dir);
  if (!existsSync(checkpoints)) return [];
  return (await readdir(checkpoints))
    .map((name) => /^step_(\d{6,})$/.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .filter((digits) => existsSync(join(checkpoints, `step_${digits}`, MANIFEST)))
    .map(Number)
    .sort((a, b) => a - b);
}

/** Removes what a write cut short left behind. */
export async function removePartialCheckpoints(dir: string): Promise<void> {
  const { checkpoints } = runPaths(dir);
  if (!existsSync(checkpoints)) return;
  for (const name of await readdir(checkpoints)) {
    if (!name.includes(".partial-")) continue;
    await rm(join(checkpoints, name), { recursive: true, force: true });
  }
}

/**
 * Reads the state of a checkpoint after checking every file against the manifest.
 *
 * @throws {CheckpointError} if the manifest or a file is missing, or a file is not what was written.
 */
export async function readCheckpoint(path: string): Promise<CheckpointState> {
  const manifest = await readJson<Manifest>(join(path, MANIFEST));
  if (!Array.isArray(manifest?.files)) {
    throw new CheckpointError(`${join(path, MANIFEST)}: expected a list of files, found none`);
  }
  for (const file of manifest.files) {
    const full = join(path, file.path);
    const size = await stat(full).then(
      (info) => info.size,
      () => null,
    );
    if (size !== file.bytes || (await hashFile(full)) !== file.sha256) {
      throw new CheckpointError(
        `checkpoint ${path}: ${file.path} is not what was saved (${differenceOf(size, file.bytes)}); ` +
          "move the checkpoint away to go on from the one before it",
      );
    }
  }
  return readJson<CheckpointState>(join(path, STATE));
}

function differenceOf(found: number | null, expected: number): string {
  if (found === null) return "the file is missing";
  if (found !== expected) return `expected ${expected} bytes, found ${found}`;
  return "bytes were changed: its SHA-256 differs";
}

/** Restores models and optimizers in place. */
export async function restoreRoles(
  path: string,
  roles: Roles,
  { updates }: CheckpointState,
): Promise<void> {
  const { lora, policy } = roles;
  const saved =
    lora === null
      ? (await loadParameters(join(path, "actor"), policy.parameters.shapes())).data
      : (await loadAdapter(join(path, ADAPTER), roles.config)).adapter.parameters.data;
  if (saved.length !== policy.parameters.data.length) {
    throw new CheckpointError(
      `checkpoint ${path}: expected ${policy.parameters.data.length} trained numbers, found ${saved.length}; set actor_rollout_ref.model.lora_rank and target_modules as they were`,
    );
  }
  policy.parameters.data.set(saved);
  await restoreOptimizer(join(path, "actor_optimizer.safetensors"), policy, updates.actor);
  if (roles.critic === null) return;
  const { parameters } = roles.critic;
  parameters.data.set((await loadParameters(join(path, "critic"), parameters.shapes())).data);
  const file = join(path, "critic_optimizer.safetensors");
  await restoreOptimizer(file, roles.critic, updates.critic ?? 0);
}

async function restoreOptimizer(file: string, { optimizer }: Learner, updates: number) {
  const { tensors } = await readSafetensorsHeader(file);
  const wanted = (["m", "v"] as const).map((name) => {
    const tensor = tensors.get(name);
    if (tensor === undefined || tensor.shape[0] !== optimizer[name].length) {
      throw new CheckpointError(`${file}: expected ${name} [${optimizer[name].length}]`);
    }
    return { tensor, target: optimizer[name] };
  });
  await readFloatTensors(file, wanted);
  optimizer.updates = updates;
}

async function writeOptimizer(path: string, { m, v }: OptimizerState): Promise<void> {
  const tensors = Object.entries({ m, v }).map(([name, data]) => ({
    name,
    shape: [data.length],
    data,
  }));
  await writeFloatTensors(path, tensors, { dtype: "F32" });
}

function namedTensors(parameters: Parameters) {
  return parameters.names.map((name) => ({
    name,
    shape: parameters.shape(name),
    data: parameters.view(name),
  }));
}

async function listFiles(dir: string): Promise<Manifest["files"]> {
  const names = await readdir(dir, { recursive: true, withFileTypes: true });
  const paths = names
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)))
    .sort();
  return Promise.all(
    paths.map(async (path) => ({
      path,
      bytes: (await stat(join(dir, path))).size,
      sha256: await hashFile(join(dir, path)),
    })),
  );
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** SHA-256 of an arena. */
export function hashArena(data: Float32Array): string {
  return createHash("sha256")
    .update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
    .digest("hex");
}

async function readJson<T>(path: string): Promise<T> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as T;
  } catch (cause) {
    throw new CheckpointError(`checkpoint: expected a readable ${path}`, { cause });
  }
}
