/** Plans a launch: where things go, which veRL it is for, and the exact command. Nothing starts. */
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { ResolvedConfig } from "../config/resolve.js";
import type { Config } from "../config/schema.js";
import { ConfigError } from "../core/errors.js";
import { runPaths } from "../core/run.js";
import { type LaunchCommand, launchCommand } from "./command.js";
import type { Override } from "./hydra.js";
import { addExtraOverrides, buildOverrides } from "./overrides.js";
import type { NodeRequest } from "./nodes.js";
import type { PythonFacts } from "./probe.js";
import { type Release, releaseOf } from "./releases.js";

/** What a launch will do. */
export interface LaunchPlan {
  dir: string;
  name: string;
  release: Release;
  overrides: Override[];
  command: LaunchCommand;
  /** Problem files, or one parquet file. */
  trainFiles: string[];
  valFiles: string[];
  paths: LaunchPlaces;
  /** What every node must have. */
  nodes: NodeRequest;
  /** Unix socket on which the run's own verify service must listen; null when others are named. */
  socket: string | null;
  urls: string[];
}

/** Where the files of a launch stand. */
export interface LaunchPlaces {
  trainFile: string;
  valFile: string | null;
  metricsFile: string;
  consoleLog: string;
  rollouts: string;
  validation: string;
  infraLog: string;
  rewardFile: string;
}

/** What a plan depends on beside the config. */
export interface PlanOptions {
  /** Run directory and name. */
  dir: string;
  name: string;
  /** The reward file that speaks to the verify service. */
  rewardShim: string;
  token: string | null;
  /** The Python that will train; null plans for the newest known release. */
  python: PythonFacts | null;
  knownKeys: ReadonlySet<string> | null;
}

// The kernel takes 107 bytes; some room is left for what tests and tools put before a path.
const MAX_SOCKET_BYTES = 100;

/**
 * Plans a launch.
 *
 * @throws {ConfigError} if the config lacks what a launch needs or the release would ignore a key.
 * @throws {LaunchError} if the installed veRL is not known.
 */
export function planLaunch(resolved: ResolvedConfig, options: PlanOptions): LaunchPlan {
  const { config } = resolved;
  const release = releaseOf(options.python?.versions["verl"] ?? "0.9.1");
  if (config.actor_rollout_ref.model.path === null) {
    throw new ConfigError("actor_rollout_ref.model.path must be set for engine=verl");
  }
  const trainFiles = fileList(config.data.train_files);
  if (trainFiles.length === 0) {
    throw new ConfigError(
      "data.train_files must be set for engine=verl: problem files of rlvr prepare, or its parquet",
    );
  }
  const valFiles = fileList(config.data.val_files);
  const dir = resolve(options.dir);
  const paths = placesIn(dir, {
    trainFiles,
    valFiles,
    rewardFile: rewardFileOf(config, options.rewardShim),
  });
  const { socket, urls } = serviceOf(resolved, dir);
  const own = config.reward.custom_reward_function;
  const isPython = own.path?.endsWith(".py") === true;
  const rewardName = isPython ? own.name : release.rewardFunction;
  const overrides = buildOverrides({
    config,
    provenance: resolved.provenance,
    release,
    experiment: options.name,
    paths: {
      trainFile: paths.trainFile,
      valFile: paths.valFile,
      checkpoints: runPaths(dir).checkpoints,
      rollouts: paths.rollouts,
      validation: paths.validation,
      rewardFile: paths.rewardFile,
      rewardName,
      rewardKwargs: isPython ? {} : { urls: urls.join(",") },
    },
  });
  const words = addExtraOverrides(overrides, config.launch.extra_overrides, {
    release,
    knownKeys: options.knownKeys,
  });
  const command = launchCommand({
    python: options.python?.executable ?? config.launch.python,
    overrides: words,
    metricsFile: paths.metricsFile,
    urls: urls.join(","),
    infraLog: paths.infraLog,
    token: options.token,
  });
  const nodes = {
    reward: { path: paths.rewardFile, name: rewardName },
    files: [dir, ...sharedFiles(config, paths)],
    // The run's own service starts later, and on this machine.
    services: socket === null ? urls : [],
  };
  return {
    ...{ dir, name: options.name, release, overrides, command, trainFiles, valFiles },
    ...{ paths, nodes, socket, urls },
  };
}

/** Files that the run reads on any node, beside the reward file. */
function sharedFiles(config: Config, { trainFile, valFile }: LaunchPlaces): string[] {
  const models = [config.actor_rollout_ref.model.path, config.critic.model.path];
  const files = [trainFile, valFile, ...models.filter((path) => path !== null && isAbsolute(path))];
  return [...new Set(files.filter((path) => path !== null))];
}

const fileList = (files: string | string[] | null) =>
  files === null ? [] : (Array.isArray(files) ? files : [files]).map((path) => resolve(path));

/** The Python file that veRL takes the reward from. */
export function rewardFileOf(config: Config, rewardShim: string): string {
  const { path } = config.reward.custom_reward_function;
  return path?.endsWith(".py") === true ? resolve(path) : rewardShim;
}

function placesIn(
  dir: string,
  the: { trainFiles: string[]; valFiles: string[]; rewardFile: string },
): LaunchPlaces {
  const verl = join(dir, "verl");
  const isReady = (files: string[]) => files.length === 1 && files[0].endsWith(".parquet");
  const valFile = isReady(the.valFiles) ? the.valFiles[0] : join(verl, "validation.parquet");
  // veRL's logger empties its file when it opens it: each launch gets one of its own.
  const launch = countLaunches(runPaths(dir).logs) + 1;
  return {
    trainFile: isReady(the.trainFiles) ? the.trainFiles[0] : join(verl, "train.parquet"),
    valFile: the.valFiles.length === 0 ? null : valFile,
    metricsFile: join(verl, `metrics-${launch}.jsonl`),
    consoleLog: join(runPaths(dir).logs, `verl-${launch}.log`),
    rollouts: join(verl, "rollouts"),
    validation: join(verl, "validation"),
    infraLog: join(runPaths(dir).logs, "infra-errors.jsonl"),
    rewardFile: the.rewardFile,
  };
}

function countLaunches(logs: string): number {
  try {
    return readdirSync(logs).filter((name) => /^verl-\d+\.log$/.test(name)).length;
  } catch {
    return 0;
  }
}

function serviceOf({ config }: ResolvedConfig, dir: string) {
  const { urls } = config.verifier;
  if (urls.length > 0) return { socket: null, urls: [...urls] };
  if (config.launch.ray_address !== null || config.trainer.nnodes > 1) {
    throw new ConfigError(
      "verifier.urls must name verify services that the Ray workers reach, one per node: start each " +
        "with rlvr serve --config FILE --host 0.0.0.0 --token SECRET and set RLVR_VERIFIER_TOKEN here",
    );
  }
  const near = join(dir, "verl", "verify.sock");
  const digest = createHash("sha256").update(dir).digest("hex").slice(0, 12);
  const far = join(tmpdir(), `rlvr-${digest}.sock`);
  const socket = Buffer.byteLength(near) <= MAX_SOCKET_BYTES ? near : far;
  return { socket, urls: [`unix:${socket}`] };
}
