/**
 * The report as one HTML file without any other: no script, no font, no picture from elsewhere, so
 * that it can be mailed and opened in ten years.
 */
import { VERDICT_KINDS } from "../core/verdict.js";
import type { RunCurves } from "./curves.js";
import { renderPrograms } from "./html-programs.js";
import { renderTable, renderTables } from "./html-tables.js";
import { warningsOf } from "./markdown.js";
import { PAGE_STYLE } from "./page-style.js";
import { escapeText } from "./plot-scale.js";
import { type BarGroup, drawBars, drawLines, drawStack, type LineSeries } from "./plots.js";
import type { ReportSection } from "./compare.js";
import { conclude } from "./sentence.js";
import { passAt1Of, REFERENCE_NOTE, referenceTable } from "./tables.js";

/** Renders the page. */
export function renderHtml(sections: readonly ReportSection[], runs: readonly RunCurves[]): string {
  const [{ before, after }] = sections;
  const title = `${after.info.settings.benchmark}: before and after`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeText(title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
<h1>${escapeText(title)}</h1>
<p class="quiet">${escapeText(`${before.info.model.name} → ${after.info.model.name}`)}</p>
${sections.map(renderSummary).join("\n")}
${renderBars(sections)}
${runs.map(renderRun).join("\n")}
${sections.map(renderDetails).join("\n")}
${renderReference()}
</main>
</body>
</html>
`;
}

function renderSummary({ title, before, after, comparison }: ReportSection): string {
  const warnings = warningsOf(before.info, after.info, comparison);
  return (
    `<div class="conclusion${comparison.isBeyondNoise ? "" : " noise"}">` +
    `<strong>${escapeText(title)}.</strong> ${escapeText(conclude(comparison))}</div>` +
    warnings.map((text) => `<p class="warning">${inline(text)}</p>`).join("")
  );
}

function renderBars(sections: readonly ReportSection[]): string {
  const figures = sections.flatMap((section) => {
    const { title, before, after } = section;
    const sides = [
      { info: before.info, colour: "--before" },
      { info: after.info, colour: "--after" },
    ];
    const group = (
      name: string,
      valueOf: (info: ReportSection["before"]["info"]) => number,
      hasInterval: boolean,
    ): BarGroup => ({
      name,
      bars: sides.map(({ info, colour }) => ({
        name: `${info.name}, ${name}`,
        value: valueOf(info),
        colour,
        ...(hasInterval ? info.passAt1Interval : {}),
      })),
    });
    const groups = [
      group("pass@1", passAt1Of, true),
      group("tests passed", ({ passRate }) => passRate, false),
      group("format", ({ formatRate }) => formatRate, false),
    ];
    const names = sides.map(({ info, colour }) => ({ name: info.name, colour }));
    return [figure(title, names, drawBars({ label: title, groups })), renderVerdictBar(section)];
  });
  return `<h2>Scores</h2><div class="plots">${figures.join("")}</div>`;
}

/** The verdicts of both sides as two points of a stack would read badly: two stacked bars. */
function renderVerdictBar({ title, before, after }: ReportSection): string {
  const kinds = VERDICT_KINDS.filter(
    (kind) => before.info.verdicts[kind] ?? after.info.verdicts[kind],
  );
  const sides = [before.info, after.info];
  // Half a step to each side of the place where a bar stands.
  const steps = [0.7, 1.3, 1.301, 1.699, 1.7, 2.3];
  const shares = (kind: (typeof kinds)[number]) => {
    const [left, right] = sides.map(
      ({ verdicts, samples }) => (verdicts[kind] ?? 0) / Math.max(1, samples),
    );
    return [left, left, 0, 0, right, right];
  };
  const layers = kinds.map((kind) => ({ name: kind, values: shares(kind), colour: `--${kind}` }));
  const names = kinds.map((kind) => ({ name: wordsOf(kind), colour: `--${kind}` }));
  const plot = drawStack({
    label: `verdicts, ${title}`,
    steps,
    layers,
    columns: ["before", "after"],
  });
  return figure(`Verdicts, ${title}`, names, plot);
}

function renderRun({ name, charts, verdicts }: RunCurves): string {
  const figures = charts.map(({ title, span, curves }) => {
    const colours = ["--after", "--accepted", "--no_program", "--wrong_answer"];
    const series = curves.map(({ name, phase, steps, values }, index): LineSeries => ({
      name: phase === "val" ? `${name}, validation` : name,
      steps,
      values,
      colour: phase === "val" ? "--wrong_answer" : colours[index % colours.length],
      isDotted: phase === "val",
    }));
    return figure(title, series, drawLines({ label: title, series, span }));
  });
  if (verdicts !== null) {
    const layers = verdicts.layers.map(({ kind, values }) => ({
      name: wordsOf(kind),
      values,
      colour: `--${kind}`,
    }));
    const plot = drawStack({ label: "Verdicts over steps", steps: verdicts.steps, layers });
    figures.splice(1, 0, figure("Verdicts of the rollouts", layers, plot));
  }
  return `<h2>${escapeText(`Training: ${name}`)}</h2><div class="plots">${figures.join("")}</div>`;
}

function renderDetails(section: ReportSection): string {
  return `<h2>${escapeText(section.title)}</h2>` + renderTables(section) + renderPrograms(section);
}

function renderReference(): string {
  return `<h2>For context</h2><p>${REFERENCE_NOTE}</p>${renderTable(referenceTable())}`;
}

function figure(
  title: string,
  names: readonly { name: string; colour: string }[],
  plot: string,
): string {
  const legend = names.map(
    ({ name, colour }) =>
      `<span><i style="background:var(${colour})"></i>${escapeText(name)}</span>`,
  );
  const shown = names.length > 1 ? `<div class="legend">${legend.join("")}</div>` : "";
  return `<figure><figcaption>${escapeText(title)}</figcaption>${shown}${plot}</figure>`;
}

function wordsOf(kind: string): string {
  return kind.replaceAll("_", " ");
}

/** Text with `code` marked by backticks. */
function inline(text: string): string {
  return escapeText(text).replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}
