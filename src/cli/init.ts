/** `rlvr init`: a commented config file for a laptop, one GPU or a cluster, asked for or by flags. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface } from "node:readline/promises";
import { type Command, Option } from "commander";
import { ConfigError } from "../core/errors.js";
import { writeAtomic } from "../core/run.js";
import { addExamples } from "./help.js";
import { type Answers, type Place, PLACES, placeOf, writeConfig } from "./init-file.js";

interface Flags {
  for?: Place;
  model?: string;
  data?: string;
  validation?: string;
  out: string;
  yes?: true;
  force?: true;
  json?: true;
}

/** Asks one question; an empty answer takes the default. */
type Ask = (question: string, byDefault: string) => Promise<string>;

/** Defines the command. */
export function define(command: Command): void {
  command
    .addOption(new Option("--for <place>", "where it will train").choices(Object.keys(PLACES)))
    .option("--model <model>", "model directory, or with veRL also a name of the hub")
    .option("--data <file>", "problems to train on, as rlvr prepare writes them")
    .option("--validation <file>", "problems to validate on")
    .option("--out <file>", "config file to write", "rlvr.yaml")
    .option("--yes", "ask nothing: flags, then defaults")
    .option("--force", "replace the file if it is there")
    .option("--json", "print what was written as JSON")
    .action(run);
  addExamples(command, [
    ["rlvr init", "answer a few questions"],
    ["rlvr init --for laptop --yes", "the starter run as a file of one's own"],
    ["rlvr init --for gpu --data data/train1000.jsonl --out gpu.yaml --yes", "veRL on one GPU"],
  ]);
}

async function run(flags: Flags): Promise<void> {
  const { out } = flags;
  if (existsSync(out) && !flags.force) {
    throw new ConfigError(
      `init: ${out} is there already; --force replaces it, --out names another`,
    );
  }
  const isAsking = !flags.yes && process.stdin.isTTY && process.stderr.isTTY;
  const answers = isAsking ? await askTerminal(flags) : byFlags(flags);
  const text = writeConfig(answers);
  await mkdir(dirname(out), { recursive: true });
  await writeAtomic(out, text);
  const next = [`rlvr train ${out} --dry-run`, `rlvr train ${out}`];
  if (flags.json) process.stdout.write(`${JSON.stringify({ out, ...answers, next })}\n`);
  else process.stdout.write(`${out}\n`);
  process.stderr.write(`next: ${next[0]} shows every value, ${next[1]} trains\n`);
}

function byFlags(flags: Flags): Answers {
  if (flags.for === undefined) {
    const places = Object.keys(PLACES).join(", ");
    throw new ConfigError(`init: expected --for with one of ${places}; on a terminal it asks`);
  }
  const { model, data, validation } = placeOf(flags.for);
  return {
    for: flags.for,
    model: flags.model ?? model,
    data: flags.data ?? data,
    validation: flags.validation ?? validation,
  };
}

async function askTerminal(flags: Flags): Promise<Answers> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const stop = new AbortController();
  terminal.once("SIGINT", () => stop.abort());
  terminal.once("close", () => stop.abort());
  try {
    return await askAll(flags, async (question, byDefault) => {
      const text = `${question} [${byDefault}] `;
      return (await terminal.question(text, { signal: stop.signal })).trim() || byDefault;
    });
  } finally {
    terminal.close();
  }
}

/** Asks for what the flags leave open. */
export async function askAll(flags: Omit<Flags, "out">, ask: Ask): Promise<Answers> {
  const place = flags.for ?? (await askPlace(ask));
  const { model, data, validation } = placeOf(place);
  return {
    for: place,
    model: flags.model ?? (await ask("Model: a directory or a name of the hub", model)),
    data: flags.data ?? (await ask("Problems to train on", data)),
    validation: flags.validation ?? (await ask("Problems to validate on", validation)),
  };
}

async function askPlace(ask: Ask): Promise<Place> {
  const names = Object.keys(PLACES) as Place[];
  const lines = names.map((name) => `  ${name.padEnd(8)} ${PLACES[name].about}`);
  const question = `Where will it train?\n${lines.join("\n")}\n${names.join(", ")}?`;
  for (;;) {
    const answer = await ask(question, names[0]);
    const found = names.find((name) => name === answer.toLowerCase());
    if (found !== undefined) return found;
  }
}
