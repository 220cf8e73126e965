/** One run: curves that move while it trains, health in words, config and log. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { MetricsRecord } from "../../src/core/run.js";
import { api, followRun, type RunDetail, type RunSeries } from "../api.js";
import { Chart, type ChartSeries } from "../chart.js";
import { HealthPanel } from "../health.js";
import { useLoad } from "../load.js";
import { PANELS, type Panel } from "../panels.js";
import { Content, CopyButton, RunHeader, Status } from "../parts.js";
import { percent, shellWord } from "../words.js";

const POINTS = 400;
/** Between two fetches of thinned series while new steps keep coming. */
const REFETCH_MS = 2000;
/** Between two looks at a long run that is still being read. */
const SAMPLE_MS = 1000;

/** The run's first page. */
export function RunPage({ run }: { run: string }) {
  const loaded = useLoad(() => api.run(run), [run]);
  const isSample = loaded.data?.isSample === true;
  useEffect(() => {
    if (!isSample) return undefined;
    const timer = setTimeout(loaded.reload, SAMPLE_MS);
    return () => clearTimeout(timer);
  }, [loaded.data]);
  return (
    <>
      <Content loaded={loaded}>
        {(detail) => <Run detail={detail} reload={loaded.reload} />}
      </Content>
    </>
  );
}

interface View {
  smoothing: number;
  isLog: boolean;
  isTime: boolean;
  isDeep: boolean;
  range: [number, number] | null;
}

function Run({ detail, reload }: { detail: RunDetail; reload: () => void }) {
  const [view, setView] = useState<View>({
    smoothing: 0,
    isLog: false,
    isTime: false,
    isDeep: false,
    range: null,
  });
  const live = useLive(detail);
  const curves = useCurves(detail, view, live.turn);
  const change = (part: Partial<View>) => setView((old) => ({ ...old, ...part }));
  return (
    <>
      <RunHeader run={detail.name} page="run">
        <Status status={live.status} />
        {!live.isConnected && (
          <span class="warning" role="status">
            not connected, trying again…
          </span>
        )}
        <Facts detail={detail} step={live.step} />
      </RunHeader>
      {detail.problems.map((problem) => (
        <p class="problem" key={problem}>
          {problem}
        </p>
      ))}
      {detail.isSample && (
        <p class="state" role="status">
          The whole run is being read; until then its curves are drawn from a sample of its steps.
        </p>
      )}
      <HealthPanel events={live.health} />
      <Controls view={view} change={change} />
      {detail.train.span === null && live.turn === 0 ? (
        <p class="state">No step has ended yet. Curves appear with the first one.</p>
      ) : (
        <Charts view={view} curves={curves} change={change} phases={curves?.phases ?? []} />
      )}
      <Texts run={detail.name} dir={detail.dir} reload={reload} />
    </>
  );
}

function Facts({ detail, step }: { detail: RunDetail; step: number }) {
  const { info, before, after } = detail;
  return (
    <p class="facts">
      {info !== null && (
        <>
          {info.preset ?? "own config"} · seed {info.seed} · {info.engine} · sandbox{" "}
          {info.isolation ?? "unknown"} · step {step} of {info.totalSteps}
        </>
      )}
      {before !== null && (
        <>
          {" "}
          · held-out pass rate{" "}
          <strong>
            {percent(before)} → {percent(after)}
          </strong>
        </>
      )}
    </p>
  );
}

/** Follows the run's stream; `turn` grows when there is something new to draw. */
function useLive(detail: RunDetail) {
  const [turn, setTurn] = useState(0);
  const [status, setStatus] = useState(detail.status);
  const [isConnected, setIsConnected] = useState(true);
  const [health, setHealth] = useState(detail.health);
  const [step, setStep] = useState(detail.step);
  useEffect(() => {
    setStatus(detail.status);
    setHealth(detail.health);
    setStep(detail.step);
    // How much has been seen of a sample is no place to go on from.
    if (detail.isSample) return undefined;
    const seen = {
      train: detail.train.span?.records ?? 0,
      val: detail.val.span?.records ?? 0,
      health: detail.health.length,
    };
    const onMetrics = (records: MetricsRecord[]) => {
      setTurn((value) => value + 1);
      setStep(records.at(-1)?.step ?? 0);
    };
    return followRun(detail.name, seen, {
      onMetrics,
      onStatus: setStatus,
      onConnection: setIsConnected,
      onHealth: (events) => setHealth((old) => [...old, ...events]),
    });
  }, [detail]);
  return { turn, status, isConnected, health, step };
}

interface Curves {
  train: RunSeries;
  val: RunSeries;
  phases: { x: number; label: string }[];
}

