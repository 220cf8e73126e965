/**
 * A chart over steps or time: lines with a band from least to greatest, or areas stacked to a sum.
 * All charts of a page share cursor and range.
 */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { short } from "./words.js";

/** One line or area. */
export interface ChartSeries {
  label: string;
  /** Name of a CSS variable holding its colour, without the dashes. */
  color: string;
  values: (number | null)[];
  min?: (number | null)[];
  max?: (number | null)[];
  /** Points without a line, such as validation among training. */
  isPoints?: boolean;
  dash?: number[];
}

/** What a chart shows. */
export interface ChartProps {
  title: string;
  /** What a good curve looks like, for whoever sees it for the first time. */
  hint: string;
  x: number[];
  series: ChartSeries[];
  isStacked?: boolean;
  isTime: boolean;
  isLog: boolean;
  /** Vertical marks, e.g. the phases of training; only some charts write their labels. */
  marks: { x: number; label: string }[];
  hasMarkLabels?: boolean;
  /** Chosen range, or null for all. */
  range: [number, number] | null;
  onRange: (range: [number, number] | null) => void;
  height?: number;
}

const SYNC = uPlot.sync("run");

/** Draws a chart and keeps it in step with its data. */
export function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const shape = [
    props.series.map(({ label, color, min }) => `${label}${color}${min !== undefined}`).join(),
    props.isStacked,
    props.isTime,
    props.isLog,
    document.documentElement.dataset["theme"],
  ].join("|");

  useEffect(() => {
    const element = place.current as HTMLDivElement;
    plot.current = new uPlot(optionsOf(element, latest), dataOf(latest.current), element);
    const resize = new ResizeObserver(() => {
      plot.current?.setSize({ width: element.clientWidth, height: latest.current.height ?? 190 });
    });
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);

  useEffect(() => {
    plot.current?.setData(dataOf(props));
  }, [props.x, props.series]);

  return (
    <section class="chart" aria-label={props.title}>
      <header>
        <h3>{props.title}</h3>
        <Legend series={props.series} />
      </header>
      <div ref={place} class="plot" role="img" aria-label={describe(props)} />
      <p class="hint">{props.hint}</p>
    </section>
  );
}

function Legend({ series }: { series: ChartSeries[] }) {
  if (series.length < 2) return <Newest series={series[0]} />;
  return (
    <ul class="legend">
      {series.map(({ label, color }) => (
        <li key={label}>
          <span class={`swatch swatch-${color}`} aria-hidden="true" />
          {label}
        </li>
      ))}
    </ul>
  );
}

function Newest({ series }: { series: ChartSeries | undefined }) {
  const value = series?.values.findLast((value) => value !== null);
  return <span class="newest">{short(value)}</span>;
}

/** The chart in words, for those who do not see it. */
function describe({ title, series }: ChartProps): string {
  const parts = series.map(({ label, values }) => {
    const known = values.filter((value) => value !== null);
    return `${label} from ${short(known.at(0))} to ${short(known.at(-1))}`;
  });
  return `${title}: ${parts.join("; ")}`;
}

function dataOf({ x, series, isStacked, isTime }: ChartProps): uPlot.AlignedData {
  const axis = isTime ? x.map((ms) => ms / 1000) : x;
  if (isStacked === true) {
    const sums = x.map(() => 0);
    const rows = series.map(({ values }) =>
      values.map((value, i) => (value === null ? null : (sums[i] += value))),
    );
    // Painted from the top of the stack down, so that each area covers the part above it.
    return [axis, ...rows.reverse()];
  }
  return [
    axis,
    ...series.flatMap(({ values, min, max }) =>
      min === undefined || max === undefined ? [values] : [values, min, max],
    ),
  ];
}

