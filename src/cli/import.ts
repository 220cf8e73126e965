/** `rlvr import`: a GGUF file becomes a model directory. */
import { type Command, Option } from "commander";
import { ConfigError } from "../core/errors.js";
import { whyUnreadable } from "../core/read.js";
import type { WeightDtype } from "../formats/safetensors.js";
import { importGguf } from "../model/gguf-import.js";
import { saveModel } from "../model/weights.js";
import { addExamples } from "./help.js";
import { openProgress } from "./progress.js";

interface Flags {
  out: string;
  dtype: "f32" | "bf16" | "f16";
  json?: true;
}

const DTYPES: Record<Flags["dtype"], WeightDtype> = { f32: "F32", bf16: "BF16", f16: "F16" };

/** Options and action of `rlvr import`. */
export function define(command: Command): void {
  command
    .argument("<file>", "model file in llama.cpp's GGUF format")
    .requiredOption("--out <dir>", "model directory to create")
    .addOption(
      new Option("--dtype <type>", "element type of the weights")
        .choices(Object.keys(DTYPES))
        .default("f32"),
    )
    .option("--json", "print what was imported as JSON")
    .action(run);
  addExamples(command, [
    ["rlvr import model.gguf --out model/", "every weight as it was widened"],
    ["rlvr import model.gguf --out model/ --dtype bf16", "half the size"],
  ]);
}

async function run(file: string, flags: Flags): Promise<void> {
  const display = openProgress();
  let model;
  try {
    model = await importGguf(file, display.onProgress);
  } catch (cause) {
    if (!("syscall" in (cause as object))) throw cause;
    throw new ConfigError(`expected a GGUF file, found ${file}: ${whyUnreadable(cause)}`, {
      cause,
    });
  } finally {
    display.clear();
  }
  await saveModel(flags.out, model, { dtype: DTYPES[flags.dtype] });
  const { config, parameters } = model;
  const report = {
    out: flags.out,
    architecture: config.architecture,
    parameters: parameters.data.length,
    layers: config.layers,
    vocabSize: config.vocabSize,
    dtype: flags.dtype,
  };
  const millions = (report.parameters / 1e6).toFixed(1);
  const text = `${report.architecture}, ${millions} M parameters, ${report.layers} layers → ${report.out}\n`;
  process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : text);
}
