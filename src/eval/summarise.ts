/** Scores of an evaluation from its samples. */
import type { EvalGroup, EvalSample, EvalSettings, EvaluationInfo } from "../core/evaluation.js";
import { bootstrapMean, type Interval, mean, wilsonInterval } from "../core/statistics.js";
import { VERSION } from "../core/version.js";
import type { EvaluateSettings } from "./settings.js";
import { meanPassAtK } from "./pass-at-k.js";

/** What the scores are made of. */
export interface SummariseInput {
  settings: EvaluateSettings;
  model: EvaluationInfo["model"];
  recorded: EvalSettings;
  samples: readonly EvalSample[];
  /** Samples that there should be. */
  expected: number;
  problems: number;
  isolation: string;
  startedAt: Date;
  faults: Record<string, number>;
  lastFault: string | null;
}

/** A tag with more values than this is no grouping (an id, a title). */
const MOST_GROUPS = 40;
const BOOTSTRAP_RESAMPLES = 2000;

/** Computes everything that eval.json says of the samples. */
export function summarise(input: SummariseInput): EvaluationInfo {
  const { settings, samples } = input;
  // A broken problem is neither passed nor failed.
  const scored = samples.filter(({ verdict }) => verdict !== "bad_problem");
  const byProblem = groupBy(scored, ({ problemId }) => problemId);
  const counts = [...byProblem.values()].map(countCorrect);
  const missing = input.expected - samples.length;
  const verdicts: EvaluationInfo["verdicts"] = {};
  for (const { verdict } of samples) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  const hasStrict = scored.some(({ strict }) => strict !== null);
  return {
    format: 1,
    name: settings.name,
    model: input.model,
    settings: input.recorded,
    status: missing === 0 ? "complete" : "incomplete",
    startedAt: input.startedAt.toISOString(),
    version: VERSION,
    isolation: input.isolation,
    problems: input.problems,
    samples: samples.length,
    missing,
    passAtK: Object.fromEntries(
      settings.k.flatMap((k) => {
        const value = meanPassAtK(counts, k);
        return value === null ? [] : [[String(k), value]];
      }),
    ),
    passAt1Interval: passAt1Interval(counts, settings),
    ...ratesOf(byProblem),
    strictAt1: hasStrict ? meanByProblem(byProblem, ({ strict }) => Number(strict)) : null,
    verdicts,
    truncated: samples.filter(({ finish }) => finish === "length").length,
    noProgram: samples.filter(({ verdict }) => verdict === "no_program").length,
    groups: groupScores(scored),
    tokens: {
      prompt: sumOf(samples, ({ promptTokens }) => promptTokens),
      completion: sumOf(samples, ({ completionTokens }) => completionTokens),
    },
    wallMs: Date.now() - input.startedAt.getTime(),
    faults: input.faults,
    lastFault: input.lastFault,
  };
}

/** One sample a problem is a plain share; more samples vary within and between problems. */
function passAt1Interval(
  counts: readonly { n: number; c: number }[],
  { seed }: EvaluateSettings,
): Interval {
  if (counts.every(({ n }) => n === 1)) {
    const right = counts.reduce((sum, { c }) => sum + c, 0);
    return wilsonInterval(right, counts.length);
  }
  const rates = counts.map(({ n, c }) => c / n);
  return bootstrapMean(rates, { seed, resamples: BOOTSTRAP_RESAMPLES });
}

function countCorrect(samples: readonly EvalSample[]): { n: number; c: number } {
  return {
    n: samples.length,
    c: samples.filter(({ verdict }) => verdict === "accepted").length,
  };
}

type ByProblem = Map<string, EvalSample[]>;

function ratesOf(byProblem: ByProblem): Pick<EvaluationInfo, "passRate" | "formatRate"> {
  return {
    passRate: meanByProblem(byProblem, ({ passRate }) => passRate),
    formatRate: meanByProblem(byProblem, ({ format }) => Number(format)),
  };
}

/** The mean over problems of the mean over a problem's samples. */
function meanByProblem(byProblem: ByProblem, value: (sample: EvalSample) => number): number {
  return mean([...byProblem.values()].map((samples) => mean(samples.map(value))));
}

function groupScores(samples: readonly EvalSample[]): EvaluationInfo["groups"] {
  const tags = [...new Set(samples.flatMap(({ tags }) => Object.keys(tags)))].sort();
  const scored = tags.flatMap((tag) => {
    const having = samples.filter((sample) => sample.tags[tag] !== undefined);
    const byValue = groupBy(having, (sample) => sample.tags[tag]);
    if (byValue.size < 2 || byValue.size > MOST_GROUPS) return [];
    const rows = [...byValue].sort(([a], [b]) => a.localeCompare(b));
    return [[tag, Object.fromEntries(rows.map(([value, rows]) => [value, scoreGroup(rows)]))]];
  });
  return Object.fromEntries(scored) as EvaluationInfo["groups"];
}

function scoreGroup(samples: readonly EvalSample[]): EvalGroup {
  const byProblem = groupBy(samples, ({ problemId }) => problemId);
  const { passRate, formatRate } = ratesOf(byProblem);
  return {
    problems: byProblem.size,
    passAt1: meanByProblem(byProblem, ({ verdict }) => Number(verdict === "accepted")),
    passRate,
    format: formatRate,
  };
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

function sumOf<T>(items: readonly T[], valueOf: (item: T) => number | null): number {
  return items.reduce((sum, item) => sum + (valueOf(item) ?? 0), 0);
}
