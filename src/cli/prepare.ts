/** `rlvr prepare`: a code data set in, problems and veRL's parquet out. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { DedupeMode } from "../prepare/dedupe.js";
import type { Manifest, ManifestSplit } from "../prepare/manifest.js";
import { prepare } from "../prepare/prepare.js";
import { CHAPTER_TEMPLATE, CHARACTER_METER, loadTemplate } from "../prepare/prompt.js";
import { openProgress } from "./progress.js";

/** The flags as commander hands them over. */
interface Flags {
  validation?: string;
  out: string;
  source: string;
  limit: number | "all";
  seed: number;
  maxPromptTokens: number;
  template?: string;
  maxTests?: number;
  maxTestBytes?: number;
  dedupe: DedupeMode;
  against: string[];
  json?: true;
}

/** Defines the command. */
export function define(command: Command): void {
  command
    .argument("<train>", "file of rows: .parquet, .jsonl, .jsonl.gz or .json")
    .option("--validation <file>", "second file, kept apart for validation")
    .requiredOption("--out <folder>", "where the files go")
    .option("--source <name>", "data set the rows are of", "auto")
    .option("--limit <n>", "problems to draw for training, or all", orAll, 1000)
    .option("--seed <n>", "seed of everything random", integer, 42)
    .option("--max-prompt-tokens <n>", "longest prompt kept, in both files", positive, 512)
    .option("--template <file>", "YAML file of prompt wordings instead of the chapter's")
    .option("--max-tests <n>", "most tests kept of a problem", positive)
    .option("--max-test-bytes <n>", "most bytes of tests kept of a problem", positive)
    .addOption(
      new Option("--dedupe <mode>", "how far repeated tasks are looked for")
        .choices(["off", "exact", "near"])
        .default("near"),
    )
    .option(
      "--against <benchmark>",
      "file, or humaneval|mbpp|livecodebench|gsm8k=file, that training must not hold (repeatable)",
      (text: string, earlier: string[]) => [...earlier, text],
      [],
    )
    .option("--json", "print the manifest as JSON")
    .action(run);
}

async function run(train: string, flags: Flags): Promise<void> {
  const progress = openProgress();
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
  const manifest = await prepare({
    train,
    validation: flags.validation ?? null,
    out: flags.out,
    source: flags.source,
    limit: flags.limit === "all" ? null : flags.limit,
    seed: flags.seed,
    maxPromptTokens: flags.maxPromptTokens,
    meter: CHARACTER_METER,
    template: flags.template === undefined ? CHAPTER_TEMPLATE : await loadTemplate(flags.template),
    maxTests: flags.maxTests ?? null,
    maxTestBytes: flags.maxTestBytes ?? null,
    dedupe: flags.dedupe,
    against: flags.against,
    onProgress: progress.onProgress,
    signal: interrupt.signal,
  });
  progress.clear();
  process.stdout.write(flags.json ? JSON.stringify(manifest) + "\n" : describe(manifest));
}

function describe({ splits, outputs }: Manifest): string {
  const lines = Object.entries(splits).flatMap(([name, split]) => describeSplit(name, split));
  return [...lines, ...outputs.map(({ name, bytes }) => `${name}  ${bytes} bytes`), ""].join("\n");
}

function describeSplit(name: string, { rows, written, dropped }: ManifestSplit): string[] {
  const reasons = Object.entries(dropped).map(([reason, count]) => `  ${reason}: ${count}`);
  return [`${name}: ${written} of ${rows} rows written`, ...reasons];
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
