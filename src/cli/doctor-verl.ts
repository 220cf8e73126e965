/** `rlvr doctor engine=verl`: would a launch of this config start here? Nothing is started. */
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { LaunchError } from "../core/errors.js";
import { estimateMemory, sizeByName } from "../launch/memory.js";
import { planLaunch } from "../launch/plan.js";
import { type CheckResult, runPreflight } from "../launch/preflight.js";
import { askServices, type MachineFacts, probeMachine } from "../launch/probe.js";
import { RayJobs } from "../launch/ray-jobs.js";
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
  const machine = await probeMachine(config.launch.python, { files: [REWARD_SHIM], disk: "." });
  const version = machine.python.versions["verl"] ?? null;
  if (version === null) {
    const detail = `${machine.python.executable} has no veRL; pip install 'verl==0.9.1' there, or set launch.python`;
    return { facts: { machine }, findings: [{ state: "missing" as const, what: "veRL", detail }] };
  }
  const data = config.data.train_files ?? "data.parquet";
  const plan = planLaunch(
    { ...resolved, config: { ...config, data: { ...config.data, train_files: data } } },
    {
      ...{ dir: tmpdir(), name: "doctor", rewardShim: REWARD_SHIM },
      token: process.env.RLVR_VERIFIER_TOKEN ?? null,
      ...{ python: machine.python, knownKeys: machine.knownKeys },
    },
  );
  const address = config.launch.ray_address;
  const checks = runPreflight({
    ...{ config, release: plan.release, machine, overrides: plan.overrides },
    files: [REWARD_SHIM],
    // The data is not read here; the launch counts its rows.
    trainRows: Infinity,
    services:
      plan.socket === null
        ? await askServices(plan.urls, process.env.RLVR_VERIFIER_TOKEN ?? null)
        : [],
    cluster: address === null ? null : await clusterOf(address),
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

async function clusterOf(address: string) {
  try {
    return await new RayJobs(address).resources();
  } catch (error) {
    if (error instanceof LaunchError) return { cpus: 0, gpus: 0 };
    throw error;
  }
}
