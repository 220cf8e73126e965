/**
 * Two evaluations side by side, paired by problem: what was gained and lost, and whether the
 * difference stands out of the noise.
 */
import { ConfigError } from "../core/errors.js";
import type { EvalSample, Evaluation } from "../core/evaluation.js";
import {
  mcnemarExact,
  mean,
  type PairedBootstrap,
  pairedBootstrap,
  problemsNeeded,
} from "../core/statistics.js";

/** What became of one problem. */
export type PairOutcome = "gained" | "lost" | "both" | "neither";

/** One problem on both sides. */
export interface ProblemPair {
  problemId: string;
  outcome: PairOutcome;
  /** Share of samples accepted, before and after. */
  before: number;
  after: number;
  samplesBefore: EvalSample[];
  samplesAfter: EvalSample[];
}

/** A setting that is not the same on both sides. */
export interface SettingDifference {
  key: string;
  before: string;
  after: string;
}

/** The paired comparison. */
export interface Comparison {
  pairs: ProblemPair[];
  /** Problems that only one side has; they count nowhere. */
  unpaired: number;
  counts: Record<PairOutcome, number>;
  /** Difference of pass@1, after − before, with its interval. */
  passAt1: PairedBootstrap;
  /** Difference of the mean share of tests passed. */
  passRate: PairedBootstrap;
  /** Exact p-value of the flips; null with several samples a problem, where a flip is not one draw. */
  mcnemar: number | null;
  /** True when the difference of pass@1 is beyond noise: p < 0.05, or an interval without 0. */
  isBeyondNoise: boolean;
  /** Problems at which a difference like this one would be found; null at no difference. */
  problemsNeeded: number | null;
  differingSettings: SettingDifference[];
}

const BOOTSTRAP = { resamples: 10_000, seed: 42 };

/** One comparison of the report. */
export interface ReportSection {
  title: string;
  before: Evaluation;
  after: Evaluation;
  comparison: Comparison;
}

/**
 * Compares two evaluations.
 *
 * @throws {ConfigError} if they have no problem in common, or settings that move a score differ and
 * `allowDifferent` is false.
 */
export function compareEvaluations(
  before: Evaluation,
  after: Evaluation,
  { allowDifferent }: { allowDifferent: boolean },
): Comparison {
  const differingSettings = differencesOf(before, after);
  const grave = differingSettings.filter(({ key }) => !HARMLESS.has(key));
  if (grave.length > 0 && !allowDifferent) throw new ConfigError(refusal(grave));
  const { pairs, unpaired } = pairProblems(before.samples, after.samples);
  if (pairs.length === 0) {
    throw new ConfigError(
      `${before.info.name} and ${after.info.name} have no scored problem in common`,
    );
  }
  const counts = { gained: 0, lost: 0, both: 0, neither: 0 };
  for (const { outcome } of pairs) counts[outcome]++;
  const passAt1 = pairedBootstrap(
    pairs.map((pair) => pair.before),
    pairs.map((pair) => pair.after),
    BOOTSTRAP,
  );
  const isSingle = pairs.every((pair) => isOne(pair.samplesBefore) && isOne(pair.samplesAfter));
  const mcnemar = isSingle ? mcnemarExact(counts.gained, counts.lost) : null;
  return {
    pairs,
    unpaired,
    counts,
    passAt1,
    passRate: pairedBootstrap(
      pairs.map((pair) => mean(pair.samplesBefore.map(({ passRate }) => passRate))),
      pairs.map((pair) => mean(pair.samplesAfter.map(({ passRate }) => passRate))),
      BOOTSTRAP,
    ),
    mcnemar,
    isBeyondNoise: mcnemar === null ? passAt1.low > 0 || passAt1.high < 0 : mcnemar < 0.05,
    problemsNeeded: problemsNeeded(pairs.map((pair) => pair.after - pair.before)),
    differingSettings,
  };
}

/** A seed moves a score no more than chance does. */
const HARMLESS: ReadonlySet<string> = new Set(["seed", "model.kind", "isolation", "version"]);

function differencesOf(before: Evaluation, after: Evaluation): SettingDifference[] {
  const facts = ({ info }: Evaluation): Record<string, unknown> => ({
    ...info.settings,
    "model.kind": info.model.kind,
    isolation: info.isolation,
    version: info.version,
  });
  const [left, right] = [facts(before), facts(after)];
  return Object.keys(left)
    .map((key) => ({
      key,
      before: JSON.stringify(left[key]),
      after: JSON.stringify(right[key]),
    }))
    .filter((row) => row.before !== row.after);
}

function refusal(differences: readonly SettingDifference[]): string {
  const list = differences.map(({ key, before, after }) => `${key} ${before} → ${after}`);
  return (
    `the two evaluations differ in settings that move a score: ${list.join("; ")}. ` +
    "Evaluate both the same way, or say --allow-different to compare all the same"
  );
}

/** Pairs the samples of two evaluations by problem, and says what became of each. */
export function pairProblems(
  before: readonly EvalSample[],
  after: readonly EvalSample[],
): Pick<Comparison, "pairs" | "unpaired"> {
  const left = byProblem(before);
  const right = byProblem(after);
  const pairs: ProblemPair[] = [];
  for (const [problemId, samplesBefore] of left) {
    const samplesAfter = right.get(problemId);
    if (samplesAfter === undefined) continue;
    const [a, b] = [samplesBefore, samplesAfter].map((samples) =>
      mean(samples.map(({ verdict }) => Number(verdict === "accepted"))),
    );
    const outcome = outcomeOf(a, b);
    pairs.push({ problemId, outcome, before: a, after: b, samplesBefore, samplesAfter });
  }
  return { pairs, unpaired: left.size + right.size - 2 * pairs.length };
}

/** A broken problem is neither passed nor failed. */
function byProblem(samples: readonly EvalSample[]): Map<string, EvalSample[]> {
  const groups = new Map<string, EvalSample[]>();
  for (const sample of samples) {
    if (sample.verdict === "bad_problem") continue;
    groups.set(sample.problemId, [...(groups.get(sample.problemId) ?? []), sample]);
  }
  return groups;
}

/** With several samples a problem counts as solved when more than half of them are right. */
function outcomeOf(before: number, after: number): PairOutcome {
  if (before > 0.5) return after > 0.5 ? "both" : "lost";
  return after > 0.5 ? "gained" : "neither";
}

/** The sample that stands for a problem's where one is shown: a right one, where there is one. */
export function sampleToShow(samples: readonly EvalSample[]): EvalSample {
  return samples.find(({ verdict }) => verdict === "accepted") ?? samples[0];
}

function isOne(samples: readonly unknown[]): boolean {
  return samples.length === 1;
}
