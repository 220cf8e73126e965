/**
 * The embedded engine against PyTorch and transformers: training and generation at three sizes,
 * peak memory, the share of the machine's SGEMM peak, and the gain of a second thread.
 *
 * `npm run bench -- engine [--repeats N] [--size shipped|starter|135m]`. Needs the `torch`
 * environment of test/venvs.sh. Every measurement is a process of its own; ours and the baseline's
 * take turns, so that what else the machine does meets both.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parameterShapes } from "../src/model/config.js";
import { modelConfig, SHAPES, type Size, SIZES } from "./engine/shapes.js";

const THREADS = 2;
const SGEMM_SIDE = 1024;
const file = (name: string) => fileURLToPath(new URL(`engine/${name}`, import.meta.url));
const venvs = process.env.CODE_RLVR_VENVS ?? join(homedir(), ".cache/code-rlvr/venvs");
const python = join(venvs, "torch/bin/python");

/** Turns of each side for one figure. */
const TURNS = 2;

/** What one process measured. */
interface Measurement {
  /** Of each repetition. */
  seconds: number[];
  peakBytes: number;
}

interface Summary {
  /** Median of one repetition. */
  seconds: number;
  peakBytes: number;
}

function measured(program: string, args: string[]): Measurement {
  const output = execFileSync(program, args, { encoding: "utf8", maxBuffer: 1e7 });
  return JSON.parse(output.trim().split("\n").at(-1) ?? "") as Measurement;
}

function summary(turns: readonly Measurement[]): Summary {
  const seconds = turns.flatMap((turn) => turn.seconds).sort((a, b) => a - b);
  const peakBytes = Math.max(...turns.map((turn) => turn.peakBytes));
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

/** Ours and torch's, in turns. */
function compared(task: "train" | "generate", size: Size, repeats: number): [Summary, Summary] {
  const [mine, theirs]: [Measurement[], Measurement[]] = [[], []];
  for (let turn = 0; turn < TURNS; turn++) {
    mine.push(ours(task, size, THREADS, Math.ceil(repeats / TURNS)));
    theirs.push(torch(task, size, Math.ceil(repeats / TURNS)));
  }
  return [summary(mine), summary(theirs)];
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
  const sizes = SIZES.filter((size) => (values.size ?? size) === size);
  if (sizes.length === 0) {
    throw new Error(`--size: expected one of ${SIZES.join(", ")}, found ${values.size}`);
  }
  for (const size of sizes) {
    const shape = SHAPES[size];
    const train = compared("train", size, repeats);
    const generate = compared("generate", size, repeats);
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
    const product = summary([ours("product", String(SGEMM_SIDE), THREADS, 50)]);
    const peak = (2 * SGEMM_SIDE ** 3) / product.seconds;
    figures.sgemm_gflops = peak / 1e9;
    const share = trainFlops(size) / train[0].seconds / peak;
    figures[`sgemm_share_${size}`] = share;
    if (size === "starter") {
      figures.sgemm_share = share;
      const single = summary([ours("train", size, 1, repeats)]);
      figures.scaling_2_threads = single.seconds / train[0].seconds;
    }
  }
  return Object.fromEntries(
    Object.entries(figures).map(([key, value]) => [key, Number(value.toPrecision(4))]),
  );
}
