/**
 * Training in this process: the policy learns from programs that pass tests.
 *
 *     load problems and models; go on from a checkpoint if there is one; look before the leap
 *     validate
 *     for each step:
 *       roll out → judge → score → advantages → update critic and policy   (step.ts)
 *       write metrics, health and rollouts
 *       validate and save when due
 *
 * The same config and seed give the same bytes, times aside, also when the run was killed and
 * resumed in between.
 */
import { join, resolve } from "node:path";
import { describeBatches } from "../config/checks.js";
import { type ResolvedConfig, formatConfig } from "../config/resolve.js";
import type { Config } from "../config/schema.js";
import { unusedKeys } from "../config/unused.js";
import { RlvrError } from "../core/errors.js";
import type { OnProgress } from "../core/progress.js";
import {
  type HealthEvent,
  type MetricsRecord,
  type RunInfo,
  runPaths,
  writeAtomic,
  writeRollouts,
  writeRunInfo,
} from "../core/run.js";
import { lockRun } from "../core/run-lock.js";
import { truncateRun } from "../core/truncate.js";
import { VERSION } from "../core/version.js";
import type { Verifier } from "../verify/verify.js";
import {
  type RunIdentity,
  hashArena,
  markBest,
  removePartialCheckpoints,
  restoreRoles,
  rotateCheckpoints,
  saveCheckpoint,
  setAsideAfter,
} from "./checkpoint.js";
import { batchesPerEpoch } from "./data-order.js";
import { HealthMonitor } from "./health.js";
import { type MemoryEstimate, checkMemory, estimateMemory, offeredMemory } from "./memory.js";
import { configNotices, preflight } from "./preflight.js";
import { loadData } from "./problems.js";
import { findCheckpoint, openResumePoint } from "./resume.js";
import { inspectModels, loadRoles } from "./roles.js";
import { type Prompt, type RolloutMakers, toRecord } from "./rollout.js";
import { holdsRun, makeRunFolders, writeHealth, writeMetrics } from "./run-log.js";
import { type StepContext, type StepResult, type TrainState, trainStep } from "./step.js";
import { TensorboardWriter } from "./tensorboard.js";
import { validate } from "./validate.js";

/** What training tells while it runs. */
export type TrainEvent =
  | { kind: "started"; info: RunInfo; dir: string; batches: string; fromStep: number }
  | { kind: "memory"; estimate: MemoryEstimate; offered: number }
  | { kind: "notice"; message: string }
  | { kind: "metrics"; record: MetricsRecord }
  | { kind: "health"; event: HealthEvent }
  | { kind: "checkpoint"; step: number; dir: string };

/** Who judges, who listens, and how to stop. */
export interface TrainOptions {
  /** Judges completions; the caller makes and closes it, and may use it before and after. */
  verifier: Verifier;
  onEvent?: (event: TrainEvent) => void;
  onProgress?: OnProgress;
  /** Ends the run after the step in hand, with a checkpoint. */
  signal?: AbortSignal;
  /** Go on from a checkpoint although it belongs to a run that differs. */
  force?: boolean;
}

/** How a run ended. */
export interface TrainSummary {
  dir: string;
  status: "finished" | "interrupted" | "nothing_to_do";
  /** Steps made in all, earlier processes included. */
  step: number;
  totalSteps: number;
  /** Best validation: the mean of `reward/pass_rate`. */
  best: { step: number; value: number } | null;
  /** The first and the last validation of the run. */
  validations: { first: MetricsRecord | null; last: MetricsRecord | null };
  /** Directory of the newest checkpoint's policy, a Hugging Face model; null if none was saved. */
  modelDir: string | null;
}

/** The metric that says which checkpoint is best. */
const BEST_METRIC = "reward/pass_rate";

/**
 * Trains as a config says and writes everything into its run directory.
 *
 * @throws {ConfigError | DataError | CheckpointError} before anything is written, if the run cannot
 * be.
 * @throws {HealthStop} if a condition of `health.stop_on` holds; no checkpoint is written then.
 * @throws {SandboxError} if a step could judge nothing.
 */
