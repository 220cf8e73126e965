/** `rlvr prepare`: a code data set in, problems and veRL's parquet out. */
import { type Command, Option } from "commander";
import { planPrepare, prepare } from "../prepare/prepare.js";
import * as show from "../prepare/show.js";
import { refuseIdle } from "./flags.js";
import { addExamples } from "./help.js";
import { band, integer, orAll, positive } from "./option-values.js";
import { type Flags, optionsOf } from "./prepare-options.js";
import { openProgress } from "./progress.js";

const HELP = `
The data set is a file (.parquet, .jsonl, .jsonl.gz, .json) or a hub id (owner/name, with :configuration
and @revision where wanted; token from HF_TOKEN, base URL from HF_ENDPOINT). With --show it is a prepared
folder or problem file.`;

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
  addExamples(command, [
    ["rlvr prepare train.parquet --out data/", "1000 problems and veRL's parquet"],
    ["rlvr prepare owner/name --limit all --out data/", "a data set of the hub, all of it"],
    ["rlvr prepare train.jsonl --dry-run", "inputs and settings, and nothing written"],
    ["rlvr prepare data/ --show ID", "one prepared problem"],
  ]);
}

async function run(data: string, flags: Flags, command: Command): Promise<void> {
  refuseIdle(command, { band: flags.completions === undefined ? "--completions" : null });
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
      for (const warning of manifest.warnings) process.stderr.write(`rlvr: prepare: ${warning}\n`);
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
