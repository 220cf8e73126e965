/** The series that a run's charts draw: fetched for the range in view, and laid out by panel. */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, type RunSeries } from "./api.js";
import type { ChartSeries } from "./plot.js";
import { PANELS, type Panel } from "./panels.js";

/** How the charts are looked at. */
export interface View {
  /** Weight of what came before, in [0, 1). */
  smoothing: number;
  isLog: boolean;
  /** Wall time instead of steps. */
  isTime: boolean;
  /** With the charts of the second screen. */
  isDeep: boolean;
  /** Range chosen, in steps or Unix milliseconds; null is the whole run. */
  range: [number, number] | null;
}

/** A page opens with this. */
export const FIRST_VIEW: View = {
  smoothing: 0,
  isLog: false,
  isTime: false,
  isDeep: false,
  range: null,
};

/** Everything that the charts of a page are drawn from. */
export interface Curves {
  train: RunSeries;
  val: RunSeries;
  phases: { x: number; label: string }[];
}

const POINTS = 400;
/** Between two fetches of thinned series while new steps keep coming. */
const REFETCH_MS = 2000;

/** Fetches the series of every panel for the chosen range, again as `news` comes in. */
export function useCurves(
  run: string,
  { isDeep, isTime, range, smoothing }: View,
  news: number,
): { curves: Curves | null; reload: () => void } {
  const [curves, setCurves] = useState<Curves | null>(null);
  const fetchedAt = useRef(0);
  const newest = useRef(0);
  const names = useMemo(() => namesOf(isDeep), [isDeep]);
  const load = useCallback(async () => {
    fetchedAt.current = performance.now();
    const turn = ++newest.current;
    const axis = isTime
      ? { time_from: range?.[0], time_to: range?.[1] }
      : { from: range?.[0], to: range?.[1] };
    const query = { ...axis, points: POINTS };
    const [train, val] = await Promise.all([
      api.series(run, { ...query, smoothing, names: names.train, edges: names.edges }),
      // Points far apart, each measured on many problems: an average with those before would lie.
      api.series(run, { ...query, names: names.val, edges: "", phase: "val" }),
    ]);
    // An answer that comes after a newer question is dropped.
    if (turn !== newest.current) return;
    const phases = train.phases.map(({ step, time, label }) => ({
      x: isTime ? time : step,
      label,
    }));
    setCurves({ train, val, phases });
  }, [run, names, isTime, range?.[0], range?.[1], smoothing]);
  // A fetch that fails leaves what is drawn; the stream says that the service is gone.
  const reload = useCallback(() => void load().catch(() => {}), [load]);
  useLayoutEffect(reload, [reload]);
  useEffect(() => {
    if (news === 0) return undefined;
    const wait = Math.max(0, REFETCH_MS - (performance.now() - fetchedAt.current));
    const timer = setTimeout(reload, wait);
    return () => clearTimeout(timer);
  }, [news, reload]);
  return { curves, reload };
}

/** The metrics that the panels in view need, and of which of them also the band. */
function namesOf(isDeep: boolean): { train: string; val: string; edges: string } {
  const panels = PANELS.filter(({ screen }) => isDeep || screen === 1);
  const lines = panels.flatMap(({ lines }) => lines);
  const list = (names: string[]) => [...new Set(names)].join(",");
  const isTrain = ({ phase = "train" }: Panel["lines"][number]) => phase === "train";
  return {
    train: list(lines.filter(isTrain).flatMap(({ metric, band }) => [metric, ...(band ?? [])])),
    val: list(lines.filter((line) => !isTrain(line)).map(({ metric }) => metric)),
    edges: list(
      panels
        .filter(({ isStacked }) => isStacked !== true)
        .flatMap(({ lines }) => lines.filter(isTrain))
        .flatMap(({ metric, band }) => band ?? [metric]),
    ),
  };
}

/** A panel's lines over the training axis; validation points stand at the step they belong to. */
export function seriesOf(
  panel: Panel,
  { train, val }: Curves,
  isTime: boolean,
): { x: number[]; series: ChartSeries[] } {
  const x = isTime ? train.times : train.steps;
  const at = (step: number) => {
    const index = train.steps.findIndex(
      (start, i) => start <= step && !(train.steps[i + 1] <= step),
    );
    return index === -1 && train.steps.length > 0 ? 0 : index;
  };
  const series = panel.lines.flatMap(({ metric, label, color, band, phase }): ChartSeries[] => {
    const answer = phase === "val" ? val : train;
    const found = answer.series[metric];
    if (found === undefined || found.mean.every((value) => value === null)) return [];
    if (phase === "val") {
      const values: (number | null)[] = x.map(() => null);
      val.steps.forEach((step, i) => {
        if (at(step) !== -1) values[at(step)] = found.mean[i];
      });
      return [{ label, color, values, isPoints: true }];
    }
    const [min, max] = band?.map((name) => train.series[name]) ?? [found, found];
    const edges =
      panel.isStacked === true ? {} : { min: min?.min ?? found.min, max: max?.max ?? found.max };
    const raw = found.raw === undefined ? {} : { raw: found.raw };
    return [{ label, color, values: found.mean, ...raw, ...edges }];
  });
  return { x, series };
}
