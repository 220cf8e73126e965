/** The tables of a report as data: what stands in them, for report.md and report.html alike. */
import type { EvaluationInfo } from "../core/evaluation.js";
import type { ReportSection } from "./compare.js";
import { REFERENCE, referenceNoise } from "./reference.js";
import { percent, points } from "./sentence.js";

/** A table; the first cell of a row names it. */
export interface ReportTable {
  head: readonly string[];
  rows: readonly (readonly Cell[])[];
}

/** One cell. */
export interface Cell {
  text: string;
  /** The 95 % interval beside it, e.g. `31.0 to 42.5`. */
  interval?: string;
  /** A change: above 0 for the better. */
  change?: number;
  /** True where the two evaluations differ in this setting. */
  isDiffering?: boolean;
}

/** pass@1 of an evaluation; 0 where nothing was scored. */
export function passAt1Of({ passAtK }: EvaluationInfo): number {
  return passAtK["1"] ?? 0;
}

/** Scores of both sides and their change. */
export function scoreTable({ before, after, comparison }: ReportSection): ReportTable {
  const sides = [before.info, after.info];
  const { passAt1, passRate } = comparison;
  const pass = sides.map((info) => ({
    text: percent(passAt1Of(info)),
    interval: rangeOf(info.passAt1Interval, (value) => (100 * value).toFixed(1)),
  }));
  const cellsOf = (textOf: (info: EvaluationInfo) => string) =>
    sides.map((info) => ({ text: textOf(info) }));
  const rows: Cell[][] = [
    [{ text: "pass@1 (95 %)" }, ...pass, changeOf(passAt1)],
    [
      { text: "share of tests passed" },
      ...cellsOf((info) => percent(info.passRate)),
      changeOf(passRate),
    ],
    rateRow("format", before.info.formatRate, after.info.formatRate),
  ];
  for (const k of Object.keys(after.info.passAtK).filter((key) => key !== "1")) {
    const left = before.info.passAtK[k];
    if (left !== undefined) rows.push(rateRow(`pass@${k}`, left, after.info.passAtK[k]));
  }
  const [left, right] = sides.map(({ strictAt1 }) => strictAt1);
  if (left !== null && right !== null) rows.push(rateRow("strict (behind ####)", left, right));
  rows.push(
    [{ text: "problems × samples" }, ...cellsOf(sizeOf), { text: "" }],
    [
      { text: "cut off by the token limit" },
      ...cellsOf(({ truncated }) => String(truncated)),
      { text: "" },
    ],
    [{ text: "completion tokens" }, ...cellsOf(meanTokens), { text: "" }],
  );
  return { head: ["", "before", "after", "change"], rows };
}

/** pass@1 by tag, one table a tag. */
export function groupTables({
  before,
  after,
}: ReportSection): { tag: string; table: ReportTable }[] {
  return Object.entries(after.info.groups).map(([tag, groups]) => {
    const rows = Object.entries(groups).map(([value, group]) => {
      const left = before.info.groups[tag]?.[value];
      const shown = left === undefined ? "–" : percent(left.passAt1);
      return textCells(value, String(group.problems), shown, percent(group.passAt1));
    });
    return { tag, table: { head: [tag, "problems", "before", "after"], rows } };
  });
}

/** Every setting of both sides. */
export function settingsTable({ before, after, comparison }: ReportSection): ReportTable {
  const [left, right] = [factsOf(before.info), factsOf(after.info)];
  const differing = new Set(comparison.differingSettings.map(({ key }) => key));
  const rows = Object.keys(left).map((key) => {
    const isDiffering = differing.has(key);
    return [
      { text: key },
      { text: show(left[key]), isDiffering },
      { text: show(right[key]), isDiffering },
    ];
  });
  return { head: ["setting", "before", "after"], rows };
}

/** What the table of the reference experiment is. */
export const REFERENCE_NOTE =
  "Published numbers of a comparable experiment: Qwen2.5-7B-Instruct-1M, about 1,000 Eurus code " +
  "problems, 130 PPO steps, EvalScope. ± is the noise of one score if the whole benchmark was run.";

/** The reference experiment. */
export function referenceTable(): ReportTable {
  const rows = REFERENCE.map((row) =>
    textCells(
      row.benchmark,
      row.before.toFixed(2),
      row.after.toFixed(2),
      String(row.problems),
      referenceNoise(row).toFixed(3),
    ),
  );
  return { head: ["benchmark", "before", "after", "problems", "±"], rows };
}

function factsOf(info: EvaluationInfo): Record<string, unknown> {
  const { model, settings, isolation, version, wallMs } = info;
  return {
    model: `${model.name} (${model.kind})`,
    identity: model.identity,
    ...settings,
    isolation,
    version,
    "wall time": `${(wallMs / 1000).toFixed(0)} s`,
  };
}

function show(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function changeOf(change: { difference: number; low: number; high: number }): Cell {
  const { difference } = change;
  return { text: points(difference), interval: rangeOf(change, points), change: difference };
}

function rangeOf(
  { low, high }: { low: number; high: number },
  showEnd: (value: number) => string,
): string {
  return `${showEnd(low)} to ${showEnd(high)}`;
}

function rateRow(name: string, before: number, after: number): Cell[] {
  const change = after - before;
  return [...textCells(name, percent(before), percent(after)), { text: points(change), change }];
}

function textCells(...texts: string[]): Cell[] {
  return texts.map((text) => ({ text }));
}

function sizeOf({ problems, settings }: EvaluationInfo): string {
  return `${problems} × ${settings.n}`;
}

function meanTokens({ tokens, samples }: EvaluationInfo): string {
  return tokens.completion === 0 ? "–" : `${(tokens.completion / samples).toFixed(0)} mean`;
}
