/** `rlvr merge`: shards or an adapter become one model directory. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { mergeCheckpoint, type MergeOptions, type MergeReport } from "../merge/merge.js";
import { describeMerge, parseBytes } from "../merge/summary.js";
import { addExamples } from "./help.js";
import { amount } from "./option-values.js";
import { openProgress } from "./progress.js";

interface Flags {
  out: string;
  dtype: "keep" | "bf16" | "f16" | "f32";
  lora: "fuse" | "separate";
  loraAlpha?: number;
  maxShardSize: number;
  base?: string;
  verify?: string | true;
  json?: true;
}

const DTYPES = { keep: "keep", bf16: "BF16", f16: "F16", f32: "F32" } as const;

/** Options and action of `rlvr merge`. */
export function define(command: Command): void {
  command
    .argument("<checkpoint>", "global_step_N, its actor or critic folder, or a model directory")
    .requiredOption("--out <dir>", "model directory to create")
    .addOption(
      new Option("--dtype <type>", "element type of the weights")
        .choices(Object.keys(DTYPES))
        .default("keep"),
    )
    .addOption(
      new Option("--lora <mode>", "fold an adapter in, or write it beside the base model")
        .choices(["fuse", "separate"])
        .default("fuse"),
    )
    .option("--lora-alpha <number>", "alpha, where the checkpoint does not record it", amount)
    .option("--max-shard-size <size>", "largest weight file", parseSize, parseSize("5GB"))
    .option("--base <dir>", "model that training started from, for what the checkpoint lacks")
    .option("--verify [reference]", "list every tensor; with a directory, its largest difference")
    .option("--json", "print the report as JSON")
    .action(run);
  addExamples(command, [
    ["rlvr merge runs/NAME/checkpoints/global_step_100 --out merged", "veRL's shards"],
    ["rlvr merge adapter/ --base MODEL --out merged --dtype bf16", "an adapter, folded in"],
    ["rlvr merge CHECKPOINT --out merged --verify REFERENCE", "compared with another merge"],
  ]);
}

async function run(checkpoint: string, flags: Flags): Promise<void> {
  const display = openProgress();
  const abort = new AbortController();
  const stop = () => abort.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  const options: MergeOptions = {
    checkpoint,
    out: flags.out,
    dtype: DTYPES[flags.dtype],
    lora: flags.lora,
    loraAlpha: flags.loraAlpha ?? null,
    maxShardBytes: flags.maxShardSize,
    base: flags.base ?? null,
    reference: typeof flags.verify === "string" ? flags.verify : null,
    signal: abort.signal,
    onProgress: display.onProgress,
  };
  let report: MergeReport;
  try {
    report = await mergeCheckpoint(options);
  } catch (error) {
    if (!abort.signal.aborted) throw error;
    process.exitCode = 130;
    return;
  } finally {
    display.clear();
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
  for (const warning of report.warnings) process.stderr.write(`warning: ${warning}\n`);
  const text = describeMerge(report, { isListed: flags.verify !== undefined });
  process.stdout.write(flags.json ? `${JSON.stringify(report, null, 2)}\n` : text);
  if (report.differences?.some(({ kind }) => kind !== "compared")) process.exitCode = 1;
}

function parseSize(text: string): number {
  const bytes = parseBytes(text);
  if (bytes !== null) return bytes;
  throw new InvalidArgumentError("expected a size such as 5GB or 500MB.");
}
