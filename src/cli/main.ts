#!/usr/bin/env node
/**
 * The CLI's door: finds the command, runs it, and is the only place that catches errors and exits.
 *
 * Commands load when they are called, so that `--help` reads no other file.
 */
import { Command, CommanderError } from "commander";
import { ConfigError, RlvrError } from "../core/errors.js";
import { refuseSwallowedFlags } from "./flags.js";

/** What a command module exports: its options and its action. */
export interface CommandModule {
  /** Fills in arguments, options, help and the action of the command it is given. */
  define(command: Command): void;
}

const COMMANDS: Record<string, { summary: string; load: () => Promise<CommandModule> }> = {
  init: {
    summary: "Write a commented config file for a laptop, one GPU or a cluster.",
    load: () => import("./init.js"),
  },
  prepare: {
    summary: "Turn a code data set into problems and the parquet files that trainers read.",
    load: () => import("./prepare.js"),
  },
  verify: {
    summary: "Judge completions against a problem's tests, or audit the tests themselves.",
    load: () => import("./verify.js"),
  },
  train: {
    summary: "Train a policy here, by PPO or GRPO on programs that pass tests.",
    load: () => import("./train.js"),
  },
  eval: {
    summary: "Ask a model a benchmark's problems and judge its answers.",
    load: () => import("./eval.js"),
  },
  report: {
    summary: "Compare two evaluations problem by problem: what was gained, lost, or is noise.",
    load: () => import("./report.js"),
  },
  merge: {
    summary: "Turn a distributed trainer's shards, or an adapter, into one model directory.",
    load: () => import("./merge.js"),
  },
  import: {
    summary: "Turn a GGUF model file into a model directory.",
    load: () => import("./import.js"),
  },
  serve: {
    summary: "Serve the verifier over HTTP, and the dashboard of a folder of runs.",
    load: () => import("./serve.js"),
  },
  watch: {
    summary: "Show a run's health and curves in the terminal.",
    load: () => import("./watch.js"),
  },
  doctor: {
    summary: "Say what would work on this machine: isolation, training, veRL, languages.",
    load: () => import("./doctor.js"),
  },
  completion: {
    summary: "Print a script that completes commands, flags and config keys in a shell.",
    load: () => import("./completion.js"),
  },
};

const HELP = `
Examples:
  rlvr train                      # train the starter model here, in minutes
  rlvr verify --problems problems.jsonl --completions completions.jsonl
  rlvr help train                 # the flags of one command, with examples

Exit codes: 0 done, 1 failed, 2 wrong use or wrong input, 130 interrupted.
Results go to standard output, talk to standard error. NO_COLOR and FORCE_COLOR are heeded.`;

async function main(argv: string[]): Promise<void> {
  const program = new Command("rlvr")
    .description("Train code language models by reinforcement learning from executable tests.")
    .option("--version", "print the version")
    .addHelpText("after", HELP)
    .configureHelp({ showGlobalOptions: false })
    .exitOverride()
    .showSuggestionAfterError()
    .hook("preAction", (_, command) => refuseSwallowedFlags(command));
  const [first, second] = argv.filter((word) => !word.startsWith("-"));
  const wanted = first === "help" ? second : first;
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(summary).exitOverride();
    // A completion script tells the flags of every command.
    if (name === wanted || wanted === "completion") (await load()).define(command);
  }
  if (wanted === undefined && argv.includes("--version")) {
    const { VERSION } = await import("../core/version.js");
    process.stdout.write(`${VERSION}\n`);
    return;
  }
  if (first === "help" && second !== undefined && !(second in COMMANDS)) {
    throw new ConfigError(
      `help: expected one of ${Object.keys(COMMANDS).join(", ")}, found ${second}`,
    );
  }
  await program.parseAsync(argv, { from: "user" });
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const say = (text: string) => void process.stderr.write(`rlvr: ${text}\n`);
  if (error instanceof RlvrError) {
    say(error.message);
    return error.exitCode;
  }
  if (error instanceof Error && error.name === "AbortError") {
    say("interrupted");
    return 130;
  }
  if (isFromSystem(error)) {
    say(error.message);
    return 1;
  }
  say(`this is a bug in rlvr: ${(error as Error)?.stack ?? String(error)}`);
  return 1;
}

/** True for what the operating system refused, such as a full disk or a port that is taken. */
function isFromSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error && "errno" in error;
}

for (const [name, stream] of [
  ["standard output", process.stdout],
  ["standard error", process.stderr],
] as const) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // Whoever read it, such as `head`, has seen enough. The work goes on: a training is worth more.
    if (error.code === "EPIPE") return;
    if (stream !== process.stderr) process.stderr.write(`rlvr: ${name}: ${error.message}\n`);
    process.exit(1);
  });
}
main(process.argv.slice(2)).catch((error: unknown) => {
  process.exitCode = exitCodeOf(error);
});
