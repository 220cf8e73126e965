/** A run's metrics.jsonl as the curves that the report shows. */
import { basename } from "node:path";
import { type MetricsRecord, readLines, readRunInfo, runPaths } from "../core/run.js";
import { VERDICT_KINDS, type VerdictKind } from "../core/verdict.js";

/** One curve: a metric over steps. */
export interface Curve {
  steps: number[];
  values: (number | null)[];
}

/** What is shown of a run. */
export interface RunCurves {
  name: string;
  /** Curves of a chart by name; only those that the run has. */
  charts: RunChart[];
  /** Share of rollouts by verdict over steps; null when the run has no such metrics. */
  verdicts: { steps: number[]; layers: { kind: VerdictKind; values: number[] }[] } | null;
}

/** One chart of a run. */
export interface RunChart {
  title: string;
  /** Smallest span of the axis, as in LinePlot. */
  span: readonly [number, number] | null;
  curves: (Curve & { name: string; phase: MetricsRecord["phase"] })[];
}

/** The charts in order: the first of `keys` that a record has is shown. */
const CHARTS: readonly {
  title: string;
  span: readonly [number, number] | null;
  lines: readonly { name: string; keys: readonly string[] }[];
}[] = [
  {
    title: "Pass rate",
    span: [0, 1],
    lines: [{ name: "pass rate", keys: ["reward/pass_rate", "critic/score/mean"] }],
  },
  { title: "Format", span: [0, 1], lines: [{ name: "format", keys: ["reward/format"] }] },
  {
    title: "Response length, tokens",
    span: null,
    lines: [{ name: "length", keys: ["response_length/mean"] }],
  },
  {
    title: "KL to the reference",
    span: null,
    lines: [{ name: "KL", keys: ["kl", "actor/reward_kl_penalty", "actor/kl_loss", "critic/kl"] }],
  },
  { title: "Entropy", span: null, lines: [{ name: "entropy", keys: ["actor/entropy"] }] },
  {
    title: "Groups",
    span: [0, 1],
    lines: [
      { name: "all solved", keys: ["group/solve_all"] },
      { name: "mixed", keys: ["group/mixed"] },
      { name: "none solved", keys: ["group/solve_none"] },
    ],
  },
];

/**
 * Reads the curves of a run.
 *
 * @throws {DataError} if the directory is not a run.
 */
export async function readCurves(runDir: string): Promise<RunCurves> {
  const { name } = await readRunInfo(runDir);
  const records = await readLines<MetricsRecord>(runPaths(runDir).metrics);
  const train = records.filter(({ phase }) => phase === "train");
  const val = records.filter(({ phase }) => phase === "val");
  const charts = CHARTS.map(({ title, span, lines }) => ({
    title,
    span,
    curves: lines.flatMap(({ name, keys }) => [
      ...curveOf(train, keys, name, "train"),
      ...curveOf(val, keys, name, "val"),
    ]),
  }));
  return {
    name: name === "" ? basename(runDir) : name,
    charts: charts.filter(({ curves }) => curves.length > 0),
    verdicts: verdictsOf(train),
  };
}

function curveOf(
  records: readonly MetricsRecord[],
  keys: readonly string[],
  name: string,
  phase: MetricsRecord["phase"],
): RunChart["curves"] {
  const key = keys.find((key) => records.some(({ metrics }) => Number.isFinite(metrics[key])));
  if (key === undefined) return [];
  return [
    {
      name,
      phase,
      steps: records.map(({ step }) => step),
      values: records.map(({ metrics }) => metrics[key] ?? null),
    },
  ];
}

function verdictsOf(records: readonly MetricsRecord[]): RunCurves["verdicts"] {
  const valueOf = ({ metrics }: MetricsRecord, kind: VerdictKind) =>
    metrics[`verdict/${kind}`] ?? 0;
  const having = records.filter((record) =>
    VERDICT_KINDS.some((kind) => valueOf(record, kind) > 0),
  );
  if (having.length === 0) return null;
  // Shares whether the metrics are counts or shares already.
  const totals = having.map((record) =>
    VERDICT_KINDS.reduce((sum, kind) => sum + valueOf(record, kind), 0),
  );
  const layers = VERDICT_KINDS.map((kind) => ({
    kind,
    values: having.map((record, i) => valueOf(record, kind) / totals[i]),
  }));
  return {
    steps: having.map(({ step }) => step),
    layers: layers.filter(({ values }) => values.some((value) => value > 0)),
  };
}
