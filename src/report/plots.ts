/**
 * Plots as SVG text, pure functions of data: lines over steps, a stack of shares, bars with
 * intervals. Colours come from CSS variables of the page, so that one drawing serves light and dark.
 */
import { bounds, escapeText, formatTick, scale, ticks } from "./plot-scale.js";

const WIDTH = 400;
const HEIGHT = 230;
const MARGIN = { top: 18, right: 14, bottom: 30, left: 44 };

/** A line: `values[i]` at `steps[i]`; null leaves a gap. */
export interface LineSeries {
  name: string;
  steps: readonly number[];
  values: readonly (number | null)[];
  /** Name of a CSS variable that holds the colour, e.g. `--blue`. */
  colour: string;
  /** Points instead of a line: for measurements that are far apart. */
  isDotted?: boolean;
}

/** What a plot of lines shows. */
export interface LinePlot {
  label: string;
  series: readonly LineSeries[];
  /** Smallest span of the value axis, e.g. [0, 1] for a share; null follows the data. */
  span: readonly [number, number] | null;
  format?: (value: number) => string;
}

/** Draws lines over steps. */
export function drawLines({ label, series, span, format = formatTick }: LinePlot): string {
  const xs = bounds(series.flatMap(({ steps }) => steps));
  const data = series.flatMap(({ values }) => values.filter((value) => value !== null));
  const ys = span === null ? bounds(data) : bounds([...data, ...span]);
  const frame = frameOf(xs, ys);
  const marks = series.map((line) => {
    const points = line.steps.map((step, i) => {
      const value = line.values[i];
      return value === null || value === undefined ? null : { step, value };
    });
    const known = points.filter((point) => point !== null);
    const dots = line.isDotted === true || known.length < 3 ? known : [];
    return (
      `<path d="${pathOf(points, frame)}" fill="none" stroke="var(${line.colour})" ` +
      `stroke-width="2" stroke-linejoin="round"${line.isDotted ? ' stroke-dasharray="2 3"' : ""}/>` +
      dots
        .map(
          ({ step, value }) =>
            `<circle cx="${at(frame.x(step))}" cy="${at(frame.y(value))}" r="3" fill="var(${line.colour})">` +
            `<title>${escapeText(`${line.name}, step ${step}: ${format(value)}`)}</title></circle>`,
        )
        .join("")
    );
  });
  return svg(label, valueAxis(frame, ys, format) + stepAxis(frame, xs) + marks.join(""));
}

/** Shares that add up to at most 1 at each step, stacked from the bottom. */
export interface StackPlot {
  label: string;
  steps: readonly number[];
  layers: readonly { name: string; values: readonly number[]; colour: string }[];
  /** Words under the places 1, 2, … instead of steps. */
  columns?: readonly string[];
}

/** Draws a stack of shares over steps. */
export function drawStack({ label, steps, layers, columns }: StackPlot): string {
  const xs = columns === undefined ? bounds(steps) : ([0.5, columns.length + 0.5] as const);
  const frame = frameOf(xs, [0, 1]);
  const floor = steps.map(() => 0);
  const areas = layers.map(({ name, values, colour }) => {
    const top = floor.map((base, i) => base + values[i]);
    const upper = steps.map((step, i) => `${at(frame.x(step))},${at(frame.y(top[i]))}`);
    const lower = steps.map((step, i) => `${at(frame.x(step))},${at(frame.y(floor[i]))}`);
    top.forEach((value, i) => (floor[i] = value));
    return (
      `<polygon points="${[...upper, ...lower.reverse()].join(" ")}" fill="var(${colour})">` +
      `<title>${escapeText(name)}</title></polygon>`
    );
  });
  const below = columns === undefined ? stepAxis(frame, xs) : columnAxis(frame, columns);
  const shares = valueAxis(frame, [0, 1], (value) => `${Math.round(100 * value)} %`);
  return svg(label, shares + areas.join("") + below);
}

/** One group of bars, each with an interval where it has one. */
export interface BarGroup {
  name: string;
  bars: readonly { name: string; value: number; low?: number; high?: number; colour: string }[];
}

