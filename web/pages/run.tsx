/** One run: curves that move while it trains, health in words, config and log. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, type RunDetail } from "../api.js";
import { Chart } from "../chart.js";
import { type Curves, FIRST_VIEW, seriesOf, useCurves, type View } from "../curves.js";
import { HealthPanel } from "../health.js";
import { useLive } from "../live.js";
import { useLoad } from "../load.js";
import { outcomeCharts, useOutcomes } from "../outcomes.js";
import { PANELS } from "../panels.js";
import { Content, CopyButton, RunHeader, Status } from "../parts.js";
import { percent, shellWord } from "../words.js";

/** Between two looks at a long run that is still being read. */
const SAMPLE_MS = 1000;

/** The run's first page; curves are asked for beside the run's state, not after it. */
export function RunPage({ run }: { run: string }) {
  const loaded = useLoad(() => api.run(run), [run]);
  const [view, setView] = useState<View>(FIRST_VIEW);
  const [news, setNews] = useState(0);
  const onNews = useCallback(() => setNews((count) => count + 1), []);
  const isSample = loaded.data?.isSample === true;
  const { curves, reload } = useCurves(run, view, news);
  useEffect(() => {
    if (!isSample) return undefined;
    const timer = setTimeout(loaded.reload, SAMPLE_MS);
    return () => clearTimeout(timer);
  }, [loaded.data]);
  const extent = extentOf(loaded.data);
  const drawn = useRef<string | null>(null);
  useEffect(() => {
    // The first answer comes beside the first curves; a later one that differs needs others.
    if (drawn.current !== null && extent !== drawn.current) reload();
    drawn.current = extent;
  }, [extent]);
  useEffect(() => {
    if (curves?.train.isSample === true && loaded.data?.isSample === false) reload();
  }, [curves, loaded.data]);
  const change = useCallback(
    (part: Partial<View>) => setView((old) => ({ ...old, ...part })),
    [setView],
  );
  const reloadAll = () => {
    loaded.reload();
    reload();
  };
  return (
    <Content loaded={loaded}>
      {(detail) => (
        <Run
          {...{ detail, view, change, curves, onNews }}
          reload={reloadAll}
          onTurn={loaded.reload}
        />
      )}
    </Content>
  );
}

/** What of a run decides how its curves look. */
function extentOf(detail: RunDetail | null): string | null {
  if (detail === null) return null;
  const { generation, train, val } = detail;
  return JSON.stringify([generation, train.span, val.span]);
}

function Run({
  detail,
  view,
  change,
  curves,
  onNews,
  onTurn,
  reload,
}: {
  detail: RunDetail;
  view: View;
  change: (part: Partial<View>) => void;
  curves: Curves | null;
  onNews: () => void;
  /** The run may have begun, ended or been replaced. */
  onTurn: () => void;
  reload: () => void;
}) {
  const live = useLive(detail, onNews, onTurn);
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
      {(detail.info !== null || live.health.length > 0) && <HealthPanel events={live.health} />}
      <Controls view={view} change={change} />
      {detail.train.span === null && live.step === 0 ? (
        <p class="state">No step has ended yet. Curves appear with the first one.</p>
      ) : (
        <Charts run={detail.name} view={view} curves={curves} change={change} />
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
  run,
  view,
  curves,
  change,
}: {
  run: string;
  view: View;
  curves: Curves | null;
  change: (part: Partial<View>) => void;
}) {
  const { isTime, isLog, isDeep, range } = view;
  const outcomes = useOutcomes(run, view, curves);
  const shown = useMemo(
    () =>
      curves === null
        ? []
        : PANELS.filter(({ screen }) => isDeep || screen === 1)
            .map((panel) => ({ panel, ...seriesOf(panel, curves, isTime) }))
            .filter(({ series }) => series.length > 0),
    [curves, isDeep, isTime],
  );
  const counted = useMemo(
    () => (outcomes === null ? [] : outcomeCharts(outcomes, isTime)),
    [outcomes, isTime],
  );
  if (curves === null) return <p class="state">Loading curves…</p>;
  const common = {
    isTime,
    marks: curves.phases,
    range,
    onRange: (chosen: View["range"]) => change({ range: chosen }),
  };
  return (
    <div class="charts">
      {shown.map(({ panel, x, series }) => (
        <Chart
          key={panel.title}
          {...common}
          title={panel.title}
          hint={panel.hint}
          x={x}
          series={series}
          isStacked={panel.isStacked === true}
          isLog={isLog && panel.isStacked !== true}
          hasMarkLabels={panel.title === "Pass rate"}
        />
      ))}
      {counted.map((chart) => (
        <Chart key={chart.title} {...common} {...chart} isLog={false} />
      ))}
    </div>
  );
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
