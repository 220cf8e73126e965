/** `rlvr report`: two evaluations, or a run, as a paired comparison in JSON, Markdown and HTML. */
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { reportPaths, writeReport } from "../report/report.js";
import { addExamples } from "./help.js";
import { pairsOf, runsAmong } from "./report-sources.js";

interface Flags {
  out?: string;
  allowDifferent?: true;
  json?: true;
}

/** Defines the command. */
export function define(command: Command): void {
  command
    .argument("<before>", "evaluation or run directory; a run alone has its own before and after")
    .argument("[after]", "evaluation or run directory to compare it with")
    .option("--out <folder>", "where the report goes; report/ in the run or in <after>")
    .option("--allow-different", "compare although settings differ that move a score")
    .option("--json", "print report.json")
    .action(run);
  addExamples(command, [
    ["rlvr report runs/NAME", "a run before and after"],
    ["rlvr report evals/base evals/tuned", "two evaluations"],
    ["rlvr report runs/A runs/B", "two runs, after training"],
  ]);
}

async function run(before: string, after: string | undefined, flags: Flags): Promise<void> {
  const pairs = await pairsOf(before, after);
  const out = resolve(flags.out ?? join(after ?? before, "report"));
  const report = await writeReport(pairs[0].before, pairs[0].after, out, {
    more: pairs.slice(1),
    allowDifferent: flags.allowDifferent === true,
    runDirs: await runsAmong(after === undefined ? [before] : [before, after]),
  });
  const paths = reportPaths(out);
  process.stdout.write(
    flags.json ? JSON.stringify(report) + "\n" : `${report.conclusion}\n${paths.html}\n`,
  );
  for (const warning of report.warnings) process.stderr.write(`rlvr: ${warning}\n`);
}
