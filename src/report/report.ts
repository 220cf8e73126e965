/**
 * The report: what training changed, as report.json for programs, report.md for people and
 * report.html with plots.
 */
import { join } from "node:path";
import type { Evaluation, EvaluationInfo } from "../core/evaluation.js";
import { writeAtomic } from "../core/run.js";
import {
  compareEvaluations,
  type Comparison,
  type PairOutcome,
  type ReportSection,
} from "./compare.js";
import { readCurves } from "./curves.js";
import { renderHtml } from "./html.js";
import { renderMarkdown, warningsOf } from "./markdown.js";
import { conclude } from "./sentence.js";
import { passAt1Of } from "./tables.js";

/** What a report may hold beside the first comparison. */
export interface ReportOptions {
  /** Further pairs, e.g. the same benchmark with greedy decoding. */
  more?: readonly { before: Evaluation; after: Evaluation }[];
  /** Compare although settings differ that move a score; the report then says so. */
  allowDifferent?: boolean;
  /** Training runs whose curves are shown. */
  runDirs?: readonly string[];
}

/** The scores of one side, as they stand in report.json. */
export interface ReportSide {
  name: string;
  model: EvaluationInfo["model"];
  /** Mean share of tests passed. */
  pass_rate: number;
  pass_at_1: number;
  pass_at_1_interval: { low: number; high: number };
  pass_at_k: Record<string, number>;
  /** Share of completions with a proper code block. */
  format: number;
  /** Problems. */
  n: number;
  samples_per_problem: number;
  verdicts: EvaluationInfo["verdicts"];
  truncated: number;
}

/** One comparison, as it stands in report.json. */
export interface ReportComparison {
  title: string;
  before: ReportSide;
  after: ReportSide;
  pass_at_1_difference: { difference: number; low: number; high: number };
  pass_rate_difference: { difference: number; low: number; high: number };
  mcnemar_p: number | null;
  beyond_noise: boolean;
  problems_needed: number | null;
  conclusion: string;
  warnings: string[];
  /** Ids of problems solved after but not before, and the other way round. */
  gained: string[];
  lost: string[];
  both: string[];
  neither: string[];
}

/** What report.json holds: the first comparison at the top level, all of them in `comparisons`. */
export interface Report extends ReportComparison {
  format_version: 1;
  comparisons: ReportComparison[];
}

/** The files of a report. */
export function reportPaths(outDir: string) {
  return {
    json: join(outDir, "report.json"),
    markdown: join(outDir, "report.md"),
    html: join(outDir, "report.html"),
  };
}

/**
 * Compares two evaluations and writes the report.
 *
 * @throws {ConfigError} if they cannot be compared fairly.
 */
export async function writeReport(
  before: Evaluation,
  after: Evaluation,
  outDir: string,
  options: ReportOptions = {},
): Promise<Report> {
  const pairs = [{ before, after }, ...(options.more ?? [])];
  const sections = pairs.map((pair) => compareSection(pair.before, pair.after, options));
  const comparisons = sections.map(toJson);
  const report: Report = { format_version: 1, ...comparisons[0], comparisons };
  const paths = reportPaths(outDir);
  await writeAtomic(paths.json, JSON.stringify(report, null, 2) + "\n");
  await writeAtomic(paths.markdown, renderMarkdown(sections));
  const runs = await Promise.all((options.runDirs ?? []).map(readCurves));
  await writeAtomic(paths.html, renderHtml(sections, runs));
  return report;
}

function compareSection(
  before: Evaluation,
  after: Evaluation,
  { allowDifferent = false }: ReportOptions,
): ReportSection {
  const { benchmark, temperature, n } = after.info.settings;
  return {
    title: `${benchmark}${decodingOf(temperature)}${n > 1 ? `, ${n} samples` : ""}`,
    before,
    after,
    comparison: compareEvaluations(before, after, { allowDifferent }),
  };
}

function decodingOf(temperature: number | null): string {
  if (temperature === null) return "";
  return temperature === 0 ? ", greedy" : `, temperature ${temperature}`;
}

function toJson({ title, before, after, comparison }: ReportSection): ReportComparison {
  const idsOf = (outcome: PairOutcome) =>
    comparison.pairs.filter((pair) => pair.outcome === outcome).map(({ problemId }) => problemId);
  const rangeOf = ({ difference, low, high }: Comparison["passAt1"]) => ({ difference, low, high });
  return {
    title,
    before: sideOf(before.info),
    after: sideOf(after.info),
    pass_at_1_difference: rangeOf(comparison.passAt1),
    pass_rate_difference: rangeOf(comparison.passRate),
    mcnemar_p: comparison.mcnemar,
    beyond_noise: comparison.isBeyondNoise,
    problems_needed: comparison.problemsNeeded,
    conclusion: conclude(comparison),
    warnings: warningsOf(before.info, after.info, comparison),
    gained: idsOf("gained"),
    lost: idsOf("lost"),
    both: idsOf("both"),
    neither: idsOf("neither"),
  };
}

function sideOf(info: EvaluationInfo): ReportSide {
  return {
    name: info.name,
    model: info.model,
    pass_rate: info.passRate,
    pass_at_1: passAt1Of(info),
    pass_at_1_interval: info.passAt1Interval,
    pass_at_k: info.passAtK,
    format: info.formatRate,
    n: info.problems,
    samples_per_problem: info.settings.n,
    verdicts: info.verdicts,
    truncated: info.truncated,
  };
}