export async function train(
  resolved: ResolvedConfig,
  options: TrainOptions,
): Promise<TrainSummary> {
  const release = lockRun(runDirectory(resolved).dir);
  try {
    const run = await openRun(resolved, options);
    try {
      const summary = await runSteps(run, options);
      await run.close(summary.status === "interrupted" ? "interrupted" : "finished");
      return summary;
    } catch (error) {
      // On a full disk run.json cannot be written either; the first error is the one to tell.
      await run.close("failed").catch(() => undefined);
      throw error;
    }
  } finally {
    release();
  }
}

/** The directory of a run: `trainer.default_local_dir`, or runs/<name>. */
export function runDirectory({ config, preset }: ResolvedConfig): { dir: string; name: string } {
  const name = config.trainer.experiment_name ?? preset ?? "run";
  return { dir: resolve(config.trainer.default_local_dir ?? join("runs", name)), name };
}

/** An opened run: everything loaded, the directory in order, the state as it was left. */
interface Run {
  dir: string;
  config: Config;
  context: StepContext;
  valPrompts: readonly Prompt[];
  identity: RunIdentity;
  state: TrainState;
  /** Step of the checkpoint it went on from; null when it starts. */
  resumedFrom: number | null;
  history: MetricsRecord[];
  monitor: HealthMonitor | null;
  tensorboard: TensorboardWriter | null;
  close(status: RunInfo["status"]): Promise<void>;
}

async function openRun(resolved: ResolvedConfig, options: TrainOptions): Promise<Run> {
  const { config } = resolved;
  const { dir, name } = runDirectory(resolved);
  const notify = (message: string) => options.onEvent?.({ kind: "notice", message });
  const checkpoint = await findCheckpoint(config, dir);
  const models = await inspectModels(config);
  const { train: trainSet, val: valSet } = await loadData(config, models.tokenizer);
  const dropped = trainSet.dropped + (valSet?.dropped ?? 0);
  if (dropped > 0) notify(`${dropped} problems left out: prompt over data.max_prompt_length`);
  const prompts = [...trainSet.prompts, ...(valSet?.prompts ?? [])];
  const estimate = estimateMemory({
    config,
    ...models,
    longestPrompt: prompts.reduce((longest, { ids }) => Math.max(longest, ids.length), 1),
    validations: (valSet?.prompts.length ?? 0) * config.actor_rollout_ref.rollout.val_kwargs.n,
  });
  const offered = offeredMemory();
  checkMemory(estimate, config, offered);
  options.onEvent?.({ kind: "memory", estimate, offered });
  const roles = await loadRoles(config);
  const { data, trainer } = config;
  const order = {
    size: trainSet.prompts.length,
    batchSize: data.train_batch_size,
    shuffle: data.shuffle,
    seed: data.seed ?? config.seed,
  };
  const stepsPerEpoch = batchesPerEpoch(order);
  const totalSteps = trainer.total_training_steps ?? stepsPerEpoch * trainer.total_epochs;
  const identity = {
    trainData: trainSet.hash,
    valData: valSet?.hash ?? null,
    model: hashArena(roles.base.data),
  };
  const resume =
    checkpoint === null
      ? null
      : await openResumePoint(checkpoint, { config, identity }, options.force ?? false);
  for (const line of resume?.drift ?? []) notify(`changed since the checkpoint: ${line}`);
  for (const line of [...unusedKeys(resolved), ...configNotices(config)]) notify(line);
  const makers: RolloutMakers = {
    sampler: roles.sampler,
    tokenizer: roles.tokenizer,
    verifier: options.verifier,
    config,
  };
  if (resume === null) {
    const found = await preflight(makers, trainSet.prompts);
    if (found !== null) notify(found);
  } else {
    await restoreRoles(resume.path, roles, resume.state);
  }

  const isNew = !holdsRun(dir);
  await makeRunFolders(dir);
  await removePartialCheckpoints(dir);
  const resumedFrom = resume?.state.train.step ?? null;
  if (resume !== null) {
    const { step, best } = resume.state.train;
    const aside = await setAsideAfter(dir, step, best?.step ?? null);
    if (aside.length > 0) {
      notify(
        `checkpoints after step ${step} are of the course left behind, and put aside: ${aside.join(", ")}`,
      );
    }
  }
  const history = isNew ? [] : await truncateRun(dir, resumedFrom);
  await writeAtomic(runPaths(dir).config, formatConfig(resolved));
  const info: RunInfo = {
    format: 1,
    name,
    preset: resolved.preset,
    engine: "embedded",
    seed: config.seed,
    startedAt: new Date().toISOString(),
    version: VERSION,
    isolation: options.verifier.level,
    totalSteps,
    status: "running",
    pid: process.pid,
  };
  await writeRunInfo(dir, info);
  const monitor = config.health.enable
    ? new HealthMonitor({ repeatEvery: config.health.repeat_every, stopOn: config.health.stop_on })
    : null;
  // What was said before the interruption is not said again.
  for (const record of history) monitor?.observe(record);
  options.onEvent?.({
    kind: "started",
    info,
    dir,
    batches: describeBatches(config),
    fromStep: resumedFrom ?? 0,
  });
  return {
    dir,
    config,
    context: {
      config,
      roles,
      makers,
      data: { prompts: trainSet.prompts, order },
      totalSteps,
      stepsPerEpoch,
    },
    valPrompts: valSet?.prompts ?? [],
    identity,
    state: resume?.state.train ?? {
      step: 0,
      batchesDrawn: 0,
      klCoefficient: config.algorithm.kl_ctrl.kl_coef,
      tokensSeen: 0,
      best: null,
    },
    resumedFrom,
    history,
    monitor,
    tensorboard: trainer.logger.includes("tensorboard")
      ? await TensorboardWriter.open(join(dir, "tensorboard"), history)
      : null,
    close: async (status) => {
      await roles.dispose();
      await writeRunInfo(dir, { ...info, status, pid: null });
    },
  };
}

