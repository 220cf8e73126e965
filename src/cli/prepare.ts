/** `rlvr prepare`: a code data set in, problems and veRL's parquet out. */
import { homedir } from "node:os";
import { join } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { ConfigError } from "../core/errors.js";
import type { DedupeMode } from "../prepare/dedupe.js";
import { planPrepare, prepare, type PrepareOptions } from "../prepare/prepare.js";
import { CHAPTER_TEMPLATE, CHARACTER_METER, loadTemplate } from "../prepare/prompt.js";
import * as show from "../prepare/show.js";
import { tokenizerMeter } from "../prepare/tokens.js";
import { openProgress } from "./progress.js";

const HELP = `
The data set is a file (.parquet, .jsonl, .jsonl.gz, .json) or a hub id (owner/name, owner/name@revision;
token from HF_TOKEN, base URL from HF_ENDPOINT). With --show it is a prepared folder or problem file.`;

/** The flags as commander hands them over. */
interface Flags extends Pick<PrepareOptions, "source" | "seed" | "maxPromptTokens" | "against"> {
  validation?: string;
  out?: string;
  limit: number | "all";
  tokenizer?: string;
  template?: string;
  maxTests?: number;
  maxTestBytes?: number;
  dedupe: DedupeMode;
  audit?: true;
  completions?: string;
  band: [number, number];
  show?: string;
  dryRun?: true;
  json?: true;
}

/** Defines the command. */
export function define(command: Command): void {
  const modes = new Option("--dedupe <mode>", "how far repeated tasks are looked for");
  const collect = (text: string, earlier: string[]) => [...earlier, text];
  command
    .argument("<data>", "file of rows, or hub id")
    .option("--validation <data>", "second file or hub id, kept apart for validation")
    .option("--out <folder>", "where the files go")
    .option("--source <name>", "data set the rows are of", "auto")
    .option("--limit <n>", "problems to draw for training, or all", orAll, 1000)
    .option("--seed <n>", "seed of everything random", integer, 42)
    .option("--max-prompt-tokens <n>", "longest prompt kept, in both files", positive, 512)
    .option("--tokenizer <dir>", "model directory to count tokens with, else 4 characters are one")
    .option("--template <file>", "YAML file of prompt wordings instead of the chapter's")
    .option("--max-tests <n>", "most tests kept of a problem", positive)
    .option("--max-test-bytes <n>", "most bytes of tests kept of a problem", positive)
    .addOption(modes.choices(["off", "exact", "near"]).default("near"))
    .option("--against <file>", "benchmark that training must not hold (repeatable)", collect, [])
    .option("--audit", "run reference solutions; leave out problems that they fail")
    .option("--completions <file>", "a model's completions, to keep problems by pass rate")
    .option("--band <low,high>", "pass rates kept", band, [0.2, 0.8])
    .option("--show <id>", "print one prepared problem")
    .option("--dry-run", "print what would be done and write nothing")
    .option("--json", "print the result as JSON")
    .addHelpText("after", HELP)
    .action(run);
}

async function run(data: string, flags: Flags): Promise<void> {
  const print = <T>(value: T, describe: (value: T) => string) =>
    process.stdout.write(flags.json ? JSON.stringify(value) + "\n" : describe(value));
  if (flags.show !== undefined) {
    print(await show.findProblem(data, flags.show), show.describeProblem);
    return;
  }
  const progress = openProgress();
  const interrupt = new AbortController();
  const stop = () => interrupt.abort();
  process.once("SIGINT", stop);
  try {
    const options = await optionsOf(data, flags);
    if (flags.dryRun) print(await planPrepare(options), show.describePlan);
    else {
      const watched = { ...options, onProgress: progress.onProgress, signal: interrupt.signal };
      const manifest = await prepare(watched);
      progress.clear();
      print(manifest, show.describeManifest);
    }
  } catch (error) {
    progress.clear();
    if (!interrupt.signal.aborted) throw error;
    process.stderr.write("rlvr: prepare: interrupted; nothing was written\n");
    process.exitCode = 130;
  } finally {
    process.off("SIGINT", stop);
  }
}

async function optionsOf(train: string, flags: Flags): Promise<PrepareOptions> {
  const { source, seed, maxPromptTokens, dedupe, against, completions } = flags;
  if (flags.out === undefined && !flags.dryRun) throw new ConfigError("--out is missing");
  const [min, max] = flags.band;
  return {
    train,
    validation: flags.validation ?? null,
    out: flags.out ?? ".",
    source,
    limit: flags.limit === "all" ? null : flags.limit,
    seed,
    maxPromptTokens,
    meter: flags.tokenizer === undefined ? CHARACTER_METER : await tokenizerMeter(flags.tokenizer),
    template: flags.template === undefined ? CHAPTER_TEMPLATE : await loadTemplate(flags.template),
    maxTests: flags.maxTests ?? null,
    maxTestBytes: flags.maxTestBytes ?? null,
    dedupe,
    against,
    audit: flags.audit ?? false,
    profile: completions === undefined ? null : { path: completions, min, max },
    hub: {
      cacheDir: join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "code-rlvr/hub"),
      url: process.env["HF_ENDPOINT"] ?? "https://huggingface.co",
      token: process.env["HF_TOKEN"] ?? null,
    },
  };
}

function integer(text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("expected an integer");
}

function positive(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a positive integer");
}

const orAll = (text: string) => (text === "all" ? text : positive(text));

function band(text: string): [number, number] {
  const [low, high] = text.split(",").map(Number);
  if (low >= 0 && low <= high && high <= 1) return [low, high];
  throw new InvalidArgumentError("expected two rates, e.g. 0.2,0.8");
}
