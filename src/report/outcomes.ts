/**
 * How rollouts came out over the steps: their rewards as a histogram, the length of right and wrong
 * answers, and the pass rate by kind of problem. Counted from the columns of the rollout index, in
 * one pass; a million rollouts take some tens of milliseconds.
 */
import { VERDICT_KINDS } from "../core/verdict.js";
import type { RolloutColumns } from "./rollout-table.js";

const BINS = 12;
/** A kind of problem is a small part of a step: fewer, longer stretches keep its noise down. */
const KIND_STRETCHES = 15;
const ACCEPTED = VERDICT_KINDS.indexOf("accepted");

/** Rollouts by stretches of steps; a stretch without rollouts is left out. */
export interface Outcomes {
  /** First step of each stretch. */
  steps: number[];
  /** [12 + 1] Borders of the bins of reward, rising. */
  rewardBins: number[];
  /** [12][stretch] Share of the stretch's rollouts in each bin; the last bin has its upper border. */
  rewardShares: number[][];
  rewardMean: number[];
  /** [stretch] Mean response length in tokens of accepted answers and of all others. */
  rightLength: (number | null)[];
  wrongLength: (number | null)[];
  /** First step of each of at most 15 longer stretches, in which kinds of problem are told apart. */
  kindSteps: number[];
  /** [longer stretch] Mean share of tests passed, by value of each tag. */
  passRates: { tag: string; values: { name: string; rates: (number | null)[] }[] }[];
}

/** What is counted. */
export interface OutcomesQuery {
  /** Inclusive range of steps. */
  from: number;
  to: number;
  /** Most stretches wanted. */
  points: number;
  /** Tag by tag, the value that each problem has; see problem-tags.ts. */
  tags: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** Sums of numbers that fall into stretches. */
class Sums {
  readonly #sums: Float64Array;
  readonly #counts: Float64Array;

  constructor(stretches: number) {
    this.#sums = new Float64Array(stretches);
    this.#counts = new Float64Array(stretches);
  }

  add(stretch: number, value: number): void {
    this.#sums[stretch] += value;
    this.#counts[stretch]++;
  }

  countOf(stretch: number): number {
    return this.#counts[stretch];
  }

  means(): (number | null)[] {
    return Array.from(this.#sums, (_, stretch) => this.meanOf(stretch));
  }

  meanOf(stretch: number): number | null {
    const count = this.#counts[stretch];
    return count === 0 ? null : this.#sums[stretch] / count;
  }
}

/** Counts the rollouts of a range of steps. */
export function countOutcomes(
  { length, columns, problems }: RolloutColumns,
  { from, to, points, tags }: OutcomesQuery,
): Outcomes {
  const { step, reward, passRate, responseTokens, verdict, problem } = columns;
  const rows = rowsWithin(step, length, from, to);
  const [low, high] = rangeOf(reward, rows);
  const first = step[rows[0]] ?? 0;
  const span = (step[rows[1] - 1] ?? 0) - first + 1;
  const stretches = rows[0] === rows[1] ? 0 : Math.min(Math.max(1, points), span);
  const kindStretches = Math.min(stretches, KIND_STRETCHES);
  const sums = () => new Sums(stretches);
  const [rewards, right, wrong] = [sums(), sums(), sums()];
  const bins = Array.from({ length: BINS }, () => new Float64Array(stretches));
  const byTag = [...tags].map(([tag, valueOf]) => {
    const values = new Map<string, Sums>();
    const ofProblem = problems.map((id) => {
      const value = valueOf.get(id);
      if (value === undefined) return null;
      if (!values.has(value)) values.set(value, new Sums(kindStretches));
      return values.get(value) as Sums;
    });
    return { tag, values, ofProblem };
  });
  for (let row = rows[0]; row < rows[1]; row++) {
    const stretch = Math.floor(((step[row] - first) * stretches) / span);
    rewards.add(stretch, reward[row]);
    bins[binOf(reward[row], low, high)][stretch]++;
    (verdict[row] === ACCEPTED ? right : wrong).add(stretch, responseTokens[row]);
    const kindStretch = Math.floor(((step[row] - first) * kindStretches) / span);
    for (const { ofProblem } of byTag) ofProblem[problem[row]]?.add(kindStretch, passRate[row]);
  }
  const seen = Array.from({ length: stretches }, (_, i) => i).filter((i) => rewards.countOf(i) > 0);
  const means = (of: Sums) => seen.map((i) => of.meanOf(i));
  const startOf = (i: number, count: number) => first + Math.ceil((i * span) / count);
  return {
    steps: seen.map((i) => startOf(i, stretches)),
    rewardBins: Array.from({ length: BINS + 1 }, (_, i) => low + ((high - low) * i) / BINS),
    rewardShares: bins.map((counts) => seen.map((i) => counts[i] / rewards.countOf(i))),
    rewardMean: means(rewards) as number[],
    rightLength: means(right),
    wrongLength: means(wrong),
    kindSteps: Array.from({ length: kindStretches }, (_, i) => startOf(i, kindStretches)),
    passRates: byTag.map(({ tag, values }) => ({
      tag,
      values: [...values]
        .sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))
        .map(([name, of]) => ({ name, rates: of.means() })),
    })),
  };
}

/** Rows of the range; steps rise with the rows. */
function rowsWithin(
  step: ArrayLike<number>,
  length: number,
  from: number,
  to: number,
): [first: number, end: number] {
  const lowerBound = (value: number) => {
    let [low, high] = [0, length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (step[middle] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const first = lowerBound(from);
  return [first, Math.max(first, lowerBound(to + 1))];
}

/** Least and greatest reward; a span of nothing becomes one of 1, so that its bin has a width. */
function rangeOf(reward: ArrayLike<number>, [first, end]: [number, number]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (let row = first; row < end; row++) {
    low = Math.min(low, reward[row]);
    high = Math.max(high, reward[row]);
  }
  if (first === end) return [0, 1];
  return low === high ? [low, low + 1] : [low, high];
}

const binOf = (value: number, low: number, high: number): number =>
  Math.min(BINS - 1, Math.floor(((value - low) / (high - low)) * BINS));
