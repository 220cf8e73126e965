/**
 * What training looks like on the console: the chapter's line per step and validation on standard
 * output, everything else on standard error, and all of it again in the run's logs/console.log.
 */
import { join } from "node:path";
import type { OnProgress } from "../core/progress.js";
import { type HealthEvent, type MetricsRecord, runPaths } from "../core/run.js";
import { appendWhole } from "../core/write.js";
import { gigabytes } from "../train/memory.js";
import type { TrainEvent, TrainSummary } from "../train/train.js";
import { openProgress } from "./progress.js";

/** The console of one training. */
export interface TrainConsole {
  onEvent(event: TrainEvent): void;
  onProgress: OnProgress;
  /** Talks on standard error. */
  say(text: string): void;
  /** Prints a line of the result. */
  print(text: string): void;
  finish(summary: TrainSummary): void;
}

/** Opens the console; with `json` standard output is left to the summary. */
export function openConsole({ json }: { json: boolean }): TrainConsole {
  const progress = openProgress();
  let log: string | null = null;
  const early: string[] = [];
  const write = (stream: NodeJS.WriteStream, text: string) => {
    progress.clear();
    stream.write(text + "\n");
    if (log === null) early.push(text + "\n");
    else appendWhole(log, text + "\n");
  };
  const say = (text: string) => write(process.stderr, text);
  const print = (text: string) => write(json ? process.stderr : process.stdout, text);
  return {
    say,
    print,
    onProgress: progress.onProgress,
    onEvent: (event) => {
      if (event.kind === "started") {
        log = join(runPaths(event.dir).logs, "console.log");
        appendWhole(log, early.splice(0).join(""));
      }
      const text = describeEvent(event);
      if (event.kind === "metrics") print(text);
      else say(text);
    },
    finish: (summary) => {
      progress.clear();
      say(describeSummary(summary));
    },
  };
}

/** Says an event in words. */
export function describeEvent(event: TrainEvent): string {
  switch (event.kind) {
    case "started": {
      const { info, dir, batches, fromStep } = event;
      const from = fromStep === 0 ? "" : `; going on after step ${fromStep}`;
      return `${info.name}: ${info.totalSteps} steps, seed ${info.seed}, sandbox isolation ${info.isolation}${from}\n${batches}\nrun directory ${dir}`;
    }
    case "memory":
      return `memory: about ${gigabytes(event.estimate.bytes)} needed, ${gigabytes(event.offered)} free`;
    case "notice":
      return `note: ${event.message}`;
    case "metrics":
      return describeRecord(event.record);
    case "health":
      return describeHealth(event.event);
    case "checkpoint":
      return `saved ${event.dir}`;
  }
}

/** The figures of a line, as [name, metric, digits]. */
const FIGURES: Record<MetricsRecord["phase"], [string, string, number][]> = {
  train: [
    ["reward/score", "reward/score", 2],
    ["reward/pass_rate", "reward/pass_rate", 2],
    ["reward/format", "reward/format", 2],
    ["kl", "kl", 3],
    ["actor_loss", "actor/pg_loss", 3],
    ["entropy", "actor/entropy", 3],
    ["response_length", "response_length/mean", 1],
  ],
  val: [
    ["reward/score", "reward/score", 2],
    ["reward/pass_rate", "reward/pass_rate", 2],
    ["reward/format", "reward/format", 2],
  ],
};

/** The chapter's line, e.g. `[Step 6]  train | reward/score=0.12 | …`. */
export function describeRecord({ step, phase, metrics }: MetricsRecord): string {
  const figures = FIGURES[phase].flatMap(([name, metric, digits]) => {
    const value = metrics[metric];
    return value === undefined ? [] : [`${name}=${formatFigure(value, digits)}`];
  });
  const seconds = metrics[phase === "train" ? "timing_s/step" : "timing_s/testing"];
  if (seconds !== undefined) figures.push(`${seconds.toFixed(1)} s`);
  return [`${`[Step ${step}]`.padEnd(9)} ${phase.padEnd(5)}`, ...figures].join(" | ");
}

function formatFigure(value: number, digits: number): string {
  const text = value.toFixed(digits);
  // A small negative number is not minus nothing.
  return Number(text) === 0 ? (0).toFixed(digits) : text;
}

function describeHealth({ step, severity, title, evidence, advice }: HealthEvent): string {
  return `${severity}: step ${step}: ${title} (${evidence}). ${advice}`;
}

function describeSummary({ status, step, totalSteps, best, modelDir, dir }: TrainSummary): string {
  const lines = {
    finished: `finished ${step} steps`,
    interrupted: `stopped after step ${step} of ${totalSteps}; the same command goes on from there`,
    nothing_to_do: `nothing to do: ${dir} already has its ${totalSteps} steps; --resume never starts another run, a larger trainer.total_training_steps goes on`,
  }[status];
  const bestText =
    best === null ? "" : `; best validation ${best.value.toFixed(2)} at step ${best.step}`;
  return `${lines}${bestText}${modelDir === null ? "" : `\nmodel ${modelDir}`}`;
}
