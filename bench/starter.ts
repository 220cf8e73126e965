/**
 * The starter runs, seed by seed: `npm run bench -- starter --json [--seeds 1,2] [--presets a,b]`.
 *
 * Each run is `rlvr train` in a process of its own, with its evaluations before and after. The
 * trained model is then measured on the families and sentences it was never trained on, and its
 * programs are judged a second time by plain Python processes. The baseline is the same run with
 * its rewards shuffled (`--control`), from which nothing can be learnt.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readLines, runPaths } from "../src/core/run.js";
import type { MetricsRecord } from "../src/core/run.js";
import type { Report } from "../src/report/report.js";
import type { TrainSummary } from "../src/train/train.js";
import { resolvePython } from "../src/verify/python.js";
import type { Verifier } from "../src/verify/verify.js";
import { measure, openVerifier, readProblems } from "../starter/measure.js";
import { judgePlainly } from "../starter/plain-judge.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const UNTRAINED = join(ROOT, "starter/model");
/** Problems judged a second time, with six Python processes each. */
const PLAIN_PROBLEMS = 140;

/** Runs every preset with every seed, prints a table row for each, and answers the extremes. */
export async function run(args: string[]): Promise<Record<string, number>> {
  const { values } = parseArgs({
    args,
    options: {
      seeds: { type: "string", default: "1,2,3,4,5" },
      presets: { type: "string", default: "starter,starter-grpo" },
      control: { type: "boolean", default: false },
    },
  });
  const figures: Record<string, number> = {};
  const untrained = await withVerifier((verifier) => measureUnseen(UNTRAINED, verifier));
  console.log(`Before training, families and frames: ${untrained.join(" | ")}`);
  for (const preset of values.presets.split(",")) {
    const key = preset.replaceAll("-", "_");
    for (const seed of values.seeds.split(",").map(Number)) {
      lower(figures, key, await oneRun(preset, seed, []));
    }
    if (values.control) {
      const control = await oneRun(preset, 1, ["reward.shuffle=true"]);
      figures[`${key}_control_gain`] = control.gain;
    }
  }
  return figures;
}

/** Keeps the worst of each figure over the seeds. */
function lower(figures: Record<string, number>, key: string, run: Outcome): void {
  const worst = (name: string, value: number, choose: (...numbers: number[]) => number) => {
    const full = `${key}_${name}`;
    figures[full] = full in figures ? choose(figures[full], value) : value;
  };
  worst("gain_min", run.gain, Math.min);
  worst("gain_greedy_min", run.greedyGain, Math.min);
  worst("format_min", run.format, Math.min);
  worst("format_lead_min", run.lead, Math.min);
  worst("seconds_max", run.seconds, Math.max);
  worst("peak_mb_max", run.peakMegabytes, Math.max);
  worst("judges_differ_max", run.judgesDiffer, Math.max);
}

interface Outcome {
  gain: number;
  greedyGain: number;
  format: number;
  /** Steps from format's halfway mark to the pass rate's. */
  lead: number;
  seconds: number;
  peakMegabytes: number;
  judgesDiffer: number;
}

