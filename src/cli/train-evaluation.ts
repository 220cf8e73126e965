/**
 * Before and after: the starting model and the trained one on the validation problems, through the
 * same verifier, sampled as in training and greedily.
 */
import { join } from "node:path";
import { engineThreads, fileList } from "../config/settings.js";
import type { Config } from "../config/schema.js";
import type { Evaluation } from "../core/evaluation.js";
import { runPaths } from "../core/run.js";
import { loadBenchmark } from "../eval/benchmarks/table.js";
import { EVALUATE_DEFAULTS, evaluate } from "../eval/evaluate.js";
import { localCompleter } from "../eval/local-completer.js";
import { CHAT_STYLE } from "../eval/style.js";
import { type Report, reportPaths, writeReport } from "../report/report.js";
import type { TrainSummary } from "../train/train.js";
import type { Verifier } from "../verify/verify.js";
import type { TrainConsole } from "./train-console.js";

/** Completions sampled at a time. */
const BATCH_SIZE = 128;

/** Evaluates both models, writes the report into the run directory and prints its table. */
export async function compareModels(
  config: Config,
  summary: TrainSummary,
  { verifier, terminal }: { verifier: Verifier; terminal: TrainConsole },
): Promise<Report | null> {
  const files = fileList(config.data.val_files);
  const start = config.actor_rollout_ref.model.path;
  if (files.length === 0 || start === null || summary.modelDir === null) return null;
  const all = { style: null, limit: null, split: null, from: null, to: null, release: null };
  const { problems } = await loadBenchmark("problems", { ...all, paths: files });
  const models = { before: start, after: summary.modelDir };
  const evaluations: Record<string, Evaluation> = {};
  for (const [name, dir] of Object.entries(models)) {
    const completer = await localCompleter(dir, {
      threads: engineThreads(config),
      batchSize: BATCH_SIZE,
    });
    try {
      for (const [suffix, temperature] of [
        ["", config.actor_rollout_ref.rollout.temperature],
        ["-greedy", 0],
      ] as const) {
        const full = `${name}${suffix}`;
        evaluations[full] = await evaluate({
          completer,
          problems,
          verifier,
          onProgress: (progress) => terminal.onProgress({ ...progress, label: `eval ${full}` }),
          settings: {
            ...EVALUATE_DEFAULTS,
            name: full,
            benchmark: "held-out",
            style: CHAT_STYLE,
            temperature,
            maxTokens: config.data.max_response_length,
            seed: config.seed,
            outDir: join(runPaths(summary.dir).eval, full),
          },
        });
      }
    } finally {
      await completer.close();
    }
  }
  const out = runPaths(summary.dir).report;
  const report = await writeReport(evaluations.before, evaluations.after, out, {
    more: [{ before: evaluations["before-greedy"], after: evaluations["after-greedy"] }],
    runDirs: [summary.dir],
  });
  terminal.print(describeReport(report));
  terminal.say(`report ${reportPaths(out).markdown}`);
  return report;
}

function describeReport({ comparisons, conclusion }: Report): string {
  const rows = comparisons.flatMap(({ title, before, after, gained, lost }) => [
    [title, "pass rate", figure(before.pass_rate), figure(after.pass_rate)],
    ["", "pass@1", figure(before.pass_at_1), figure(after.pass_at_1)],
    ["", "format", figure(before.format), figure(after.format)],
    ["", "problems", `${gained.length} gained`, `${lost.length} lost`],
  ]);
  const table = [["held-out problems", "", "before", "after"], ...rows];
  const widths = [0, 1, 2, 3].map((i) => Math.max(...table.map((row) => row[i].length)));
  const lines = table.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]))
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n${conclusion}`;
}

const figure = (value: number) => value.toFixed(3);
