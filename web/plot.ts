/** What a chart shows, and how it becomes a plot: scales, lines, bands, shades, marks, words. */
import uPlot from "uplot";
import { percent, short } from "./words.js";

/** One line or area. */
export interface ChartSeries {
  label: string;
  /** Name of a CSS variable holding its colour, without the dashes. */
  color: string;
  values: (number | null)[];
  /** The same before smoothing, for words. */
  raw?: (number | null)[];
  min?: (number | null)[];
  max?: (number | null)[];
  /** Points without a line, such as validation among training. */
  isPoints?: boolean;
  dash?: number[];
}

/** Shares of each x in bins of y. */
export interface Heat {
  /** [bins + 1] Borders, rising. */
  bins: number[];
  /** [bins][x] Shares in [0, 1]. */
  shares: number[][];
  /** Name of a CSS variable holding the colour of a full share. */
  color: string;
}

/** What a chart shows. */
export interface ChartProps {
  title: string;
  /** What a good curve looks like, for whoever sees it for the first time. */
  hint: string;
  x: number[];
  series: ChartSeries[];
  isStacked?: boolean;
  /** A histogram behind the lines, as shades; it sets the scale. */
  heat?: Heat;
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

/** All charts of a page share the cursor. */
export const SYNC = uPlot.sync("run");
const HEIGHT = 190;

/** Height of the plot in CSS pixels. */
export const heightOf = ({ height }: ChartProps): number => height ?? HEIGHT;

/** The chart's numbers as uPlot takes them, stacked where they are. */
export function dataOf({ x, series, isStacked, isTime, isLog }: ChartProps): uPlot.AlignedData {
  const axis = isTime ? x.map((ms) => ms / 1000) : x;
  if (isStacked === true) {
    const sums = x.map(() => 0);
    const rows = series.map(({ values }) =>
      values.map((value, i) => (value === null ? null : (sums[i] += value))),
    );
    // Painted from the top of the stack down, so that each area covers the part above it.
    return [axis, ...rows.reverse()];
  }
  const lines = series.flatMap(({ values, min, max }) =>
    min === undefined || max === undefined ? [values] : [values, min, max],
  );
  return [axis, ...(isLog ? lines.map((line) => line.map(aboveZero)) : lines)];
}

const aboveZero = (value: number | null) => (value !== null && value > 0 ? value : null);

/** What a scale of powers leaves out, in words; null where it draws all. */
export function missingWords({ series, isLog }: ChartProps): string | null {
  const known = series.flatMap(({ values }) => values).filter((value) => value !== null);
  const missing = known.filter((value) => value <= 0).length;
  if (!isLog || missing === 0) return null;
  return missing === known.length
    ? "No value is above 0, which a log scale needs: nothing to draw."
    : `${missing} of ${known.length} values are not above 0 and left out of the log scale.`;
}

/** How uPlot draws the chart; what changes from draw to draw is read from `latest`. */
export function optionsOf(element: HTMLElement, latest: { current: ChartProps }): uPlot.Options {
  const { series, isStacked, isTime, isLog, heat } = latest.current;
  const colorOf = (name: string) => resolveColor(element, name);
  const grid = { stroke: colorOf("grid"), width: 1 };
  const axis = { stroke: colorOf("muted"), grid, ticks: grid, font: "11px system-ui" };
  const markColors = { ink: colorOf("muted"), paper: colorOf("card") };
  const { lines, bands } = linesOf(series, isStacked === true, colorOf);
  return {
    width: element.clientWidth,
    height: heightOf(latest.current),
    legend: { show: false },
    padding: [8, 10, 0, 0],
    cursor: {
      // Where the pointer is, all charts show; a range is chosen in one and answered by new data.
      sync: { key: SYNC.key, filters: { pub: (type) => type === "mousemove" } },
      drag: { x: true, y: false, setScale: false },
      points: { size: 6 },
    },
    scales: {
      x: { time: isTime, range: (_, min, max) => xRange(min, max, isTime) },
      y: isLog ? { distr: 3, range: powersOf } : { range: yRange(latest) },
    },
    axes: [
      { ...axis, size: 32, ...(isTime ? {} : { incrs: WHOLE_STEPS }) },
      {
        ...axis,
        size: (_, labels) => LABEL_ROOM + LETTER_WIDTH * longest(labels),
        values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : short(tick))),
      },
    ],
    series: [{}, ...lines],
    bands,
    hooks: {
      ...(heat === undefined
        ? {}
        : { drawAxes: [(plot) => drawHeat(plot, latest.current, colorOf(heat.color))] }),
      draw: [(plot) => drawMarks(plot, latest.current, markColors)],
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
        },
      ],
      ready: [(plot) => plot.over.addEventListener("dblclick", () => latest.current.onRange(null))],
    },
  };
}

/** Distances of ticks on an axis of steps: there is no half step. */
const WHOLE_STEPS = Array.from({ length: 10 }, (_, power) =>
  [1, 2, 5].map((digit) => digit * 10 ** power),
).flat();

/** Room on both sides of a single step or moment, in steps or seconds. */
function xRange(min: number | null, max: number | null, isTime: boolean): [number, number] {
  if (min === null || max === null) return [0, 1];
  if (min < max) return [min, max];
  return isTime ? [min - 30, max + 30] : [min - 0.5, max + 0.5];
}

