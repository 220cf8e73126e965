/** Charts of how rollouts came out: rewards as a histogram, lengths, pass rate by kind of problem. */
import { useEffect, useState } from "preact/hooks";
import { api, type RunOutcomes } from "./api.js";
import type { ChartProps, ChartSeries } from "./plot.js";
import type { Curves, View } from "./curves.js";

const POINTS = 120;
const COLORS = 6;
/** After these many kinds colours come again, with dashes. */
const DASH = [6, 4];

/** Counts the rollouts of the range in view, anew whenever its curves are; null without any. */
export function useOutcomes(
  run: string,
  { isDeep, isTime, range }: View,
  curves: Curves | null,
): RunOutcomes | null {
  const [outcomes, setOutcomes] = useState<RunOutcomes | null>(null);
  useEffect(() => {
    if (!isDeep || curves === null) return undefined;
    let isCurrent = true;
    const [from, to] = range ?? [];
    const query = isTime ? { time_from: from, time_to: to } : { from, to };
    api.outcomes(run, { ...query, points: POINTS }).then(
      (answer) => isCurrent && setOutcomes(answer),
      // What is drawn stays; the stream says that the service is gone.
      () => {},
    );
    return () => {
      isCurrent = false;
    };
  }, [run, isDeep, curves]);
  return isDeep && outcomes !== null && outcomes.steps.length > 0 ? outcomes : null;
}

/** What differs from chart to chart. */
export type OutcomeChart = Pick<ChartProps, "title" | "hint" | "x" | "series" | "heat">;

/** Lays the counts out as charts. */
export function outcomeCharts(outcomes: RunOutcomes, isTime: boolean): OutcomeChart[] {
  const x = isTime ? outcomes.times : outcomes.steps;
  const { rewardBins, rewardShares, rewardMean, rightLength, wrongLength, passRates } = outcomes;
  return [
    {
      title: "Rewards",
      hint: "Each column a histogram. Learning moves its weight up; two far apart bands: all or nothing.",
      x,
      series: [{ label: "mean", color: "series-2", values: rewardMean }],
      heat: { bins: rewardBins, shares: rewardShares, color: "series-1" },
    },
    {
      title: "Length of right and wrong answers",
      hint: "Near each other. Wrong ones much longer: rambling, or cut off before the program.",
      x,
      series: [
        { label: "right", color: "verdict-accepted", values: rightLength },
        { label: "wrong", color: "verdict-wrong_answer", values: wrongLength },
      ],
    },
    ...passRates.map(({ tag, values }) => ({
      title: `Pass rate by ${tag}`,
      hint: "All rise. One at 0 while the others rise: too hard, or its tests are at fault.",
      x: isTime ? outcomes.kindTimes : outcomes.kindSteps,
      series: values.map(({ name, rates }, i): ChartSeries => ({
        label: name,
        color: `series-${(i % COLORS) + 1}`,
        values: rates,
        ...(i >= COLORS ? { dash: DASH } : {}),
      })),
    })),
  ];
}