async function runSteps(run: Run, options: TrainOptions): Promise<TrainSummary> {
  const { config, context, dir } = run;
  const { totalSteps } = context;
  const { trainer } = config;
  const due = (frequency: number, step: number) =>
    step === totalSteps || (frequency > 0 && step % frequency === 0);
  if (run.resumedFrom === null && trainer.val_before_train) await runValidation(run, options);
  const start = run.state.step;
  let saved = run.resumedFrom;
  const progress = (done: number) =>
    options.onProgress?.({ label: "train", done, total: totalSteps, unit: "steps" });
  while (run.state.step < totalSteps && options.signal?.aborted !== true) {
    progress(run.state.step);
    const result = await trainStep(context, run.state);
    run.state = result.state;
    const { step } = run.state;
    await writeStep(run, result, options);
    if (due(trainer.test_freq, step)) await runValidation(run, options);
    // The best so far is saved too, or `best` could only name a step that was due by chance.
    const isBest = trainer.save_freq > 0 && run.state.best?.step === step;
    if (isBest || due(trainer.save_freq, step)) saved = (await save(run, options)) ?? saved;
  }
  if (run.state.step > start && saved !== run.state.step) {
    saved = (await save(run, options)) ?? saved;
  }
  progress(run.state.step);
  const validations = run.history.filter(({ phase }) => phase === "val");
  return {
    dir,
    status:
      run.state.step < totalSteps
        ? "interrupted"
        : start >= totalSteps && run.resumedFrom !== null
          ? "nothing_to_do"
          : "finished",
    step: run.state.step,
    totalSteps,
    best: run.state.best,
    validations: { first: validations[0] ?? null, last: validations.at(-1) ?? null },
    modelDir: saved === null ? null : join(runPaths(dir).checkpointOf(saved), "actor"),
  };
}