/** Whole powers of ten around the data. */
const powersOf: uPlot.Range.Function = (_, min, max) =>
  min === null || max === null ? [0.1, 1] : uPlot.rangeLog(min, max, 10, true);

/** With fewer values in sight each gets a point: a line through one is nothing. */
const FEW = 12;
const FEW_POINTS: uPlot.Series.Points = {
  size: 5,
  show: ({ data }, series, first, last) => {
    const values = data[series].slice(first, last + 1);
    return values.filter((value) => value !== null && value !== undefined).length <= FEW;
  },
};

/** Of the labels beside an axis, in CSS pixels at 11 px. */
const LETTER_WIDTH = 6.5;
const LABEL_ROOM = 20;
const longest = (labels: string[] | null): number =>
  Math.max(2, ...(labels ?? []).map((label) => label.length));

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

function yRange(latest: { current: ChartProps }): uPlot.Range.Function {
  if (latest.current.isStacked === true) return stackRange;
  if (latest.current.heat === undefined) return rangeOf;
  return () => {
    const bins = latest.current.heat?.bins ?? [0, 1];
    return [bins[0], bins[bins.length - 1]];
  };
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
        : { points: { ...FEW_POINTS, fill: stroke } }),
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

/** One cell per bin and x, as strong as its share; small shares stay visible. */
function drawHeat(plot: uPlot, { heat, x, isTime }: ChartProps, color: string): void {
  if (heat === undefined || x.length === 0) return;
  const { ctx, bbox } = plot;
  const at = (value: number) => plot.valToPos(isTime ? value / 1000 : value, "x", true);
  const centres = x.map(at);
  // Cells meet half way between neighbours; one alone is as wide as the chart.
  const edge = (i: number) => (centres[i - 1] + centres[i]) / 2;
  const left = (i: number) => Math.max(bbox.left, i === 0 ? bbox.left : edge(i));
  const right = (i: number) =>
    i === x.length - 1 ? bbox.left + bbox.width : Math.min(edge(i + 1), bbox.left + bbox.width);
  ctx.save();
  ctx.fillStyle = color;
  heat.shares.forEach((shares, bin) => {
    const top = plot.valToPos(heat.bins[bin + 1], "y", true);
    const height = plot.valToPos(heat.bins[bin], "y", true) - top;
    shares.forEach((share, i) => {
      if (share === 0) return;
      ctx.globalAlpha = 0.08 + 0.72 * Math.sqrt(share);
      ctx.fillRect(left(i), top, right(i) - left(i), height);
    });
  });
  ctx.restore();
}

/** Dashed lines, and beside them the labels on a rim of the card's colour that keeps them readable. */
function drawMarks(
  plot: uPlot,
  { marks, hasMarkLabels, isTime }: ChartProps,
  { ink, paper }: { ink: string; paper: string },
): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.fillStyle = ink;
  ctx.font = `${10 * ratio}px system-ui`;
  ctx.lineJoin = "round";
  for (const [i, { x, label }] of marks.entries()) {
    const left = plot.valToPos(isTime ? x / 1000 : x, "x", true);
    if (left < bbox.left || left > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ink;
    ctx.lineWidth = ratio;
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
    if (hasMarkLabels !== true) continue;
    ctx.strokeStyle = paper;
    ctx.lineWidth = 4 * ratio;
    ctx.setLineDash([]);
    // Where a rising curve leaves room: above its beginning, below its end.
    const isEarly = left < bbox.left + bbox.width / 3;
    const top = isEarly ? bbox.top + (10 + 12 * i) * ratio : bbox.top + bbox.height - 6 * ratio;
    const room = bbox.left + bbox.width - left - 4 * ratio;
    const isCut = ctx.measureText(label).width > room;
    ctx.textAlign = isCut ? "right" : "left";
    const place = [left + (isCut ? -4 : 4) * ratio, top] as const;
    ctx.strokeText(label, ...place);
    ctx.fillText(label, ...place);
  }
  ctx.restore();
}

/** Writes the values under the cursor into the chart's hint line. */
function showValues(
  plot: uPlot,
  element: HTMLElement,
  { series, x, hint, isTime, heat }: ChartProps,
): void {
  const line = element.parentElement?.querySelector(".hint");
  if (line === null || line === undefined) return;
  const index = plot.cursor.idx;
  if (index === null || index === undefined || x[index] === undefined) {
    line.textContent = hint;
    return;
  }
  const at = isTime ? new Date(x[index]).toLocaleTimeString() : `step ${x[index]}`;
  const values = series.map(
    ({ label, values, raw }) => `${label} ${short((raw ?? values)[index])}`,
  );
  const shares = heat === undefined ? [] : heatWords(heat, index);
  line.textContent = [at, ...values, ...shares].join(" · ");
}

/** The three largest shares of a column, e.g. `62 % at 0–0.083`. */
function heatWords({ bins, shares }: Heat, index: number): string[] {
  return shares
    .map((ofBin, bin) => ({ bin, share: ofBin[index] }))
    .filter(({ share }) => share > 0)
    .sort((a, b) => b.share - a.share)
    .slice(0, 3)
    .map(({ bin, share }) => `${percent(share)} at ${short(bins[bin])}–${short(bins[bin + 1])}`);
}