function optionsOf(element: HTMLElement, latest: { current: ChartProps }): uPlot.Options {
  const { series, isStacked, isTime, isLog } = latest.current;
  const colorOf = (name: string) => resolveColor(element, name);
  const grid = { stroke: colorOf("grid"), width: 1 };
  const axis = { stroke: colorOf("muted"), grid, ticks: grid, font: "11px system-ui" };
  const { lines, bands } = linesOf(series, isStacked === true, colorOf);
  return {
    width: element.clientWidth,
    height: latest.current.height ?? 190,
    legend: { show: false },
    cursor: { sync: { key: SYNC.key }, drag: { x: true, y: false }, points: { size: 6 } },
    scales: {
      x: { time: isTime },
      y: isLog ? { distr: 3 } : { range: isStacked === true ? stackRange : rangeOf },
    },
    axes: [
      { ...axis, size: 32 },
      {
        ...axis,
        size: 52,
        values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : short(tick))),
      },
    ],
    series: [{}, ...lines],
    bands,
    hooks: {
      draw: [(plot) => drawMarks(plot, latest.current, colorOf("mark"))],
      setCursor: [(plot) => showValues(plot, element, latest.current)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < 4) return;
          const scale = isTime ? 1000 : 1;
          latest.current.onRange([
            plot.posToVal(left, "x") * scale,
            plot.posToVal(left + width, "x") * scale,
          ]);
          plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        },
      ],
      ready: [(plot) => plot.over.addEventListener("dblclick", () => latest.current.onRange(null))],
    },
  };
}

/** The colour that a CSS variable stands for in the theme in force, as `rgb(…)`. */
function resolveColor(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** The same colour, see-through, for a band. */
const faint = (color: string): string => color.replace("rgb(", "rgba(").replace(")", ", 0.16)");

/** Room above and below the data, and a visible height for a constant. */
function rangeOf(_: uPlot, min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1];
  const room = max - min === 0 ? Math.max(Math.abs(max) * 0.1, 0.01) : (max - min) * 0.06;
  return [min >= 0 && min - room < 0 ? 0 : min - room, max + room];
}

/** A stack stands on 0. */
const stackRange = (_: uPlot, __: number | null, max: number | null): [number, number] => [
  0,
  max === null || max <= 0 ? 1 : max * 1.02,
];

function linesOf(series: ChartSeries[], isStacked: boolean, colorOf: (name: string) => string) {
  const lines: uPlot.Series[] = [];
  const bands: uPlot.Band[] = [];
  const ordered = isStacked ? [...series].reverse() : series;
  for (const { label, color, min, isPoints, dash } of ordered) {
    const stroke = colorOf(color);
    lines.push({
      label,
      stroke,
      width: isStacked ? 1 : 1.75,
      ...(isStacked ? { fill: stroke } : {}),
      ...(dash === undefined ? {} : { dash }),
      ...(isPoints === true
        ? { paths: () => null, points: { show: true, size: 8, fill: stroke } }
        : { points: { show: false } }),
      spanGaps: true,
    });
    if (min === undefined || isStacked) continue;
    const at = lines.length;
    const edge = { stroke: "transparent", points: { show: false }, spanGaps: true };
    lines.push({ ...edge, label: `${label} least` }, { ...edge, label: `${label} greatest` });
    bands.push({ series: [at + 2, at + 1], fill: faint(stroke) });
  }
  return { lines, bands };
}

function drawMarks(plot: uPlot, { marks, hasMarkLabels }: ChartProps, color: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.font = `${10 * devicePixelRatio}px system-ui`;
  ctx.textAlign = "left";
  ctx.setLineDash([4, 4]);
  for (const [i, { x, label }] of marks.entries()) {
    const left = plot.valToPos(x, "x", true);
    if (left < bbox.left || left > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
    if (hasMarkLabels === true) {
      ctx.fillText(label, left + 4 * devicePixelRatio, bbox.top + (10 + 12 * i) * devicePixelRatio);
    }
  }
  ctx.restore();
}

/** Writes the values under the cursor into the chart's hint line. */
function showValues(
  plot: uPlot,
  element: HTMLElement,
  { series, x, hint, isTime }: ChartProps,
): void {
  const line = element.parentElement?.querySelector(".hint");
  if (line === null || line === undefined) return;
  const index = plot.cursor.idx;
  if (index === null || index === undefined || x[index] === undefined) {
    line.textContent = hint;
    return;
  }
  const at = isTime ? new Date(x[index]).toLocaleTimeString() : `step ${x[index]}`;
  const values = series.map(({ label, values }) => `${label} ${short(values[index])}`);
  line.textContent = `${at} · ${values.join(" · ")}`;
}
