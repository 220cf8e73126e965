/** The exact command that starts veRL: words, environment, and the same as a shell script. */
import { quoteForShell } from "./hydra.js";

/** A command with the variables that it needs beside those of the shell. */
export interface LaunchCommand {
  words: string[];
  environment: Record<string, string>;
}

/** What of the run the command depends on. */
export interface CommandOptions {
  python: string;
  /** Overrides in Hydra's grammar, not yet quoted. */
  overrides: string[];
  /** File that veRL's logger writes; fresh for each launch, because it is truncated. */
  metricsFile: string;
  /** Comma-separated addresses of verify services. */
  urls: string;
  /** File in which the reward function notes samples that no service could judge. */
  infraLog: string;
  /** Bearer token of the services; null for none. */
  token: string | null;
}

/** Puts the command together. */
export function launchCommand(options: CommandOptions): LaunchCommand {
  return {
    words: [options.python, "-m", "verl.trainer.main_ppo", ...options.overrides],
    environment: {
      VERL_FILE_LOGGER_PATH: options.metricsFile,
      RLVR_VERIFIER_URLS: options.urls,
      RLVR_INFRA_LOG: options.infraLog,
      ...(options.token === null ? {} : { RLVR_VERIFIER_TOKEN: options.token }),
      // Console lines reach the log as they are written, and Hydra's errors are whole.
      PYTHONUNBUFFERED: "1",
      HYDRA_FULL_ERROR: "1",
      TOKENIZERS_PARALLELISM: "true",
    },
  };
}

/** Variables that are secrets: they are not printed and not written to scripts. */
const SECRETS = new Set(["RLVR_VERIFIER_TOKEN"]);

const openVariables = ({ environment }: LaunchCommand) =>
  Object.entries(environment).filter(([name]) => !SECRETS.has(name));

/** Words and variables as a line of JSON. */
export function formatAsJson(command: LaunchCommand): string {
  const environment = Object.fromEntries(openVariables(command));
  return JSON.stringify({ words: command.words, environment }) + "\n";
}

/** The command as one would type it, over several lines. */
export function formatCommand(command: LaunchCommand): string {
  const variables = openVariables(command).map(
    ([name, value]) => `${name}=${quoteForShell(value)}`,
  );
  const [python, ...rest] = command.words.map(quoteForShell);
  const start = `${python} ${rest.slice(0, 2).join(" ")}`;
  return [...variables, start, ...rest.slice(2)].join(" \\\n  ") + "\n";
}

/** A shell script equal to the command, for running veRL without this program. */
export function formatScript(command: LaunchCommand, { service }: { service: string }): string {
  const variables = Object.entries(command.environment).map(([name, value]) =>
    SECRETS.has(name) ? `: "\${${name}:?is needed}"` : `export ${name}=${quoteForShell(value)}`,
  );
  const [python, ...rest] = command.words.map(quoteForShell);
  const body = `${[`${python} ${rest.slice(0, 2).join(" ")}`, ...rest.slice(2)].join(" \\\n  ")}`;
  return [
    "#!/usr/bin/env bash",
    "# Starts veRL as `rlvr train engine=verl` would. The verify service must be running:",
    `#   ${service}`,
    "set -euo pipefail",
    "",
    ...variables,
    "",
    `${body} "$@"`,
    "",
  ].join("\n");
}