/** Fetches the series of every panel for the chosen range, again as steps come in. */
function useCurves(detail: RunDetail, view: View, turn: number): Curves | null {
  const [curves, setCurves] = useState<Curves | null>(null);
  const fetchedAt = useRef(0);
  const names = useMemo(() => namesOf(view.isDeep), [view.isDeep]);
  const { isTime, range, smoothing } = view;
  const load = useCallback(async () => {
    fetchedAt.current = performance.now();
    const axis = isTime
      ? { time_from: range?.[0], time_to: range?.[1] }
      : { from: range?.[0], to: range?.[1] };
    const query = { ...axis, points: POINTS, smoothing };
    const [train, val] = await Promise.all([
      api.series(detail.name, { ...query, names: names.train }),
      api.series(detail.name, { ...query, names: names.val, phase: "val" }),
    ]);
    const marks = train.phases.map(({ step, time, label }) => ({
      x: isTime ? time : step,
      label,
    }));
    setCurves({ train, val, phases: marks });
  }, [detail, names, isTime, range?.[0], range?.[1], smoothing]);
  useEffect(() => void load().catch(() => {}), [load]);
  useEffect(() => {
    if (turn === 0) return undefined;
    const wait = Math.max(0, REFETCH_MS - (performance.now() - fetchedAt.current));
    const timer = setTimeout(() => void load().catch(() => {}), wait);
    return () => clearTimeout(timer);
  }, [turn, load]);
  return curves;
}

function namesOf(isDeep: boolean): { train: string; val: string } {
  const lines = PANELS.filter(({ screen }) => isDeep || screen === 1).flatMap(({ lines }) => lines);
  const of = (phase: string) =>
    [
      ...new Set(
        lines
          .filter((line) => (line.phase ?? "train") === phase)
          .flatMap(({ metric, band }) => [metric, ...(band ?? [])]),
      ),
    ].join(",");
  return { train: of("train"), val: of("val") };
}

function Controls({ view, change }: { view: View; change: (part: Partial<View>) => void }) {
  return (
    <form class="controls" onSubmit={(event) => event.preventDefault()} aria-label="Charts">
      <label>
        Smoothing{" "}
        <input
          type="range"
          min="0"
          max="0.98"
          step="0.02"
          value={view.smoothing}
          onChange={(event) => change({ smoothing: Number(event.currentTarget.value) })}
        />
      </label>
      <label>
        <input
          type="checkbox"
          checked={view.isLog}
          onChange={(event) => change({ isLog: event.currentTarget.checked })}
        />{" "}
        log scale
      </label>
      <label>
        <input
          type="checkbox"
          checked={view.isTime}
          onChange={(event) => change({ isTime: event.currentTarget.checked, range: null })}
        />{" "}
        wall time
      </label>
      <label>
        <input
          type="checkbox"
          checked={view.isDeep}
          onChange={(event) => change({ isDeep: event.currentTarget.checked })}
        />{" "}
        more charts
      </label>
      <button type="button" disabled={view.range === null} onClick={() => change({ range: null })}>
        Whole run
      </button>
    </form>
  );
}

function Charts({
  view,
  curves,
  change,
  phases,
}: {
  view: View;
  curves: Curves | null;
  change: (part: Partial<View>) => void;
  phases: { x: number; label: string }[];
}) {
  const { isTime, isLog, isDeep, range } = view;
  const shown = useMemo(
    () =>
      curves === null
        ? []
        : PANELS.filter(({ screen }) => isDeep || screen === 1)
            .map((panel) => ({ panel, ...seriesOf(panel, curves, isTime) }))
            .filter(({ series }) => series.length > 0),
    [curves, isDeep, isTime],
  );
  if (curves === null) return <p class="state">Loading curves…</p>;
  return (
    <div class="charts">
      {shown.map(({ panel, x, series }) => (
        <Chart
          key={panel.title}
          title={panel.title}
          hint={panel.hint}
          x={x}
          series={series}
          isStacked={panel.isStacked === true}
          isTime={isTime}
          isLog={isLog && panel.isStacked !== true}
          marks={phases}
          hasMarkLabels={panel.title === "Pass rate"}
          range={range}
          onRange={(chosen) => change({ range: chosen })}
        />
      ))}
    </div>
  );
}

/** A panel's lines over the training axis; validation points stand at the step they belong to. */
function seriesOf(panel: Panel, { train, val }: Curves, isTime: boolean) {
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
    return [{ label, color, values: found.mean, ...edges }];
  });
  return { x, series };
}

function Texts({ run, dir, reload }: { run: string; dir: string; reload: () => void }) {
  return (
    <>
      <TextPanel title="Config" load={() => api.text(run, "config")} cacheKey={`config ${run}`} />
      <TextPanel title="Log" load={() => api.text(run, "log")} cacheKey={`log ${run}`} />
      <p>
        <button onClick={reload}>Reload</button>{" "}
        <CopyButton
          text={`npx rlvr train --resume ${shellWord(dir)}`}
          label="Copy the command that resumes it"
        />
      </p>
    </>
  );
}

function TextPanel({
  title,
  load,
  cacheKey,
}: {
  title: string;
  load: () => Promise<string>;
  cacheKey: string;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const loaded = useLoad(() => (isOpen ? load() : Promise.resolve("")), [cacheKey, isOpen]);
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      <Content loaded={loaded}>
        {(text) =>
          text === "" ? <p class="state">Nothing here.</p> : <pre tabIndex={0}>{text}</pre>
        }
      </Content>
    </details>
  );
}
