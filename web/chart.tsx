/**
 * A chart over steps or time: lines with a band from least to greatest, or areas stacked to a sum.
 * All charts of a page share cursor and range.
 */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import {
  type ChartProps,
  type ChartSeries,
  dataOf,
  heightOf,
  missingWords,
  optionsOf,
  SYNC,
} from "./plot.js";
import { short } from "./words.js";

/** So far from the window a chart counts as seen, so that scrolling meets it drawn. */
const SIGHT_MARGIN = "150px";

/** Draws a chart and keeps it in step with its data; one out of sight waits until it is seen. */
export function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<DrawnChart | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const shape = [
    props.series.map(({ label, color, min }) => `${label}${color}${min !== undefined}`).join(),
    props.isStacked,
    props.isTime,
    props.isLog,
    document.documentElement.dataset["scheme"],
  ].join("|");
  const words = useMemo(() => describe(props), [props.x, props.series]);
  const missing = missingWords(props);

  useLayoutEffect(() => {
    drawn.current = new DrawnChart(place.current as HTMLDivElement, latest);
    return () => drawn.current?.close();
  }, [shape]);
  useLayoutEffect(() => drawn.current?.update(), [props.x, props.series]);

  return (
    <section class="chart" aria-label={props.title}>
      <header>
        <h3>{props.title}</h3>
        <Legend series={props.series} />
      </header>
      <div ref={place} class="plot" role="img" aria-label={words} />
      {missing !== null && (
        <p class="missing" role="note">
          {missing}
        </p>
      )}
      <p class="hint">{props.hint}</p>
    </section>
  );
}

/** The canvas of a chart: it is made when first seen, and drawn anew only while it is seen. */
class DrawnChart {
  readonly #element: HTMLDivElement;
  readonly #latest: { current: ChartProps };
  readonly #size: ResizeObserver;
  readonly #sight: IntersectionObserver;
  #plot: uPlot | null = null;
  #isSeen = false;
  #isStale = true;

  constructor(element: HTMLDivElement, latest: { current: ChartProps }) {
    this.#element = element;
    this.#latest = latest;
    this.#size = new ResizeObserver(() => {
      this.#plot?.setSize({ width: element.clientWidth, height: heightOf(latest.current) });
    });
    this.#size.observe(element);
    this.#sight = new IntersectionObserver((entries) => this.#look(entries), {
      rootMargin: SIGHT_MARGIN,
    });
    this.#sight.observe(element);
    element.style.minHeight = `${heightOf(latest.current)}px`;
  }

  /** Draws new data, now or when the chart comes into sight. */
  update(): void {
    this.#isStale = true;
    if (this.#isSeen) this.#draw();
  }

  close(): void {
    this.#size.disconnect();
    this.#sight.disconnect();
    this.#plot?.destroy();
    this.#plot = null;
  }

  #look(entries: IntersectionObserverEntry[]): void {
    this.#isSeen = entries.at(-1)?.isIntersecting === true;
    if (this.#isSeen && this.#isStale) this.#draw();
    // The cursor of the others is followed only where someone sees it.
    if (this.#plot === null) return;
    if (this.#isSeen) SYNC.sub(this.#plot);
    else SYNC.unsub(this.#plot);
  }

  #draw(): void {
    const data = dataOf(this.#latest.current);
    this.#isStale = false;
    if (this.#plot === null) {
      this.#plot = new uPlot(optionsOf(this.#element, this.#latest), data, this.#element);
      return;
    }
    this.#plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.#plot.setData(data);
  }
}

function Legend({ series }: { series: ChartSeries[] }) {
  if (series.length < 2) return <Newest series={series[0]} />;
  return (
    <ul class="legend">
      {series.map(({ label, color, dash }) => (
        <li key={label}>
          <span
            class={`swatch swatch-${color} ${dash === undefined ? "" : "dashed"}`}
            aria-hidden="true"
          />
          {label}
        </li>
      ))}
    </ul>
  );
}

function Newest({ series }: { series: ChartSeries | undefined }) {
  const value = (series?.raw ?? series?.values)?.findLast((value) => value !== null);
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
