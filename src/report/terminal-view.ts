/**
 * A run as lines of text: its state, its health in words, and each curve as a row of blocks with
 * its first, newest, least and greatest value. For terminals, pipes and logs.
 */
import { VERDICT_KINDS } from "../core/verdict.js";
import type { HealthEvent, RunInfo } from "../core/run.js";
import type { MetricsTable } from "./metrics-table.js";

/** What is drawn. */
export interface TerminalRun {
  info: RunInfo | null;
  /** Its state now, in place of the one that run.json says; null without one. */
  status: string | null;
  metrics: MetricsTable;
  health: readonly HealthEvent[];
}

const CURVES: readonly [label: string, metric: string][] = [
  ["reward", "reward/score"],
  ["pass rate", "reward/pass_rate"],
  ["format", "reward/format"],
  ["length", "response_length/mean"],
  ["truncated", "response_length/clip_ratio"],
  ["entropy", "actor/entropy"],
  ["KL", "kl"],
  ["old-new KL", "actor/ppo_kl"],
  ["clipped", "actor/pg_clipfrac"],
  ["grad norm", "actor/grad_norm"],
  ["critic loss", "critic/vf_loss"],
  ["all solved", "group/solve_all"],
  ["s / step", "timing_s/step"],
  ["tokens / s", "perf/throughput"],
];
const BLOCKS = "▁▂▃▄▅▆▇█";
const LABEL_WIDTH = 12;
const NUMBER_WIDTH = 9;
const LEAST_CURVE = 10;
const MOST_CURVE = 80;

/** Draws the run into lines of at most `width` characters. */
export function renderTerminal(run: TerminalRun, width: number): string[] {
  return [
    ...renderState(run),
    "",
    ...renderHealth(run.health, width),
    "",
    ...renderCurves(run.metrics, width),
    ...renderVerdicts(run.metrics, width),
  ].map((line) => [...line].slice(0, width).join(""));
}

function renderState({ info, status, metrics }: TerminalRun): string[] {
  const step = metrics.span("train")?.last ?? 0;
  const name =
    info === null
      ? "no readable run.json"
      : `${info.name}  ${status}  ${info.engine}, seed ${info.seed}, ` +
        `sandbox ${info.isolation ?? "unknown"}`;
  const lines = [`${name}  step ${step}${info === null ? "" : `/${info.totalSteps}`}`];
  if (metrics.badLines > 0) lines.push(`${metrics.badLines} lines of metrics.jsonl left out: torn`);
  return lines;
}

/** The newest event of each rule, with how often it fired. */
function renderHealth(events: readonly HealthEvent[], width: number): string[] {
  const newest = new Map(events.map((event) => [event.rule, event]));
  if (newest.size === 0) return ["health  ok: no rule has fired"];
  return [...newest.values()].flatMap(({ rule, severity, step, title, evidence, advice }) => {
    const count = events.filter((event) => event.rule === rule).length;
    const times = count > 1 ? `, ${count} times` : "";
    return [
      `${severity.toUpperCase()}  ${title} (step ${step}${times})`,
      ...wrap(evidence, width - 2),
      ...wrap(advice, width - 2),
    ];
  });
}

/** Breaks a text at spaces, each line indented by two. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of oneLine(text).split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => `  ${line}`);
}

/** Metrics and titles come from files; none of their bytes may steer the terminal. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");

function renderCurves(metrics: MetricsTable, width: number): string[] {
  const room = width - LABEL_WIDTH - 4 * (NUMBER_WIDTH + 1);
  const points = Math.min(MOST_CURVE, Math.max(LEAST_CURVE, room));
  const names = CURVES.map(([, metric]) => metric);
  const { series, steps } = metrics.series({ phase: "train", names, points });
  // A short run is a short row, with its figures beside it.
  const shown = Math.max(LEAST_CURVE, steps.length);
  const head = ["", "first", "newest", "least", "greatest"];
  const rows = CURVES.flatMap(([label, metric]) => {
    const values = series[metric].mean;
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return [];
    const least = Math.min(...series[metric].min.filter((value) => value !== null));
    const greatest = Math.max(...series[metric].max.filter((value) => value !== null));
    const figures = [known[0], metrics.latest("train")[metric], least, greatest];
    return [`${label.padEnd(LABEL_WIDTH)}${drawBlocks(values).padEnd(shown)}${columns(figures)}`];
  });
  if (rows.length === 0) return ["no step has ended yet"];
  const heads = head.slice(1).map((word) => " " + word.padStart(NUMBER_WIDTH));
  return [`${"".padEnd(LABEL_WIDTH + shown)}${heads.join("")}`, ...rows];
}

const columns = (figures: number[]): string =>
  figures.map((figure) => " " + shortNumber(figure).padStart(NUMBER_WIDTH)).join("");

/** Draws values as blocks from the least to the greatest; a gap where there is none. */
export function drawBlocks(values: readonly (number | null)[]): string {
  const known = values.filter((value) => value !== null);
  const least = Math.min(...known);
  const span = Math.max(...known) - least;
  return values
    .map((value) => {
      if (value === null) return " ";
      return BLOCKS[span === 0 ? 0 : Math.round(((value - least) / span) * (BLOCKS.length - 1))];
    })
    .join("");
}

function renderVerdicts(metrics: MetricsTable, width: number): string[] {
  const latest = metrics.latest("train");
  const shares = VERDICT_KINDS.map((kind) => ({ kind, share: latest[`verdict/${kind}`] ?? 0 }));
  const words = shares
    .filter(({ share }) => share > 0)
    .map(({ kind, share }) => `${kind.replaceAll("_", " ")} ${Math.round(share * 100)} %`);
  return words.length === 0 ? [] : ["", ...wrap(`verdicts: ${words.join(", ")}`, width - 2)];
}

function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}
