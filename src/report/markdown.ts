/** The report as Markdown: for a terminal, a pull request, a notebook. */
import type { EvaluationInfo } from "../core/evaluation.js";
import { VERDICT_KINDS } from "../core/verdict.js";
import type { Comparison, PairOutcome } from "./compare.js";
import { REFERENCE, referenceNoise } from "./reference.js";
import type { ReportSection } from "./compare.js";
import { conclude, percent, points } from "./sentence.js";

/** Ids of a list before it is cut, so that a page stays a page; report.json has all. */
const MOST_IDS = 40;

/** Writes the report of one or several comparisons. */
export function renderMarkdown(sections: readonly ReportSection[]): string {
  return (
    ["# Before and after", ...sections.map(renderSection), renderReference()].join("\n\n") + "\n"
  );
}

function renderSection({ title, before, after, comparison }: ReportSection): string {
  return [
    `## ${title}`,
    conclude(comparison),
    ...warningsOf(before.info, after.info, comparison).map((warning) => `> **Note:** ${warning}`),
    scoreTable(before.info, after.info, comparison),
    verdictTable(before.info, after.info),
    ...groupTables(before.info, after.info),
    idList(comparison, "gained", "Gained"),
    idList(comparison, "lost", "Lost"),
    settingsTable(before.info, after.info),
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

function scoreTable(
  before: EvaluationInfo,
  after: EvaluationInfo,
  { passAt1, passRate }: Comparison,
) {
  const range = ({ passAt1Interval: { low, high } }: EvaluationInfo) =>
    `(${percent(low)} – ${percent(high)})`;
  const rows: string[][] = [
    [
      "pass@1 (95 %)",
      `${percent(passAt1Of(before))} ${range(before)}`,
      `${percent(passAt1Of(after))} ${range(after)}`,
      `${points(passAt1.difference)} (${points(passAt1.low)} to ${points(passAt1.high)})`,
    ],
    [
      "share of tests passed",
      percent(before.passRate),
      percent(after.passRate),
      `${points(passRate.difference)} (${points(passRate.low)} to ${points(passRate.high)})`,
    ],
    rateRow("format", before.formatRate, after.formatRate),
  ];
  for (const k of Object.keys(after.passAtK).filter((key) => key !== "1")) {
    const left = before.passAtK[k];
    if (left !== undefined) rows.push(rateRow(`pass@${k}`, left, after.passAtK[k]));
  }
  if (before.strictAt1 !== null && after.strictAt1 !== null) {
    rows.push(rateRow("strict (behind ####)", before.strictAt1, after.strictAt1));
  }
  rows.push(
    ["problems × samples", sizeOf(before), sizeOf(after), ""],
    ["cut off by the token limit", String(before.truncated), String(after.truncated), ""],
    ["completion tokens", meanTokens(before), meanTokens(after), ""],
  );
  return table(["", "before", "after", "difference"], rows);
}

/** pass@1 of an evaluation; 0 where nothing was scored. */
export function passAt1Of({ passAtK }: EvaluationInfo): number {
  return passAtK["1"] ?? 0;
}

function rateRow(name: string, before: number, after: number): string[] {
  return [name, percent(before), percent(after), points(after - before)];
}

function sizeOf({ problems, settings }: EvaluationInfo): string {
  return `${problems} × ${settings.n}`;
}

function meanTokens({ tokens, samples }: EvaluationInfo): string {
  return tokens.completion === 0 ? "–" : `${(tokens.completion / samples).toFixed(0)} mean`;
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

function groupTables(before: EvaluationInfo, after: EvaluationInfo): string[] {
  return Object.entries(after.groups).map(([tag, groups]) => {
    const rows = Object.entries(groups).map(([value, group]) => {
      const left = before.groups[tag]?.[value];
      return [
        value,
        String(group.problems),
        left === undefined ? "–" : percent(left.passAt1),
        percent(group.passAt1),
      ];
    });
    return table([tag, "problems", "pass@1 before", "pass@1 after"], rows);
  });
}

function idList({ pairs, counts }: Comparison, outcome: PairOutcome, label: string): string {
  const ids = pairs.filter((pair) => pair.outcome === outcome).map(({ problemId }) => problemId);
  if (ids.length === 0) return `**${label} (0)**`;
  const shown = ids.slice(0, MOST_IDS).map((id) => `\`${id}\``);
  const rest = ids.length - shown.length;
  return `**${label} (${counts[outcome]}):** ${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

function settingsTable(before: EvaluationInfo, after: EvaluationInfo): string {
  const facts = ({
    model,
    settings,
    isolation,
    wallMs,
  }: EvaluationInfo): Record<string, string> => ({
    model: `${model.name} (${model.kind})`,
    identity: model.identity,
    ...Object.fromEntries(
      Object.entries(settings).map(([key, value]) => [key, JSON.stringify(value)]),
    ),
    isolation: isolation ?? "–",
    "wall time": `${(wallMs / 1000).toFixed(0)} s`,
  });
  const [left, right] = [facts(before), facts(after)];
  return table(
    ["setting", "before", "after"],
    Object.keys(left).map((key) => [key, left[key], right[key]]),
  );
}

function renderReference(): string {
  return [
    "## For context",
    "Published numbers of a comparable experiment (Qwen2.5-7B-Instruct-1M, about 1,000 Eurus code " +
      "problems, 130 PPO steps, EvalScope). ± is the noise of one score if the whole benchmark was run.",
    table(
      ["benchmark", "before", "after", "problems", "±"],
      REFERENCE.map((row) => [
        row.benchmark,
        row.before.toFixed(2),
        row.after.toFixed(2),
        String(row.problems),
        referenceNoise(row).toFixed(3),
      ]),
    ),
  ].join("\n\n");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
