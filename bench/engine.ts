/**
 * The embedded engine against PyTorch and transformers: training and generation at two sizes, peak
 * memory, the share of the machine's SGEMM peak, and the gain of a second thread.
 *
 * `npm run bench -- engine [--repeats N] [--size starter|135m]`. Needs the `torch` environment of
 * test/venvs.sh. Every measurement is a process of its own; ours and the baseline's alternate.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parameterShapes } from "../src/model/config.js";
import { modelConfig, SHAPES, type Size } from "./engine/shapes.js";

const THREADS = 2;
const SGEMM_SIDE = 1024;
const file = (name: string) => fileURLToPath(new URL(`engine/${name}`, import.meta.url));
const venvs = process.env.CODE_RLVR_VENVS ?? join(homedir(), ".cache/code-rlvr/venvs");
const python = join(venvs, "torch/bin/python");

interface Measurement {
  /** Median of one repetition. */
  seconds: number;
  peakBytes: number;
}

function measured(program: string, args: string[]): Measurement {
  const output = execFileSync(program, args, { encoding: "utf8", maxBuffer: 1e7 });
  const { seconds, peakBytes } = JSON.parse(output.trim().split("\n").at(-1) ?? "") as {
    seconds: number[];
    peakBytes: number;
  };
  seconds.sort((a, b) => a - b);
  return { seconds: seconds[Math.floor(seconds.length / 2)], peakBytes };
}

function ours(task: string, size: string, threads: number, repeats: number): Measurement {
  const args = [
    "--import",
    "tsx",
    file("measure.ts"),
    task,
    size,
    String(threads),
    String(repeats),
  ];
  return measured(process.execPath, args);
}

function torch(task: string, size: Size, repeats: number): Measurement {
  const job = { task, threads: THREADS, repeats, decoder: modelConfig(size), shape: SHAPES[size] };
  return measured(python, [file("torch_baseline.py"), JSON.stringify(job)]);
}

/** Operations of one training step: 2 forward and 4 backward per weight and token. */
function trainFlops(size: Size): number {
  const { trainBatch, trainLength } = SHAPES[size];
  const shapes = [...parameterShapes(modelConfig(size)).values()];
  const weights = shapes.reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0);
  return 6 * weights * trainBatch * trainLength;
}

/** Measures and answers the figures. */
export async function run(args: string[]): Promise<Record<string, number>> {
  const { values } = parseArgs({
    args,
    options: { repeats: { type: "string", default: "10" }, size: { type: "string" } },
  });
  if (!existsSync(python)) throw new Error(`the baseline needs ${python}: test/venvs.sh torch`);
  const repeats = Number(values.repeats);
  const figures: Record<string, number> = {};
  for (const size of (["starter", "135m"] as const).filter((s) => (values.size ?? s) === s)) {
    const shape = SHAPES[size];
    const train = [ours("train", size, THREADS, repeats), torch("train", size, repeats)];
    const generate = [ours("generate", size, THREADS, repeats), torch("generate", size, repeats)];
    const trained = shape.trainBatch * shape.trainLength;
    const generated = shape.generateBatch * shape.newTokens;
    ["ours", "torch"].forEach((side, i) => {
      figures[`train_tokens_per_s_${side}_${size}`] = trained / train[i].seconds;
      figures[`generate_tokens_per_s_${side}_${size}`] = generated / generate[i].seconds;
      figures[`train_peak_mb_${side}_${size}`] = train[i].peakBytes / 1e6;
      figures[`generate_peak_mb_${side}_${size}`] = generate[i].peakBytes / 1e6;
    });
    figures[`train_ratio_${size}`] = train[1].seconds / train[0].seconds;
    figures[`generate_ratio_${size}`] = generate[1].seconds / generate[0].seconds;
    figures[`memory_ratio_${size}`] = Math.max(
      train[0].peakBytes / train[1].peakBytes,
      generate[0].peakBytes / generate[1].peakBytes,
    );
    const peak = (2 * SGEMM_SIDE ** 3) / ours("product", String(SGEMM_SIDE), THREADS, 50).seconds;
    figures.sgemm_gflops = peak / 1e9;
    figures.sgemm_share = trainFlops(size) / train[0].seconds / peak;
    if (size === "starter") {
      const single = ours("train", size, 1, repeats);
      figures.scaling_2_threads = single.seconds / train[0].seconds;
    }
  }
  return Object.fromEntries(
    Object.entries(figures).map(([key, value]) => [key, Number(value.toPrecision(4))]),
  );
}
