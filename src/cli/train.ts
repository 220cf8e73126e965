/** `rlvr train`: a config in, a trained model and a before/after report out. */
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { describeBatches } from "../config/checks.js";
import { type ResolvedConfig, formatConfig } from "../config/resolve.js";
import type { Config } from "../config/schema.js";
import { fileList, verifierSettings } from "../config/settings.js";
import { unusedKeys } from "../config/unused.js";
import { ConfigError } from "../core/errors.js";
import { train } from "../train/train.js";
import { loadCustomReward, withCustomReward } from "../verify/custom-reward.js";
import { createVerifier } from "../verify/verify.js";
import { configSuggestions } from "./config-words.js";
import { addExamples, suggest } from "./help.js";
import { openConsole } from "./train-console.js";
import { compareModels } from "./train-evaluation.js";
import { type TrainFlags, readTrainConfig } from "./train-config.js";

/** Defines the command. */
export function define(command: Command): void {
  command
    .argument("[words...]", "config file (.yaml), and overrides as key=value")
    .option("--preset <name>", "preset to start from; without a config file it is starter")
    .option("--out <folder>", "run directory, instead of runs/<name>")
    .option("--resume <how>", "auto, never, or the path of a checkpoint or run")
    .option("--force", "go on from a checkpoint that belongs to a different run")
    .option("--no-eval", "leave out the evaluation before and after")
    .option("--dry-run", "print the resolved config, with engine=verl the exact command, and stop")
    .option(
      "--write-script <file>",
      "with engine=verl: write the command as a shell script and stop",
    )
    .option("--json", "print the summary, or with --dry-run the config or veRL's command, as JSON")
    .action(run);
  suggest(command, configSuggestions);
  addExamples(command, [
    ["rlvr train", "the starter model on its own problems, in minutes"],
    ["rlvr train run.yaml seed=7", "a config file and an override"],
    ["rlvr train --preset starter-grpo --out runs/grpo", "another preset, another directory"],
    ["rlvr train run.yaml --dry-run", "the config with where each value came from"],
    ["rlvr train run.yaml engine=verl --dry-run", "the exact command that starts veRL"],
  ]);
}

async function run(words: string[], flags: TrainFlags): Promise<void> {
  const resolved = await readTrainConfig(words, flags, process.env);
  const isDry = flags.dryRun === true || flags.writeScript !== undefined;
  // A run says them itself.
  if (isDry || resolved.config.engine === "verl") {
    for (const line of unusedKeys(resolved)) process.stderr.write(`rlvr: ${line}\n`);
  }
  if (resolved.config.engine === "verl") {
    const { trainWithVerl } = await import("./train-verl.js");
    process.exitCode = await trainWithVerl(resolved, flags);
    return;
  }
  if (flags.writeScript !== undefined) {
    throw new ConfigError("--write-script writes a script that starts veRL: it needs engine=verl");
  }
  if (flags.dryRun) {
    process.stdout.write(
      flags.json ? `${JSON.stringify(resolved.config)}\n` : formatConfig(resolved),
    );
    process.stderr.write(describeBatches(resolved.config) + "\n");
    for (const path of missingInputs(resolved.config)) {
      process.stderr.write(`rlvr: ${path} is not there yet; a run would be refused\n`);
    }
    return;
  }
  await trainHere(resolved, flags);
}

async function trainHere(resolved: ResolvedConfig, flags: TrainFlags): Promise<void> {
  const { config } = resolved;
  const terminal = openConsole({ json: flags.json === true });
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(130);
    terminal.say("finishing this step, then saving; once more stops at once");
    stop.abort();
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  // The sandbox forks: it comes before any weights are in memory.
  const builtIn = await createVerifier(verifierSettings(config));
  try {
    const { path, name } = config.reward.custom_reward_function;
    const verifier =
      path === null ? builtIn : withCustomReward(builtIn, await loadCustomReward(path, name));
    const summary = await train(resolved, {
      verifier,
      onEvent: terminal.onEvent,
      onProgress: terminal.onProgress,
      signal: stop.signal,
      force: flags.force === true,
    });
    terminal.finish(summary);
    if (summary.status === "interrupted") process.exitCode = 130;
    const report =
      flags.eval && summary.status === "finished"
        ? await compareModels(config, summary, { verifier: builtIn, terminal })
        : null;
    if (flags.json) process.stdout.write(JSON.stringify({ ...summary, report }) + "\n");
  } finally {
    await builtIn.close();
  }
}

/** Files and folders that the embedded engine would read and that are not there. */
function missingInputs({ data, actor_rollout_ref: { model }, trainer }: Config): string[] {
  const files = [...fileList(data.train_files), ...fileList(data.val_files)];
  const others = [model.path, trainer.resume_from_path].filter((path) => path !== null);
  return [...files, ...others].filter((path) => !existsSync(path));
}
