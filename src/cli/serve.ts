/** `rlvr serve`: the verifier over HTTP and, with --runs, the dashboard. */
import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { type Command, Option } from "commander";
import { resolveConfig } from "../config/resolve.js";
import type { Config } from "../config/schema.js";
import { judgingSettings, verifierSettings } from "../config/settings.js";
import { RunStore } from "../report/run-store.js";
import { mountDashboard } from "../service/dashboard.js";
import { mountRunRoutes } from "../service/run-api.js";
import { isEveryAddress, type MoreRoutes, startService } from "../service/server.js";
import { loadCustomReward, withCustomReward } from "../verify/custom-reward.js";
import { openSandbox } from "../verify/sandbox/open.js";
import type { IsolationLevel, Sandbox } from "../verify/sandbox.js";
import { createVerifier, type Verifier } from "../verify/verify.js";
import { readConfigFile } from "./config-file.js";
import { addExamples } from "./help.js";
import { port, positive, whole } from "./option-values.js";

interface Flags {
  host: string;
  port: number;
  socket?: string;
  runs?: string;
  token?: string;
  workers: number;
  queue: number;
  deadline: number;
  maxBody: number;
  requireIsolation: IsolationLevel;
  config?: string;
  reward?: string;
  rewardName: string;
  json?: true;
}

/** Defines the command. */
export function define(command: Command): void {
  command
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <n>", "port; 0 takes a free one", port, 8710)
    .option("--socket <path>", "Unix socket instead of an address")
    .option("--runs <folder>", "show the runs in this folder as a dashboard")
    .option(
      "--token <secret>",
      "bearer token to ask for, else RLVR_VERIFIER_TOKEN; needed beyond loopback",
    )
    .option("--workers <n>", "sandbox servers", positive, availableParallelism())
    .option("--queue <n>", "completions that may wait", whole, 20_000)
    .option("--deadline <seconds>", "longest wait for a free sandbox", positive, 600)
    .option("--max-body <megabytes>", "largest request", positive, 64)
    .addOption(
      new Option("--require-isolation <level>", "refuse to start below it")
        .choices(["none", "basic", "full"])
        .default("basic"),
    )
    .option(
      "--config <file>",
      "judge as `verifier` and `reward` of this config file say; flags win",
    )
    .option("--reward <file>", "TypeScript or JavaScript file with a reward of your own")
    .option("--reward-name <name>", "the function it exports", "computeScore")
    .option("--json", "print the address and the isolation as a line of JSON once serving")
    .action(run);
  addExamples(command, [
    ["rlvr serve --runs runs/", "the verifier and the dashboard, on this machine only"],
    ['rlvr serve --host 0.0.0.0 --token "$SECRET"', "for the trainers of other machines"],
    ["rlvr serve --config run.yaml", "judge as a run of this config does"],
    ["rlvr serve --socket /run/rlvr.sock --reward ./my-reward.ts", "a reward of your own"],
  ]);
}

async function run(flags: Flags, command: Command): Promise<void> {
  const config = await configOf(flags, command);
  const settings = verifierSettings(config);
  const { workers, requireIsolation } = settings;
  const runs = flags.runs === undefined ? null : await RunStore.at(flags.runs);
  // Before the address is printed: whoever reads it may send a signal at once.
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  const sandbox = await openSandbox({ workers, requireIsolation, onWarning: warn });
  try {
    const builtIn = await createVerifier({ ...settings, sandbox });
    await serveUntil(stopped, { flags, config, sandbox, builtIn, runs });
    await builtIn.close();
  } finally {
    // Whatever went wrong: its servers would keep this process from ending.
    await sandbox.close();
  }
}

const warn = (warning: string) => process.stderr.write(`rlvr: ${warning}\n`);

async function serveUntil(
  stopped: Promise<void>,
  the: {
    flags: Flags;
    config: Config;
    sandbox: Sandbox;
    builtIn: Verifier;
    runs: RunStore | null;
  },
): Promise<void> {
  const { flags, config, sandbox, builtIn, runs } = the;
  const { path, name } = config.reward.custom_reward_function;
  const verifier =
    path === null ? builtIn : withCustomReward(builtIn, await loadCustomReward(path, name));
  const pageToken = runs === null ? null : randomBytes(16).toString("hex");
  const service = await startService(
    {
      verifier,
      sandbox,
      options: {
        token: flags.token ?? process.env["RLVR_VERIFIER_TOKEN"] ?? null,
        pageToken,
        maxBodyBytes: flags.maxBody * 2 ** 20,
        // Twice what runs at once, so that a sandbox never waits for Node.
        concurrency: verifierSettings(config).workers * 2,
        queueCapacity: flags.queue,
        deadlineMs: flags.deadline * 1000,
        settings: judgingSettings(config),
      },
      ...(runs === null ? {} : { routes: pagesOf(runs) }),
    },
    flags.socket === undefined ? { host: flags.host, port: flags.port } : { socket: flags.socket },
  );
  const address = pageToken === null ? service.url : `${service.url}/#/?token=${pageToken}`;
  if (flags.json) {
    const { url } = service;
    process.stdout.write(
      `${JSON.stringify({ url, dashboard: pageToken === null ? null : address, isolation: sandbox.level })}\n`,
    );
  }
  process.stderr.write(`rlvr: serving on ${address} (isolation ${sandbox.level})\n`);
  if (flags.socket === undefined && isEveryAddress(flags.host)) {
    const { hostname } = new URL(service.url);
    warn(`from other machines: the same address with this machine's name for ${hostname}`);
  }
  await stopped;
  process.stderr.write("rlvr: finishing what was accepted\n");
  await service.close();
}

/** The config file's settings, or the defaults, with those that flags set in their place. */
async function configOf(flags: Flags, command: Command): Promise<Config> {
  const path = flags.config;
  const file =
    path === undefined ? null : { path, text: await readConfigFile(path, "a config file") };
  const { config, provenance } = resolveConfig({ file });
  const isGiven = (flag: keyof Flags) => command.getOptionValueSource(flag) === "cli";
  if (isGiven("workers")) config.verifier.workers = flags.workers;
  // A file that does not speak of it lowers nothing.
  const isOpen = provenance.get("verifier.require_isolation")?.kind === "default";
  if (isOpen || isGiven("requireIsolation")) {
    config.verifier.require_isolation = flags.requireIsolation;
  }
  const own = config.reward.custom_reward_function;
  // veRL itself calls a Python file.
  if (own.path?.endsWith(".py") === true) own.path = null;
  if (flags.reward !== undefined)
    Object.assign(own, { path: flags.reward, name: flags.rewardName });
  return config;
}

/** The dashboard over these runs. */
function pagesOf(runs: RunStore): MoreRoutes {
  return (app, { isDraining }) => {
    mountRunRoutes(app, runs, isDraining);
    mountDashboard(app, fileURLToPath(new URL("../web", import.meta.url)));
  };
}
