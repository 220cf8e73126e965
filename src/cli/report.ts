/** `rlvr report`: two evaluations, or a run, as a paired comparison in JSON, Markdown and HTML. */
import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { ConfigError } from "../core/errors.js";
import { type Evaluation, evaluationPaths, readEvaluation } from "../core/evaluation.js";
import { runPaths } from "../core/run.js";
import { reportPaths, writeReport } from "../report/report.js";

interface Flags {
  out?: string;
  allowDifferent?: true;
  json?: true;
}

/** Defines the command. */
export function define(command: Command): void {
  command
    .argument("<before>", "evaluation directory, or a run that evaluated before and after")
    .argument("[after]", "evaluation directory to compare it with")
    .option("--out <folder>", "where the report goes; report/ in the run or in <after>")
    .option("--allow-different", "compare although settings differ that move a score")
    .option("--json", "print report.json")
    .addHelpText(
      "after",
      "\nExamples:\n  rlvr report runs/NAME\n  rlvr report evals/base evals/tuned\n",
    )
    .action(run);
}

async function run(before: string, after: string | undefined, flags: Flags): Promise<void> {
  const pairs = after === undefined ? await pairsOfRun(before) : [await pairOf(before, after)];
  const out = resolve(flags.out ?? join(after ?? before, "report"));
  const report = await writeReport(pairs[0].before, pairs[0].after, out, {
    more: pairs.slice(1),
    allowDifferent: flags.allowDifferent === true,
    runDirs: after === undefined ? [before] : [],
  });
  const paths = reportPaths(out);
  process.stdout.write(
    flags.json ? JSON.stringify(report) + "\n" : `${report.conclusion}\n${paths.html}\n`,
  );
  for (const warning of report.warnings) process.stderr.write(`rlvr: ${warning}\n`);
}

interface Pair {
  before: Evaluation;
  after: Evaluation;
}

async function pairOf(before: string, after: string): Promise<Pair> {
  return { before: await readEvaluation(before), after: await readEvaluation(after) };
}

/** A run's evaluations, sampled and greedy, as `rlvr train` leaves them. */
async function pairsOfRun(dir: string): Promise<Pair[]> {
  const root = runPaths(dir).eval;
  const pairs: Pair[] = [];
  for (const suffix of ["", "-greedy"]) {
    const [before, after] = ["before", "after"].map((name) => join(root, `${name}${suffix}`));
    if ((await exists(before)) && (await exists(after))) pairs.push(await pairOf(before, after));
  }
  if (pairs.length === 0) {
    throw new ConfigError(
      `report: expected a second evaluation, or a run with eval/before and eval/after, got ${dir}`,
    );
  }
  return pairs;
}

const exists = (dir: string) =>
  access(evaluationPaths(dir).info).then(
    () => true,
    () => false,
  );
