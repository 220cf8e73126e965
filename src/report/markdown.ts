/** The report as Markdown: for a terminal, a pull request, a notebook. */
import type { EvaluationInfo } from "../core/evaluation.js";
import { VERDICT_KINDS } from "../core/verdict.js";
import type { Comparison, PairOutcome, ReportSection } from "./compare.js";
import { conclude, percent } from "./sentence.js";
import {
  type Cell,
  groupTables,
  REFERENCE_NOTE,
  referenceTable,
  type ReportTable,
  scoreTable,
  settingsTable,
} from "./tables.js";

/** Ids of a list before it is cut, so that a page stays a page; report.json has all. */
const MOST_IDS = 40;

/** Writes the report of one or several comparisons. */
export function renderMarkdown(sections: readonly ReportSection[]): string {
  return (
    ["# Before and after", ...sections.map(renderSection), renderReference()].join("\n\n") + "\n"
  );
}

function renderSection(section: ReportSection): string {
  const { title, before, after, comparison } = section;
  return [
    `## ${title}`,
    conclude(comparison),
    ...warningsOf(before.info, after.info, comparison).map((warning) => `> **Note:** ${warning}`),
    renderTable(scoreTable(section)),
    verdictTable(before.info, after.info),
    ...groupTables(section).map(({ tag, table }) => `pass@1 by ${tag}\n\n${renderTable(table)}`),
    idList(comparison, "gained", "Gained"),
    idList(comparison, "lost", "Lost"),
    renderTable(settingsTable(section)),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** What a reader must know before believing the numbers. */
export function warningsOf(
  before: EvaluationInfo,
  after: EvaluationInfo,
  { differingSettings, unpaired }: Comparison,
): string[] {
  const warnings = differingSettings.map(
    ({ key, before: left, after: right }) =>
      `the two evaluations differ in \`${key}\`: ${left} before, ${right} after.`,
  );
  for (const info of [before, after]) {
    if (info.missing > 0) {
      warnings.push(`${info.name} is incomplete: ${info.missing} samples are missing.`);
    }
    const cut = info.truncated / Math.max(1, info.samples);
    if (cut > 0.05) {
      warnings.push(
        `${percent(cut)} of the completions of ${info.name} were cut off at ` +
          `${info.settings.maxTokens} tokens; a higher limit may raise its score.`,
      );
    }
  }
  if (unpaired > 0) warnings.push(`${unpaired} problems stand on one side only and count nowhere.`);
  if (before.model.identity === after.model.identity && before.model.kind === "local") {
    warnings.push("both evaluations are of the same weights.");
  }
  return warnings;
}

function verdictTable(before: EvaluationInfo, after: EvaluationInfo): string {
  const kinds = VERDICT_KINDS.filter((kind) => before.verdicts[kind] ?? after.verdicts[kind]);
  return table(
    ["verdict", "before", "after"],
    kinds.map((kind) => [
      kind,
      String(before.verdicts[kind] ?? 0),
      String(after.verdicts[kind] ?? 0),
    ]),
  );
}

function idList({ pairs, counts }: Comparison, outcome: PairOutcome, label: string): string {
  const ids = pairs.filter((pair) => pair.outcome === outcome).map(({ problemId }) => problemId);
  if (ids.length === 0) return `**${label} (0)**`;
  const shown = ids.slice(0, MOST_IDS).map((id) => `\`${id}\``);
  const rest = ids.length - shown.length;
  return `**${label} (${counts[outcome]}):** ${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

function renderReference(): string {
  return ["## For context", REFERENCE_NOTE, renderTable(referenceTable())].join("\n\n");
}

function renderTable({ head, rows }: ReportTable): string {
  const textOf = ({ text, interval }: Cell) =>
    interval === undefined ? text : `${text} (${interval})`;
  return table(
    head,
    rows.map((row) => row.map(textOf)),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
