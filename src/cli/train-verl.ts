/** `rlvr train engine=verl`: plan, check, start veRL, follow it, and account for how it ended. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { describeBatches } from "../config/checks.js";
import type { ResolvedConfig } from "../config/resolve.js";
import { LaunchError } from "../core/errors.js";
import { formatAsJson, formatCommand, formatScript } from "../launch/command.js";
import { jobStarter } from "../launch/job.js";
import { launch, type LaunchSummary, prepareData } from "../launch/launch.js";
import { askNodes } from "../launch/nodes.js";
import { type LaunchPlan, planLaunch, rewardFileOf } from "../launch/plan.js";
import { type CheckResult, runPreflight } from "../launch/preflight.js";
import { askServices, probeMachine } from "../launch/probe.js";
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
  const { config } = resolved;
  const { dir, name } = runDirectory(resolved);
  const token = process.env.RLVR_VERIFIER_TOKEN ?? null;
  const readable = [rewardFileOf(config, REWARD_SHIM)];
  const machine = await probeMachine(config.launch.python, { files: readable, disk: dir });
  const plan = planLaunch(resolved, {
    ...{ dir, name, token, rewardShim: REWARD_SHIM },
    ...{ python: machine.python, knownKeys: machine.knownKeys },
  });
  if (flags.writeScript !== undefined) await writeScript(plan, flags.writeScript);
  if (flags.dryRun) {
    process.stdout.write(flags.json ? formatAsJson(plan.command) : formatCommand(plan.command));
    say(describeBatches(config));
  }
  if (flags.dryRun || flags.writeScript !== undefined) return 0;
  const { train } = await prepareData(plan);
  const address = config.launch.ray_address;
  const ray = address === null ? null : new RayJobs(address, await findRayToken(process.env));
  const start = jobStarter(ray, process.env);
  const { executable, importable } = machine.python;
  const checks = runPreflight({
    config,
    release: plan.release,
    machine,
    overrides: plan.overrides,
    files: readable,
    trainRows: train.rows,
    services: plan.socket === null ? await askServices(plan.urls, token) : [],
    cluster: ray === null ? null : await ray.resources(),
    nodes: importable.ray ? await askNodes(plan.nodes, { python: executable, token, start }) : null,
  });
  refuseFailed(checks);
  const service = await openVerlService(config, plan.socket);
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  try {
    const monitor = config.health.enable
      ? new HealthMonitor({
          repeatEvery: config.health.repeat_every,
          stopOn: config.health.stop_on,
        })
      : null;
    const summary = await launch(plan, resolved, {
      start: (onLine) => start({ command: plan.command, onLine }),
      problems: train.problems,
      trainRows: train.rows,
      judge: service.judge,
      observe: (record) => monitor?.observe(record) ?? [],
      onEvent: (event) => describeVerlEvent(event, flags.json === true),
      signal: stop.signal,
      isolation: service.isolation,
    });
    report(summary, flags);
    return { finished: 0, interrupted: 130, failed: 1 }[summary.status];
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
    await service.close();
  }
}

function report(summary: LaunchSummary, flags: VerlFlags): void {
  say(describeVerlSummary(summary));
  if (flags.json) process.stdout.write(JSON.stringify(summary) + "\n");
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