/** Draws groups of bars of shares, side by side. */
export function drawBars({
  label,
  groups,
}: {
  label: string;
  groups: readonly BarGroup[];
}): string {
  const frame = frameOf([0, groups.length], [0, 1]);
  const slot = frame.x(1) - frame.x(0);
  const drawn = groups.map(({ name, bars }, g) => {
    const width = Math.min(46, (slot * 0.7) / bars.length);
    const left = frame.x(g + 0.5) - (width * bars.length) / 2;
    const marks = bars.map((bar, b) => drawBar(bar, { x: left + b * width, width, y: frame.y }));
    return marks.join("") + tickBelow(frame.x(g + 0.5), name);
  });
  const grid = valueAxis(frame, [0, 1], (value) => `${Math.round(100 * value)} %`);
  return svg(label, grid + drawn.join(""));
}

function drawBar(
  bar: BarGroup["bars"][number],
  place: { x: number; width: number; y: (value: number) => number },
): string {
  const middle = at(place.x + place.width / 2);
  const top = place.y(bar.value);
  const text = `${(100 * bar.value).toFixed(1)} %`;
  const interval =
    bar.low === undefined || bar.high === undefined
      ? ""
      : `<line class="interval" x1="${middle}" x2="${middle}" y1="${at(place.y(bar.low))}" y2="${at(place.y(bar.high))}"/>`;
  // Above the interval, so that the two do not run into each other.
  const textY = place.y(Math.max(bar.value, bar.high ?? 0)) - 4;
  return (
    `<rect x="${at(place.x + 2)}" y="${at(top)}" width="${at(place.width - 4)}" ` +
    `height="${at(place.y(0) - top)}" rx="2" fill="var(${bar.colour})">` +
    `<title>${escapeText(`${bar.name}: ${text}`)}</title></rect>${interval}` +
    `<text class="value" x="${middle}" y="${at(textY)}" text-anchor="middle">` +
    `${(100 * bar.value).toFixed(1)}</text>`
  );
}

interface Frame {
  x: (value: number) => number;
  y: (value: number) => number;
}

function frameOf(xs: readonly [number, number], ys: readonly [number, number]): Frame {
  return {
    x: scale(xs, [MARGIN.left, WIDTH - MARGIN.right]),
    y: scale(ys, [HEIGHT - MARGIN.bottom, MARGIN.top]),
  };
}

function pathOf(
  points: readonly ({ step: number; value: number } | null)[],
  { x, y }: Frame,
): string {
  let isDown = false;
  let path = "";
  for (const point of points) {
    if (point !== null) path += `${isDown ? "L" : "M"}${at(x(point.step))} ${at(y(point.value))}`;
    isDown = point !== null;
  }
  return path;
}

function stepAxis(frame: Frame, xs: readonly [number, number]): string {
  return ticks(xs, 5)
    .filter((step) => Number.isInteger(step))
    .map((step) => tickBelow(frame.x(step), String(step)))
    .join("");
}

function columnAxis(frame: Frame, columns: readonly string[]): string {
  return columns.map((name, index) => tickBelow(frame.x(index + 1), name)).join("");
}

function tickBelow(x: number, text: string): string {
  return (
    `<text class="tick" x="${at(x)}" y="${HEIGHT - 12}" text-anchor="middle">` +
    `${escapeText(text)}</text>`
  );
}

function valueAxis(
  frame: Frame,
  ys: readonly [number, number],
  format: (value: number) => string,
): string {
  return ticks(ys, 4)
    .map((value) => {
      const y = at(frame.y(value));
      return (
        `<line class="grid" x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y}" y2="${y}"/>` +
        `<text class="tick" x="${MARGIN.left - 6}" y="${at(frame.y(value) + 3.5)}" text-anchor="end">` +
        `${escapeText(format(value))}</text>`
      );
    })
    .join("");
}

function svg(label: string, content: string): string {
  return (
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeText(label)}">` +
    `${content}</svg>`
  );
}

function at(value: number): string {
  return String(Math.round(value * 10) / 10);
}
