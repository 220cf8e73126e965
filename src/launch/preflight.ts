/**
 * The checks before a launch. Each looks at facts that were gathered before and answers null, or
 * what is wrong with the cure: a run that would hang or be silently wrong does not start.
 */
import type { Config } from "../config/schema.js";
import { estimateMemory, sizeByName } from "./memory.js";
import { findUnknownKeys } from "./overrides.js";
import type { Override } from "./hydra.js";
import { isLoopback, nodeFaults, type NodesAnswer } from "./nodes.js";
import type { MachineFacts, ServiceAnswer } from "./probe.js";
import { compareVersions, type Release } from "./releases.js";
import { healthDifferences, type ServiceHealth } from "./service-health.js";

/** What the checks look at. */
export interface PreflightFacts {
  config: Config;
  release: Release;
  machine: MachineFacts;
  overrides: readonly Override[];
  /** Files that the workers read: data, reward function. */
  files: string[];
  /** Rows of the training file. */
  trainRows: number;
  /** Service addresses with what answered there; null where nothing did. */
  services: ServiceAnswer[];
  /** Resources of the Ray cluster; null when Ray starts with the run on this machine. */
  cluster: { cpus: number; gpus: number } | null;
  /** What Ray's workers find on their nodes; null where they could not be asked. */
  nodes: NodesAnswer | null;
}

/** The result of one check. */
export interface CheckResult {
  name: string;
  /** `warning`: the run may start, and the reader should know. */
  state: "ok" | "warning" | "failed";
  /** What was found and, unless it is fine, what to do. */
  detail: string;
}

type Check = (facts: PreflightFacts) => { state?: "warning" | "failed"; detail: string };

const ok = (detail: string) => ({ detail });
const failed = (detail: string) => ({ state: "failed" as const, detail });
const warning = (detail: string) => ({ state: "warning" as const, detail });
const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;

