#!/usr/bin/env node
/**
 * The CLI's door: finds the command, runs it, and is the only place that catches errors and exits.
 *
 * Commands load when they are called, so that `--help` reads no other file.
 */
import { Command, CommanderError } from "commander";
import { RlvrError } from "../core/errors.js";

/** What a command module exports: its options and its action. */
export interface CommandModule {
  /** Fills in arguments, options, help and the action of the command it is given. */
  define(command: Command): void;
}

const COMMANDS: Record<string, { summary: string; load: () => Promise<CommandModule> }> = {
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
    summary: "Say what this machine offers: isolation, interpreters, compilers.",
    load: () => import("./doctor.js"),
  },
};

async function main(argv: string[]): Promise<void> {
  const program = new Command("rlvr")
    .description("Train code language models by reinforcement learning from executable tests.")
    .exitOverride()
    .showSuggestionAfterError();
  const wanted = argv.find((word) => !word.startsWith("-"));
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(summary).exitOverride();
    if (name === wanted) (await load()).define(command);
  }
  await program.parseAsync(argv, { from: "user" });
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof RlvrError) {
    process.stderr.write(`rlvr: ${error.message}\n`);
    return error.exitCode;
  }
  process.stderr.write(
    `rlvr: this is a bug in rlvr: ${(error as Error)?.stack ?? String(error)}\n`,
  );
  return 1;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.exitCode = exitCodeOf(error);
});
