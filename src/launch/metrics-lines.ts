/**
 * What veRL says of its metrics: lines of its `file` logger, or of its console for releases that
 * have no such logger.
 *
 *     {"step": 3, "data": {"critic/score/mean": 0.25, …}}
 *     (TaskRunner pid=4711) step:3 - critic/score/mean:0.25 - …
 */
import type { MetricsRecord } from "../core/run.js";
import { parsePythonJson } from "./python-json.js";

/** The metrics of one step, as veRL tells them. */
export interface StepMetrics {
  step: number;
  metrics: Record<string, number>;
}

/** Reads a line of the file logger; null if it is none. */
export function parseFileLine(line: string): StepMetrics | null {
  let value: unknown;
  try {
    value = parsePythonJson(line);
  } catch {
    return null;
  }
  const { step, data } = Object(value) as { step?: unknown; data?: unknown };
  if (typeof step !== "number" || typeof data !== "object" || data === null) return null;
  const metrics: Record<string, number> = {};
  for (const [name, item] of Object.entries(data)) {
    // Loggers write NaN as null, 0.6's as NaN; that a metric is not a number is what health looks for.
    if (item === null) metrics[name] = NaN;
    if (typeof item === "number") metrics[name] = item;
  }
  return { step, metrics };
}

const ANSI = /\u001b\[[0-9;]*m/g;
const RAY_PREFIX = /^\([^)]*pid=\d+[^)]*\)\s*/;
const NUMPY = /^np\.\w+\((.*)\)$/;

/** Takes Ray's prefix and colours off a console line. */
export function stripRayPrefix(line: string): string {
  return line.replace(ANSI, "").replace(RAY_PREFIX, "");
}

/** Reads a metrics line of the console; null if it is another line. */
export function parseConsoleLine(line: string): StepMetrics | null {
  const [head, ...parts] = stripRayPrefix(line).trim().split(" - ");
  const step = /^step:(\d+)$/.exec(head)?.[1];
  if (step === undefined || parts.length === 0) return null;
  const metrics: Record<string, number> = {};
  for (const part of parts) {
    const at = part.lastIndexOf(":");
    const text = part.slice(at + 1).trim();
    const word = NUMPY.exec(text)?.[1] ?? text;
    const value = Number(word.replace(/inf$/i, "Infinity"));
    const isNumber = !Number.isNaN(value) || /^nan$/i.test(word);
    if (at > 0 && isNumber) metrics[part.slice(0, at)] = value;
  }
  return { step: Number(step), metrics };
}

/** Splits a step's metrics into our records: training, and validation when there was one. */
export function toRecords({ step, metrics }: StepMetrics, time: number): MetricsRecord[] {
  const isValidation = (name: string) => name.startsWith("val-") || name.startsWith("val/");
  const part = (wanted: boolean) =>
    Object.fromEntries(Object.entries(metrics).filter(([name]) => isValidation(name) === wanted));
  const [train, val] = [part(false), part(true)];
  const records: MetricsRecord[] = [];
  alias(train, "reward/score", ["critic/score/mean"]);
  // The distance to the reference policy where the run has one, else to the policy that sampled.
  alias(train, "kl", ["actor/reward_kl_penalty", "actor/kl_loss", "actor/ppo_kl"]);
  // Before the first step veRL logs a validation and nothing else.
  if (Object.keys(train).some((name) => !name.startsWith("training/"))) {
    records.push({ step, phase: "train", time, metrics: train });
  }
  if (Object.keys(val).length > 0) records.push({ step, phase: "val", time, metrics: val });
  return records;
}

/** Gives a metric our name beside veRL's: the first of those that are there. */
function alias(metrics: Record<string, number>, name: string, from: readonly string[]): void {
  const found = from.find((other) => metrics[other] !== undefined);
  if (found !== undefined) metrics[name] = metrics[found];
}