/** The checks by name, in the order in which a person would make them. */
export const CHECKS: Readonly<Record<string, Check>> = {
  packages: ({ release, machine: { python }, config }) => {
    const engine = config.actor_rollout_ref.rollout.name;
    const needed = [...release.needs, ...(engine === "trtllm" ? [] : [engine])];
    const missing = needed.filter((name) => python.importable[name] !== true);
    if (missing.length === 0) return ok(`veRL ${python.versions.verl} with all it needs`);
    return failed(
      `${missing.join(", ")} cannot be imported by ${python.executable}; run ` +
        `${python.executable} -m pip install ${missing.map(pipName).join(" ")}`,
    );
  },
  versions: ({ release, machine: { python } }) => {
    const found: Record<string, string | null> = { ...python.versions, python: python.python };
    const wrong = Object.entries(release.ranges).flatMap(([name, { from, below }]) => {
      const version = found[name];
      if (version == null) return [];
      if (from !== undefined && compareVersions(version, from) < 0) {
        return [`${name} ${version} is older than ${from}`];
      }
      return below !== undefined && compareVersions(version, below) >= 0
        ? [`${name} ${version} is not below ${below}`]
        : [];
    });
    if (wrong.length === 0) return ok("versions fit");
    return warning(
      `${wrong.join("; ")}: veRL ${release.series} was made for other versions; install those ` +
        "if it fails",
    );
  },
  keys: ({ machine: { knownKeys }, overrides, release }) => {
    if (knownKeys === null)
      return warning(`veRL ${release.series} has no generated defaults to check keys against`);
    const unknown = findUnknownKeys(overrides, knownKeys);
    if (unknown.length === 0)
      return ok(`${overrides.length} overrides, all known to the installed veRL`);
    return failed(
      `the installed veRL has no ${unknown.join(", ")}; it is not the release it claims to be: ` +
        "reinstall it from PyPI",
    );
  },
  gpus: ({ config: { trainer }, machine, cluster }) => {
    const needed = trainer.nnodes * trainer.n_gpus_per_node;
    const found = cluster?.gpus ?? machine.gpus.length;
    const where = cluster === null ? "this machine" : "the Ray cluster";
    if (found >= needed) return ok(`${found} GPUs on ${where}, ${needed} needed`);
    return failed(
      `${needed} GPUs are needed and ${where} has ${found}; lower trainer.n_gpus_per_node, or set ` +
        "launch.ray_address to a cluster that has them (engine=embedded needs none)",
    );
  },
  "gpu memory": ({ config, machine }) => {
    const size = sizeByName(config.actor_rollout_ref.model.path ?? "");
    const smallest = Math.min(...machine.gpus.map(({ memoryMb }) => memoryMb * 2 ** 20));
    if (size === null || !Number.isFinite(smallest)) return ok("not estimated");
    const { peak } = estimateMemory(config, size, smallest);
    if (peak <= smallest) return ok(`about ${gigabytes(peak)} of ${gigabytes(smallest)} per GPU`);
    return warning(
      `about ${gigabytes(peak)} are needed per GPU and ${gigabytes(smallest)} are there; lower ` +
        "actor_rollout_ref.rollout.gpu_memory_utilization or " +
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu, switch on fsdp_config.param_offload and " +
        "optimizer_offload, or use LoRA",
    );
  },
  "ray processors": ({ config, machine, cluster, overrides, release }) => {
    const needed = neededCpus(config, release, overrides);
    const found = cluster?.cpus ?? countedCpus(config) ?? machine.python.cpus;
    if (found >= needed) return ok(`${found} processors for Ray, ${needed} needed`);
    return failed(
      `veRL's actors reserve ${needed} processors and Ray has ${found}: the run would hang at its ` +
        "start without a word; use a machine with more, or let Ray count more than there are with " +
        `launch.extra_overrides=["ray_kwargs.ray_init.num_cpus=${needed}"]`,
    );
  },
  divisibility: ({ config }) => {
    const { trainer, data, actor_rollout_ref: policy } = config;
    const gpus = trainer.nnodes * trainer.n_gpus_per_node;
    const problems: string[] = [];
    const { tensor_model_parallel_size: parallel, n } = policy.rollout;
    if (gpus % parallel !== 0) {
      problems.push(
        `actor_rollout_ref.rollout.tensor_model_parallel_size (${parallel}) must divide the ${gpus} GPUs`,
      );
    }
    const samples = data.train_batch_size * n;
    if (samples % gpus !== 0) {
      problems.push(
        `data.train_batch_size × rollout.n (${samples}) must be a multiple of ${gpus} GPUs`,
      );
    }
    const mini = policy.actor.ppo_mini_batch_size * n;
    if (mini % gpus !== 0) {
      problems.push(`ppo_mini_batch_size × rollout.n (${mini}) must be a multiple of ${gpus} GPUs`);
    }
    const micro = policy.actor.ppo_micro_batch_size_per_gpu;
    if (!policy.actor.use_dynamic_bsz && micro === null) {
      problems.push(
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu must be set, or use_dynamic_bsz be true",
      );
    }
    if (!policy.actor.use_dynamic_bsz && micro !== null && (mini / gpus) % micro !== 0) {
      problems.push(
        `the mini-batch of a GPU (${mini / gpus}) must be a multiple of its micro-batch (${micro})`,
      );
    }
    return problems.length === 0 ? ok("batch sizes fit the GPUs") : failed(problems.join("; "));
  },
  data: ({ config, trainRows }) => {
    const { train_batch_size: batch, train_max_samples: most } = config.data;
    const rows = most === -1 ? trainRows : Math.min(most, trainRows);
    if (rows >= batch) return ok(`${rows} problems, ${Math.floor(rows / batch)} steps an epoch`);
    return failed(
      `${rows} problems do not fill one batch of ${batch}: veRL would train for zero steps; lower ` +
        "data.train_batch_size or prepare more problems",
    );
  },
  lora: ({ config }) => {
    const { model, rollout } = config.actor_rollout_ref;
    if (model.lora_rank === 0 || rollout.load_format !== "dummy")
      return ok("weights reach the inference engine");
    return failed(
      "LoRA with actor_rollout_ref.rollout.load_format=dummy would sample from random weights; set " +
        "it to safetensors",
    );
  },
  reward: (facts) => {
    const { kind, custom_reward_function: custom } = facts.config.reward;
    if (custom.path?.endsWith(".py") === true) return ok(`paid by ${custom.path}`);
    const heard = healthsOf(facts);
    const wrong = heard.flatMap(({ where, health }) => {
      const differences = health === null ? [] : healthDifferences(facts.config, health);
      return differences.length === 0 ? [] : [`${where}: ${differences.join(", ")}`];
    });
    if (wrong.length > 0) {
      return failed(
        `${wrong.join("\n")}; verify services judge by their own settings: start them with rlvr ` +
          "serve --config FILE, where FILE is this config, or leave verifier.urls empty",
      );
    }
    const silent = heard.filter(({ health }) => (health?.settings ?? null) === null);
    if (silent.length > 0) {
      return warning(
        `${silent[0].where} does not tell its limits and its reward; they should be this config's: ` +
          "start it with rlvr serve --config FILE of this version",
      );
    }
    if (custom.path !== null) return ok("a reward of your own, through the verify service");
    return ok(`paid by ${kind}`);
  },
  files: ({ files, machine: { python } }) => {
    const missing = files.filter((path) => python.readable[path] !== true);
    if (missing.length === 0) return ok(`${files.length} files readable`);
    return failed(
      `${missing.join(", ")} cannot be read by ${python.executable}; on several nodes they must lie on ` +
        "storage that every node sees",
    );
  },
  service: ({ services, config: { trainer }, cluster }) => {
    // Of a cluster's network this machine may see nothing: there the nodes are asked.
    const dead = cluster === null ? services.filter(({ answer }) => answer !== "ok") : [];
    if (dead.length > 0) {
      const [{ url, answer }] = dead;
      return failed(
        answer === null
          ? `no verify service answers at ${url}; start one there with rlvr serve`
          : `the verify service at ${url} refuses us; give it the token in RLVR_VERIFIER_TOKEN`,
      );
    }
    const isLocal = services.some(({ url }) => isLoopback(url));
    if (isLocal && trainer.nnodes > 1) {
      return failed(
        `${services[0].url} is reachable on this machine only, but the run has ${trainer.nnodes} ` +
          "nodes; start rlvr serve on each and list them in verifier.urls",
      );
    }
    if (services.length === 0) return ok("started with the run");
    return ok(`${services.length} verify services ${cluster === null ? "answer" : "named"}`);
  },
  nodes: ({ nodes, release, machine: { python } }) => {
    if (nodes === null) return warning("not asked: without Ray there is no worker to ask");
    if ("failure" in nodes) {
      return failed(
        `Ray gave no worker to look around with (${nodes.failure}); look at ray status, and at ` +
          "/tmp/ray/session_latest/logs where it runs",
      );
    }
    const faults = nodeFaults(nodes.nodes, { release, verl: python.versions["verl"] ?? null });
    if (faults.length > 0) return failed(faults.join("\n"));
    const where = nodes.nodes.map(({ address }) => address).join(", ");
    return ok(`workers on ${where} load the reward file and reach files and services`);
  },
  disk: ({ config, machine: { freeDiskBytes } }) => {
    const size = sizeByName(config.actor_rollout_ref.model.path ?? "");
    if (size === null || config.trainer.save_freq === -1)
      return ok(`${gigabytes(freeDiskBytes)} free`);
    const hasCritic = config.critic.enable ?? config.algorithm.adv_estimator === "gae";
    // Weights and two moments in float32, for each trained model.
    const one = size.parameters * 12 * (hasCritic ? 2 : 1);
    const kept = config.trainer.max_actor_ckpt_to_keep ?? 2;
    const needed = one * kept;
    if (freeDiskBytes >= needed)
      return ok(`${gigabytes(freeDiskBytes)} free, ${kept} checkpoints take ${gigabytes(needed)}`);
    return failed(
      `${kept} checkpoints take ${gigabytes(needed)} and ${gigabytes(freeDiskBytes)} are free; set ` +
        "trainer.max_actor_ckpt_to_keep, or trainer.default_local_dir to a larger disk",
    );
  },
};

