/**
 * Writes a run directory of any size, with curves like those of a healthy run, for looking at the
 * dashboard and for measuring it. Nothing of it was trained.
 */
import { appendFileSync, closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { randomStream } from "../../src/core/random.js";
import { type RunInfo, runPaths } from "../../src/core/run.js";
import { VERDICT_KINDS } from "../../src/core/verdict.js";

/** How large the run is. */
export interface SyntheticRun {
  steps: number;
  rolloutsPerStep: number;
  /** Metrics beside the usual ones, to reach a number of columns. */
  extraMetrics?: number;
  status?: RunInfo["status"];
  /** Every so many steps have their rollouts' records on disk; the index knows all. */
  recordsEvery?: number;
}

/** Writes it under `root/name` and answers its directory. */
export function writeSyntheticRun(root: string, name: string, size: SyntheticRun): string {
  const dir = join(root, name);
  const paths = runPaths(dir);
  mkdirSync(paths.rollouts, { recursive: true });
  const startedAt = Date.now() - size.steps * 1000;
  const info: RunInfo = {
    format: 1,
    name,
    preset: "starter",
    engine: "embedded",
    seed: 42,
    startedAt: new Date(startedAt).toISOString(),
    version: "0.1.0",
    isolation: "full",
    totalSteps: size.steps,
    status: size.status ?? "finished",
    pid: null,
  };
  writeFileSync(paths.info, JSON.stringify(info));
  writeFileSync(
    paths.config,
    `data:\n  train_files: ${join(dir, "problems.jsonl")}\ntrainer:\n  total_training_steps: ${size.steps}\n`,
  );
  writeFileSync(
    join(dir, "problems.jsonl"),
    PROBLEMS.map((p) => JSON.stringify(p) + "\n").join(""),
  );
  writeMetrics(paths.metrics, size, startedAt);
  writeRolloutFiles(dir, size);
  return dir;
}

const PROBLEMS = Array.from({ length: 12 }, (_, i) => ({
  id: `sum/${i}`,
  source: "starter",
  prompt: [{ role: "user", content: `Read two numbers and print their sum plus ${i}.` }],
  language: "python",
  tests: {
    kind: "stdio",
    cases: [0, 1, 2, 3, 4].map((k) => ({ input: `${k} ${i}\n`, output: `${k + 2 * i}\n` })),
  },
}));

function metricsAt(step: number, size: SyntheticRun): Record<string, number> {
  const random = randomStream("synthetic", step);
  const share = step / Math.max(40, size.steps);
  const noise = () => 0.03 * random.normal();
  const format = 0.45 + 0.53 * (1 - Math.exp(-step / 5)) + 0.3 * noise();
  const pass = 0.13 + 0.5 * (1 - Math.exp(-Math.max(0, step - 3) / 10)) + noise();
  const metrics: Record<string, number> = {
    "critic/score/mean": pass,
    "critic/score/min": Math.max(0, pass - 0.3),
    "critic/score/max": Math.min(1, pass + 0.3),
    "reward/score": pass,
    "reward/pass_rate": pass,
    "reward/format": Math.min(1, format),
    "response_length/mean": 27 + noise() * 20,
    "response_length/min": 12,
    "response_length/max": 60,
    "response_length/clip_ratio": Math.abs(noise()),
    "actor/entropy": 0.26 - 0.12 * share + noise() * 0.2,
    kl: 0.08 * share + 0.002,
    "actor/ppo_kl": 0.001 + Math.abs(noise()) * 0.01,
    "actor/pg_clipfrac": Math.abs(noise()) * 0.1,
    "actor/pg_loss": noise(),
    "actor/grad_norm": 0.3 + noise(),
    "critic/vf_loss": 0.2 - 0.1 * share,
    "group/solve_all": pass * 0.6,
    "group/solve_none": (1 - pass) * 0.5,
    "timing_s/gen": 0.2,
    "timing_s/reward": 0.05,
    "timing_s/update_actor": 0.4,
    "timing_s/update_critic": 0.35,
    "perf/throughput": 9000 + 500 * noise(),
  };
  metrics["group/mixed"] = 1 - metrics["group/solve_all"] - metrics["group/solve_none"];
  const rest = 1 - pass;
  VERDICT_KINDS.forEach((kind, i) => {
    metrics[`verdict/${kind}`] = kind === "accepted" ? pass : i < 5 ? rest / 4 : 0;
  });
  for (let i = 0; i < (size.extraMetrics ?? 0); i++) metrics[`extra/${i}`] = random.next();
  return metrics;
}

function writeMetrics(path: string, size: SyntheticRun, startedAt: number): void {
  const file = openSync(path, "w");
  let lines: string[] = [];
  for (let step = 1; step <= size.steps; step++) {
    const record = {
      step,
      phase: "train",
      time: startedAt + step * 1000,
      metrics: metricsAt(step, size),
    };
    lines.push(JSON.stringify(record));
    if (step % 5 === 0) {
      const { "reward/pass_rate": pass, "reward/format": format } = record.metrics;
      const metrics = {
        "reward/score": pass - 0.02,
        "reward/pass_rate": pass - 0.02,
        "reward/format": format,
      };
      lines.push(JSON.stringify({ ...record, phase: "val", metrics }));
    }
    if (lines.length > 2000 || step === size.steps) {
      writeSync(file, lines.join("\n") + "\n");
      lines = [];
    }
  }
  closeSync(file);
}

function writeRolloutFiles(dir: string, size: SyntheticRun): void {
  const paths = runPaths(dir);
  writeFileSync(paths.rolloutIndex, "");
  let index: string[] = [];
  for (let step = 1; step <= size.steps; step++) {
    const random = randomStream("rollouts", step);
    let offset = 0;
    const records: string[] = [];
    for (let i = 0; i < size.rolloutsPerStep; i++) {
      const record = rolloutOf(step, i, random);
      const line = JSON.stringify(record) + "\n";
      const { group, sample, problemId, verdict, reward, passRate, format, responseTokens } =
        record;
      const facts = {
        step,
        group,
        sample,
        problemId,
        verdict,
        reward,
        passRate,
        format,
        responseTokens,
      };
      index.push(JSON.stringify({ ...facts, offset, length: Buffer.byteLength(line) }));
      records.push(line);
      offset += Buffer.byteLength(line);
    }
    if (step % (size.recordsEvery ?? 1) === 0)
      writeFileSync(paths.rolloutsOf(step), records.join(""));
    if (index.length > 20_000 || step === size.steps) {
      appendFileSync(paths.rolloutIndex, index.join("\n") + "\n");
      index = [];
    }
  }
}

function rolloutOf(step: number, i: number, random: ReturnType<typeof randomStream>) {
  const isRight = random.next() < 0.2 + (0.5 * step) / (step + 20);
  const kinds = ["wrong_answer", "runtime_error", "no_program", "time_limit"] as const;
  const verdict = isRight ? "accepted" : kinds[random.integer(kinds.length)];
  const problem = PROBLEMS[i % PROBLEMS.length];
  const program = `a, b = map(int, input().split())\nprint(a + b${isRight ? ` + ${i % 12}` : ""})`;
  const completion =
    verdict === "no_program" ? "The answer is a + b." : `\`\`\`python\n${program}\n\`\`\``;
  const pieces = completion.match(/\s*\S+|\s+/g) ?? [];
  return {
    step,
    group: Math.floor(i / 4),
    sample: i % 4,
    problemId: problem.id,
    prompt: problem.prompt,
    completion,
    finish: "stop" as const,
    promptTokens: 16,
    responseTokens: pieces.length,
    tokens: pieces.map((_, k) => k),
    pieces,
    logprobs: pieces.map(() => -random.next() * 2),
    advantages: pieces.map(() => (isRight ? 1 : -0.6) + 0.1 * random.normal()),
    program: verdict === "no_program" ? null : program,
    format: verdict !== "no_program",
    verdicts: Array(5).fill(verdict),
    verdict,
    passRate: isRight ? 1 : 0,
    reward: isRight ? 1 : 0,
  };
}