async function oneRun(preset: string, seed: number, overrides: string[]): Promise<Outcome> {
  const dir = mkdtempSync(join(tmpdir(), "rlvr-starter-"));
  try {
    const start = performance.now();
    const { output, peakMegabytes } = await trainProcess([
      ...["--preset", preset, "--out", join(dir, "run"), "--json", `seed=${seed}`, ...overrides],
    ]);
    const seconds = (performance.now() - start) / 1000;
    const summary = JSON.parse(output) as TrainSummary & { report: Report };
    const [sampled, greedy] = summary.report.comparisons;
    const records = await readLines<MetricsRecord>(runPaths(summary.dir).metrics);
    const format = halfway(records, "reward/format", sampled.before.format);
    const pass = halfway(records, "reward/pass_rate", sampled.before.pass_rate);
    const modelDir = String(summary.modelDir);
    const after = await withVerifier((verifier) => measureTrained(modelDir, verifier));
    const cells = [
      ...[`${preset}${overrides.length > 0 ? " shuffled" : ""}`, seed],
      ...[sampled, greedy].flatMap((pair) => [
        arrow(pair.before.format, pair.after.format),
        arrow(pair.before.pass_rate, pair.after.pass_rate),
        arrow(pair.before.pass_at_1, pair.after.pass_at_1),
      ]),
      ...[`${format} / ${pass}`, ...after.unseen, after.plain],
      ...[seconds.toFixed(0), peakMegabytes],
    ];
    console.log(`| ${cells.join(" | ")} |`);
    return {
      gain: sampled.after.pass_rate - sampled.before.pass_rate,
      greedyGain: greedy.after.pass_rate - greedy.before.pass_rate,
      format: Math.min(sampled.after.format, greedy.after.format),
      lead: pass - format,
      seconds,
      peakMegabytes,
      judgesDiffer: after.differ,
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const arrow = (before: number, after: number) => `${before.toFixed(3)} → ${after.toFixed(3)}`;

/** Runs `rlvr train`; answers its standard output and the most memory it held. */
function trainProcess(args: string[]): Promise<{ output: string; peakMegabytes: number }> {
  const command = ["--import", "tsx", "src/cli/main.ts", "train", ...args];
  const child = spawn(process.execPath, command, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  let [output, talk, peakMegabytes] = ["", "", 0];
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (talk = (talk + chunk.toString()).slice(-4000)));
  const watch = setInterval(() => {
    const kilobytes = /VmHWM:\s+(\d+)/.exec(readStatus(child.pid ?? 0))?.[1] ?? "0";
    peakMegabytes = Math.max(peakMegabytes, Math.round(Number(kilobytes) / 1024));
  }, 250);
  return new Promise((resolve, reject) => {
    child.on("close", (code) => {
      clearInterval(watch);
      if (code === 0) resolve({ output, peakMegabytes });
      else reject(new Error(`rlvr train ended with ${code}: ${talk}`));
    });
  });
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}

/** The first step whose mean of three has made half of the way from `before` to the last five. */
function halfway(records: MetricsRecord[], metric: string, before: number): number {
  const values = records.filter(({ phase }) => phase === "train").map((r) => r.metrics[metric]);
  const mean = (part: number[]) => part.reduce((sum, value) => sum + value, 0) / part.length;
  const middle = (before + mean(values.slice(-5))) / 2;
  return values.findIndex((_, i) => mean(values.slice(Math.max(0, i - 2), i + 1)) >= middle) + 1;
}

async function withVerifier<T>(use: (verifier: Verifier) => Promise<T>): Promise<T> {
  const verifier = await openVerifier();
  try {
    return await use(verifier);
  } finally {
    await verifier.close();
  }
}

/** Format and pass rate of the families, then of the sentences, never trained on: sampled / greedy. */
async function measureUnseen(modelDir: string, verifier: Verifier): Promise<string[]> {
  const cells: string[] = [];
  for (const split of ["transfer", "phrasing"] as const) {
    const shares = await Promise.all(
      [1, 0].map((temperature) =>
        measure(modelDir, readProblems(split), { temperature, verifier }),
      ),
    );
    cells.push(shares.map(({ format }) => format.toFixed(3)).join(" / "));
    cells.push(shares.map(({ passRate }) => passRate.toFixed(3)).join(" / "));
  }
  return cells;
}

async function measureTrained(modelDir: string, verifier: Verifier) {
  const unseen = await measureUnseen(modelDir, verifier);
  const problems = readProblems("heldout").slice(0, PLAIN_PROBLEMS);
  const trained = await measure(modelDir, problems, { temperature: 0, verifier });
  const python = await resolvePython();
  const plain = problems.map((p, i) => judgePlainly(python, p, trained.completions[i]));
  const differ = plain.filter((share, i) => share !== trained.results[i].passRate).length;
  const plainRate = plain.reduce((sum, share) => sum + share, 0) / plain.length;
  const cell = `${trained.passRate.toFixed(3)} / ${plainRate.toFixed(3)}`;
  return { unseen, plain: cell, differ };
}