/** Writes what a step left: metrics, rollouts, health. */
async function writeStep(run: Run, result: StepResult, options: TrainOptions): Promise<void> {
  const { step } = result.state;
  for (const message of result.notices) options.onEvent?.({ kind: "notice", message });
  const { tokenizer } = run.context.roles;
  const records = result.rollouts.map((rollout) =>
    toRecord(rollout, step, {
      advantages: result.advantages.get(rollout) ?? null,
      tokenizer,
    }),
  );
  await writeRollouts(run.dir, step, records);
  record(run, options, {
    step,
    phase: "train",
    time: Date.now(),
    metrics: { ...result.metrics, ...result.timing },
  });
}

async function runValidation(run: Run, options: TrainOptions): Promise<void> {
  if (run.valPrompts.length === 0) return;
  const started = performance.now();
  const { step } = run.state;
  const { metrics, rollouts } = await validate(run.context.makers, run.valPrompts);
  const { tokenizer } = run.context.roles;
  const kept = rollouts.slice(0, run.config.trainer.log_val_generations);
  if (kept.length > 0) {
    const lines = kept.map(
      (rollout) => JSON.stringify(toRecord(rollout, step, { advantages: null, tokenizer })) + "\n",
    );
    await writeAtomic(join(run.dir, "validation", `step_${step}.jsonl`), lines.join(""));
  }
  const value = metrics[BEST_METRIC];
  if (value !== undefined && (run.state.best === null || value > run.state.best.value)) {
    run.state = { ...run.state, best: { step, value } };
  }
  record(run, options, {
    step,
    phase: "val",
    time: Date.now(),
    metrics: { ...metrics, "timing_s/testing": (performance.now() - started) / 1000 },
  });
}

/** Writes a record everywhere, and what the health monitor has to say of it. */
function record(run: Run, options: TrainOptions, entry: MetricsRecord): void {
  writeMetrics(run.dir, entry);
  run.tensorboard?.write(entry);
  run.history.push(entry);
  options.onEvent?.({ kind: "metrics", record: entry });
  const events = run.monitor?.observe(entry) ?? [];
  for (const event of events) {
    writeHealth(run.dir, event);
    options.onEvent?.({ kind: "health", event });
  }
  const fatal = events.find(({ severity }) => severity === "fatal");
  if (fatal !== undefined) throw new HealthStop(fatal);
}

/** Raised when a condition of `health.stop_on` holds. */
export class HealthStop extends RlvrError {
  override readonly name = "HealthStop";

  constructor({ step, title, evidence, advice }: HealthEvent) {
    super(`stopped at step ${step}: ${title} (${evidence}). ${advice}`);
  }
}

/** True when no number is NaN or infinite. */
function isFinite(data: Float32Array): boolean {
  // Zero times anything else is NaN, and stays it.
  let sum = 0;
  for (let i = 0; i < data.length; i++) sum += 0 * data[i];
  return sum === 0;
}

/** Answers the step saved; null where its weights are not worth keeping. */
async function save(run: Run, { onEvent }: TrainOptions): Promise<number | null> {
  const { context, dir, state, config, identity } = run;
  const { policy, critic } = context.roles;
  if (![policy, critic].every((learner) => learner === null || isFinite(learner.parameters.data))) {
    const message = `step ${state.step} is not saved: its weights are no longer finite, and it would take the place of a good checkpoint`;
    onEvent?.({ kind: "notice", message });
    return null;
  }
  const target = await saveCheckpoint(dir, context.roles, {
    format: 1,
    train: state,
    updates: { actor: policy.optimizer.updates, critic: critic?.optimizer.updates ?? null },
    config,
    identity,
  });
  if (state.best?.step === state.step) await markBest(dir, state.step);
  await rotateCheckpoints(dir, config.trainer.max_actor_ckpt_to_keep);
  onEvent?.({ kind: "checkpoint", step: state.step, dir: target });
  return state.step;
}
