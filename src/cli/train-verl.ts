/** `rlvr train engine=verl`: plan, check, start veRL, follow it, and account for how it ended. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { describeBatches } from "../config/checks.js";
import type { ResolvedConfig } from "../config/resolve.js";
import { LaunchError } from "../core/errors.js";
import { lockRun } from "../core/run-lock.js";
import { formatAsJson, formatCommand, formatScript } from "../launch/command.js";
import { jobStarter } from "../launch/job.js";
import { launch, prepareData } from "../launch/launch.js";
import { askNodes } from "../launch/nodes.js";
import { type LaunchPlan, planLaunch, rewardFileOf } from "../launch/plan.js";
import { type CheckResult, runPreflight } from "../launch/preflight.js";
import { askServices, type MachineFacts, probeMachine } from "../launch/probe.js";
import { RayJobs } from "../launch/ray-jobs.js";
import { findRayToken } from "../launch/ray-token.js";
import { HealthMonitor } from "../train/health.js";
import { runDirectory } from "../train/train.js";
import { describeVerlEvent, describeVerlSummary } from "./verl-console.js";
import { openVerlService } from "./verl-service.js";

/** What the command line asks of a launch beside the config. */
export interface VerlFlags {
  dryRun?: true;
  writeScript?: string;
  json?: true;
}

const REWARD_SHIM = fileURLToPath(new URL("../../python/verl_reward.py", import.meta.url));
const say = (text: string) => void process.stderr.write(`${text}\n`);

/** Trains with veRL; answers the exit code. */
export async function trainWithVerl(resolved: ResolvedConfig, flags: VerlFlags): Promise<number> {
  const run = runDirectory(resolved);
  const isDry = flags.dryRun === true && flags.writeScript === undefined;
  // A plan counts the launches before it, so that the run is held from before it is planned.
  const release = isDry ? () => {} : lockRun(run.dir);
  try {
    const { plan, machine } = await planHere(resolved, run);
    if (flags.writeScript !== undefined) await writeScript(plan, flags.writeScript);
    if (flags.dryRun) {
      process.stdout.write(flags.json ? formatAsJson(plan.command) : formatCommand(plan.command));
      say(describeBatches(resolved.config));
    }
    if (flags.dryRun || flags.writeScript !== undefined) return 0;
    return await startAndFollow({ plan, machine, resolved, isQuiet: flags.json === true });
  } finally {
    release();
  }
}

async function planHere(resolved: ResolvedConfig, { dir, name }: { dir: string; name: string }) {
  const { config } = resolved;
  const files = [rewardFileOf(config, REWARD_SHIM)];
  const machine = await probeMachine(config.launch.python, { files, disk: dir });
  const plan = planLaunch(resolved, {
    ...{ dir, name, token: serviceToken(), rewardShim: REWARD_SHIM },
    ...{ python: machine.python, knownKeys: machine.knownKeys },
  });
  return { plan, machine };
}

const serviceToken = () => process.env.RLVR_VERIFIER_TOKEN ?? null;

async function startAndFollow(the: {
  plan: LaunchPlan;
  machine: MachineFacts;
  resolved: ResolvedConfig;
  isQuiet: boolean;
}): Promise<number> {
  const { plan, machine, resolved, isQuiet } = the;
  const { config } = resolved;
  const { train } = await prepareData(plan);
  const address = config.launch.ray_address;
  const ray = address === null ? null : new RayJobs(address, await findRayToken(process.env));
  const start = jobStarter(ray, process.env);
  const { executable: python, importable } = machine.python;
  const token = serviceToken();
  const checks = runPreflight({
    config,
    release: plan.release,
    machine,
    overrides: plan.overrides,
    files: [plan.paths.rewardFile],
    trainRows: train.rows,
    services: plan.socket === null ? await askServices(plan.urls, token) : [],
    cluster: ray === null ? null : await ray.resources(),
    nodes: importable.ray ? await askNodes(plan.nodes, { python, token, start }) : null,
  });
  refuseFailed(checks);
  const service = await openVerlService(config, plan.socket);
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  try {
    const { enable, repeat_every: repeatEvery, stop_on: stopOn } = config.health;
    const monitor = enable ? new HealthMonitor({ repeatEvery, stopOn }) : null;
    const summary = await launch(plan, resolved, {
      start: (onLine) => start({ command: plan.command, onLine }),
      problems: train.problems,
      trainRows: train.rows,
      judge: service.judge,
      observe: (record) => monitor?.observe(record) ?? [],
      onEvent: (event) => describeVerlEvent(event, isQuiet),
      signal: stop.signal,
      isolation: service.isolation,
    });
    say(describeVerlSummary(summary));
    if (isQuiet) process.stdout.write(JSON.stringify(summary) + "\n");
    return { finished: 0, interrupted: 130, failed: 1 }[summary.status];
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
    await service.close();
  }
}

async function writeScript(plan: LaunchPlan, path: string): Promise<void> {
  const where = plan.socket === null ? "--port 8710" : `--socket ${plan.socket}`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, formatScript(plan.command, { service: `rlvr serve ${where}` }));
  await chmod(path, 0o755);
  // The script reads the parquet files that a launch would write.
  await prepareData(plan);
  say(`wrote ${path}`);
}

function refuseFailed(checks: readonly CheckResult[]): void {
  for (const { state, name, detail } of checks)
    if (state !== "ok") say(`${state}: ${name}: ${detail}`);
  const failed = checks.filter(({ state }) => state === "failed");
  if (failed.length === 0) return;
  throw new LaunchError(
    `launch: ${failed.length} of ${checks.length} checks failed; nothing was started`,
  );
}
