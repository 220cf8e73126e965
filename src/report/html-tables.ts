/** The tables of report.html: scores, flips, groups, settings. */
import type { PairOutcome, ReportSection } from "./compare.js";
import { escapeText } from "./plot-scale.js";
import { pValue } from "./sentence.js";
import { type Cell, groupTables, type ReportTable, scoreTable, settingsTable } from "./tables.js";

/** Renders the tables of one comparison. */
export function renderTables(section: ReportSection): string {
  const groups = groupTables(section).map(
    ({ tag, table }) => `<h3>pass@1 by ${escapeText(tag)}</h3>${renderTable(table)}`,
  );
  const settings = renderTable(settingsTable(section), "setting");
  return [
    renderTable(scoreTable(section)),
    flipTable(section),
    ...groups,
    `<details><summary>Settings of both evaluations</summary>${settings}</details>`,
  ].join("");
}

function flipTable({ comparison }: ReportSection): string {
  const { counts, mcnemar } = comparison;
  const rows = [
    `<tr><th>right before</th><td class="number">${counts.both}</td><td class="number${counts.lost > 0 ? " down" : ""}">${counts.lost}</td></tr>`,
    `<tr><th>wrong before</th><td class="number${counts.gained > 0 ? " up" : ""}">${counts.gained}</td><td class="number">${counts.neither}</td></tr>`,
  ];
  const test = mcnemar === null ? "" : `<p>McNemar's exact test: ${pValue(mcnemar)}.</p>`;
  return wrap(["problems", "right after", "wrong after"], rows) + test;
}

/** Problems in the four fields of the paired table, in reading order. */
export const OUTCOMES: readonly PairOutcome[] = ["gained", "lost", "both", "neither"];

/** Renders a table whose cells, but for the first of a row, are of one kind. */
export function renderTable(
  { head, rows }: ReportTable,
  kind: "number" | "setting" = "number",
): string {
  const lines = rows.map(([name, ...cells]) => {
    const rest = cells.map((cell) => {
      const mark = cell.isDiffering === true ? " down" : "";
      return `<td class="${kind}${mark}">${renderCell(cell)}</td>`;
    });
    return `<tr><td>${escapeText(name.text)}</td>${rest.join("")}</tr>`;
  });
  return wrap(head, lines, kind === "number");
}

function renderCell({ text, interval, change }: Cell): string {
  const trend = change === undefined || change === 0 ? "" : change > 0 ? "up" : "down";
  const shown =
    change === undefined ? escapeText(text) : `<span class="${trend}">${escapeText(text)}</span>`;
  if (interval === undefined) return shown;
  return `${shown} <span class="quiet range">(${escapeText(interval)})</span>`;
}

function wrap(head: readonly string[], rows: readonly string[], areNumbers = true): string {
  const cells = head.map(
    (text, i) => `<th${i > 0 && areNumbers ? ' class="number"' : ""}>${escapeText(text)}</th>`,
  );
  return `<div class="scroll"><table><tr>${cells.join("")}</tr>${rows.join("")}</table></div>`;
}