/** What the services that judge for the run say, by where they were heard. */
function healthsOf({ services, cluster, nodes }: PreflightFacts) {
  const heard: { where: string; health: ServiceHealth | null }[] = [];
  if (cluster === null) {
    for (const { url, answer, health } of services) {
      if (answer === "ok") heard.push({ where: url, health });
    }
    return heard;
  }
  // The same address may be another service on each node.
  const told = nodes !== null && "nodes" in nodes ? nodes.nodes : [];
  for (const { address, found } of told) {
    for (const [url, health] of Object.entries(found?.health ?? {})) {
      heard.push({ where: `node ${address}: ${url}`, health });
    }
  }
  return heard;
}

const pipName = (name: string) => (name === "TransferQueue" ? "'TransferQueue>=0.1.10'" : name);

/** Processors that the actors of a run reserve in Ray. */
export function neededCpus(
  { trainer, reward }: Config,
  release: Release,
  overrides: readonly Override[],
): number {
  const units = overrides.find(({ key }) => key.endsWith("num_data_storage_units"))?.value;
  // The queue's units and its controller, in the trainer that has it.
  const queue = release.isV1 ? (typeof units === "number" ? units : 8) + 1 : 0;
  const isReserving = reward.reward_manager.name === "remote";
  const rewardCpus = isReserving ? reward.num_workers ** 2 : 0;
  const runner = 1;
  const perGpu = 3;
  return runner + queue + perGpu * trainer.nnodes * trainer.n_gpus_per_node + rewardCpus;
}

/** Processors that Ray is told to count, where the user says so. */
function countedCpus({ launch }: Config): number | null {
  const told = launch.extra_overrides
    .map((word) => /ray_init\.num_cpus=(\d+)$/.exec(word)?.[1])
    .find((count) => count !== undefined);
  return told === undefined ? null : Number(told);
}

/** Runs every check. */
export function runPreflight(facts: PreflightFacts): CheckResult[] {
  return Object.entries(CHECKS).map(([name, check]) => {
    const { state = "ok", detail } = check(facts);
    return { name, state, detail };
  });
}
