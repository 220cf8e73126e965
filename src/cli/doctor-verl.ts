/**
 * `rlvr doctor engine=verl`: would a launch of this config start here? Beside a task for each node
 * of Ray, nothing is started.
 */
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { LaunchError } from "../core/errors.js";
import { jobStarter } from "../launch/job.js";
import { estimateMemory, sizeByName } from "../launch/memory.js";
import { askNodes } from "../launch/nodes.js";
import { planLaunch, rewardFileOf } from "../launch/plan.js";
import { type CheckResult, runPreflight } from "../launch/preflight.js";
import { askServices, type MachineFacts, probeMachine } from "../launch/probe.js";
import { RayJobs } from "../launch/ray-jobs.js";
import { findRayToken } from "../launch/ray-token.js";
import { readTrainConfig } from "./train-config.js";

const REWARD_SHIM = fileURLToPath(new URL("../../python/verl_reward.py", import.meta.url));
// The estimate needs a size where no GPU was found: the smallest that the chapter speaks of.
const ASSUMED_GPU_BYTES = 24 * 2 ** 30;
const STATES = { ok: "ok", warning: "weaker", failed: "missing" } as const;

/** Examines this machine for a launch of the config that the words make. */
export async function checkVerl(words: readonly string[]) {
  const hasFile = words.some((word) => !word.includes("="));
  const preset = hasFile ? {} : { preset: "qwen2.5-coder-0.5b-1gpu" };
  const resolved = await readTrainConfig(words, { ...preset, eval: false }, process.env);
  const { config } = resolved;
  const files = [rewardFileOf(config, REWARD_SHIM)];
  const machine = await probeMachine(config.launch.python, { files, disk: "." });
  const version = machine.python.versions["verl"] ?? null;
  if (version === null) {
    const detail = `${machine.python.executable} has no veRL; pip install 'verl==0.9.1' there, or set launch.python`;
    return { facts: { machine }, findings: [{ state: "missing" as const, what: "veRL", detail }] };
  }
  const token = process.env.RLVR_VERIFIER_TOKEN ?? null;
  const data = config.data.train_files ?? "data.parquet";
  const plan = planLaunch(
    { ...resolved, config: { ...config, data: { ...config.data, train_files: data } } },
    {
      ...{ dir: tmpdir(), name: "doctor", rewardShim: REWARD_SHIM },
      token,
      ...{ python: machine.python, knownKeys: machine.knownKeys },
    },
  );
  const address = config.launch.ray_address;
  const ray = address === null ? null : new RayJobs(address, await findRayToken(process.env));
  // Only what is here already: a launch writes its data itself.
  const request = { ...plan.nodes, files: plan.nodes.files.filter((path) => existsSync(path)) };
  const { executable: python, importable } = machine.python;
  const start = jobStarter(ray, process.env);
  const checks = runPreflight({
    ...{ config, release: plan.release, machine, overrides: plan.overrides, files },
    // The data is not read here; the launch counts its rows.
    trainRows: Infinity,
    services: plan.socket === null ? await askServices(plan.urls, token) : [],
    cluster: ray === null ? null : await resourcesOf(ray),
    nodes: importable.ray ? await askNodes(request, { python, token, start }) : null,
  });
  const findings = checks.filter(({ name }) => name !== "data").map(toFinding);
  return {
    facts: { machine: { ...machine, knownKeys: machine.knownKeys?.size ?? null }, checks },
    findings: [
      { state: "ok" as const, what: "veRL", detail: version },
      ...findings,
      estimate(machine, config),
    ],
  };
}

const toFinding = ({ state, name, detail }: CheckResult) => ({
  state: STATES[state],
  what: name,
  detail,
});

function estimate(machine: MachineFacts, config: Parameters<typeof estimateMemory>[0]) {
  const size = sizeByName(config.actor_rollout_ref.model.path ?? "");
  const gpu = Math.min(...machine.gpus.map(({ memoryMb }) => memoryMb * 2 ** 20));
  const bytes = Number.isFinite(gpu) ? gpu : ASSUMED_GPU_BYTES;
  if (size === null)
    return { state: "ok" as const, what: "memory", detail: "size of the model unknown" };
  const parts = Object.entries(estimateMemory(config, size, bytes));
  const text = parts.map(([name, value]) => `${name} ${(value / 1e9).toFixed(1)}`).join(", ");
  return { state: "ok" as const, what: "memory", detail: `about, in GB per GPU: ${text}` };
}

async function resourcesOf(ray: RayJobs) {
  try {
    return await ray.resources();
  } catch (error) {
    if (error instanceof LaunchError) return { cpus: 0, gpus: 0 };
    throw error;
  }
}
