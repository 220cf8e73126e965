/** The tables of report.html: scores, flips, groups, settings. */
import type { EvaluationInfo } from "../core/evaluation.js";
import type { PairOutcome } from "./compare.js";
import { passAt1Of } from "./markdown.js";
import { escapeText } from "./plot-scale.js";
import type { ReportSection } from "./compare.js";
import { percent, points, pValue } from "./sentence.js";

/** Renders the tables of one comparison. */
export function renderTables(section: ReportSection): string {
  return [
    scoreTable(section),
    flipTable(section),
    ...groupTables(section),
    settingsTable(section),
  ].join("");
}

function scoreTable({ before, after, comparison }: ReportSection): string {
  const { passAt1, passRate } = comparison;
  const range = (low: number, high: number, show: (value: number) => string) =>
    `<span class="quiet range">(${show(low)} to ${show(high)})</span>`;
  const bare = (value: number) => (100 * value).toFixed(1);
  const rate = (info: EvaluationInfo) =>
    `${percent(passAt1Of(info))} ${range(info.passAt1Interval.low, info.passAt1Interval.high, bare)}`;
  const rows = [
    row(
      "pass@1",
      rate(before.info),
      rate(after.info),
      `${signed(passAt1.difference)} ${range(passAt1.low, passAt1.high, points)}`,
    ),
    row(
      "share of tests passed",
      percent(before.info.passRate),
      percent(after.info.passRate),
      `${signed(passRate.difference)} ${range(passRate.low, passRate.high, points)}`,
    ),
    rateRow("format", before.info.formatRate, after.info.formatRate),
  ];
  for (const k of Object.keys(after.info.passAtK).filter((key) => key !== "1")) {
    const left = before.info.passAtK[k];
    if (left !== undefined) rows.push(rateRow(`pass@${k}`, left, after.info.passAtK[k]));
  }
  const { strictAt1: left } = before.info;
  const { strictAt1: right } = after.info;
  if (left !== null && right !== null) rows.push(rateRow("strict (behind ####)", left, right));
  rows.push(
    row("problems", String(before.info.problems), String(after.info.problems), ""),
    row("cut off by the limit", String(before.info.truncated), String(after.info.truncated), ""),
  );
  return table(["", "before", "after", "change"], rows);
}

function flipTable({ comparison }: ReportSection): string {
  const { counts, mcnemar } = comparison;
  const rows = [
    `<tr><th>right before</th><td class="number">${counts.both}</td><td class="number${counts.lost > 0 ? " down" : ""}">${counts.lost}</td></tr>`,
    `<tr><th>wrong before</th><td class="number${counts.gained > 0 ? " up" : ""}">${counts.gained}</td><td class="number">${counts.neither}</td></tr>`,
  ];
  const test = mcnemar === null ? "" : `<p>McNemar's exact test: ${pValue(mcnemar)}.</p>`;
  return table(["problems", "right after", "wrong after"], rows) + test;
}

function groupTables({ before, after }: ReportSection): string[] {
  return Object.entries(after.info.groups).map(([tag, groups]) => {
    const rows = Object.entries(groups).map(([value, group]) => {
      const left = before.info.groups[tag]?.[value];
      return (
        `<tr><td>${escapeText(value)}</td><td class="number">${group.problems}</td>` +
        `<td class="number">${left === undefined ? "–" : percent(left.passAt1)}</td>` +
        `<td class="number">${percent(group.passAt1)}</td></tr>`
      );
    });
    const heading = `<h3>pass@1 by ${escapeText(tag)}</h3>`;
    return heading + table([tag, "problems", "before", "after"], rows);
  });
}

function settingsTable({ before, after, comparison }: ReportSection): string {
  const facts = ({ model, settings, isolation, wallMs, version }: EvaluationInfo) => ({
    model: `${model.name} (${model.kind})`,
    identity: model.identity,
    ...settings,
    isolation,
    version,
    "wall time": `${(wallMs / 1000).toFixed(0)} s`,
  });
  const [left, right] = [facts(before.info), facts(after.info)].map((all) =>
    Object.entries(all).map(([key, value]) => [key, display(value)] as const),
  );
  const differing = new Set(comparison.differingSettings.map(({ key }) => key));
  const rows = left.map(([key, value], i) => {
    const mark = differing.has(key) ? ' class="setting down"' : ' class="setting"';
    return (
      `<tr><td>${escapeText(key)}</td><td${mark}>${escapeText(value)}</td>` +
      `<td${mark}>${escapeText(right[i][1])}</td></tr>`
    );
  });
  const content = table(["setting", "before", "after"], rows, false);
  return `<details><summary>Settings of both evaluations</summary>${content}</details>`;
}

/** Problems in the four fields of the paired table, in reading order. */
export const OUTCOMES: readonly PairOutcome[] = ["gained", "lost", "both", "neither"];

function display(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function rateRow(name: string, before: number, after: number): string {
  return row(name, percent(before), percent(after), signed(after - before));
}

function row(name: string, ...cells: string[]): string {
  return `<tr><td>${name}</td>${cells.map((cell) => `<td class="number">${cell}</td>`).join("")}</tr>`;
}

function signed(difference: number): string {
  const mark = difference > 0 ? "up" : difference < 0 ? "down" : "";
  return `<span class="${mark}">${points(difference)}</span>`;
}

function table(head: readonly string[], rows: readonly string[], areNumbers = true): string {
  const cells = head.map(
    (text, i) => `<th${i > 0 && areNumbers ? ' class="number"' : ""}>${escapeText(text)}</th>`,
  );
  return `<div class="scroll"><table><tr>${cells.join("")}</tr>${rows.join("")}</table></div>`;
}
