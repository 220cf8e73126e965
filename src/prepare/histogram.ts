/**
 * Histograms as SVG text: numbers in, a picture out, the same bytes for the same numbers.
 */

/** One bar: numbers from `from` up to the next bar's. */
export interface Bin {
  from: number;
  count: number;
}

const [WIDTH, HEIGHT] = [480, 200];
const MARGIN = { left: 44, right: 12, top: 28, bottom: 34 };
const MOST_BINS = 24;

/** Counts numbers into at most 24 bins of equal, round width. */
export function binNumbers(numbers: readonly number[]): Bin[] {
  if (numbers.length === 0) return [];
  const least = Math.min(...minMax(numbers));
  const greatest = Math.max(...minMax(numbers));
  const width = roundWidth((greatest - least) / MOST_BINS);
  const first = Math.floor(least / width) * width;
  const count = Math.floor((greatest - first) / width) + 1;
  const bins = Array.from({ length: count }, (_, i) => ({ from: first + i * width, count: 0 }));
  for (const number of numbers) bins[Math.floor((number - first) / width)].count++;
  return bins;
}

/** Least and greatest, without spreading the numbers over the stack. */
function minMax(numbers: readonly number[]): [number, number] {
  let [least, greatest] = [numbers[0], numbers[0]];
  for (const number of numbers) {
    if (number < least) least = number;
    if (number > greatest) greatest = number;
  }
  return [least, greatest];
}

/** The next of 1, 2, 5, 10, 20, …; tests and tokens are whole. */
function roundWidth(least: number): number {
  for (let power = 1; ; power *= 10) {
    for (const step of [1, 2, 5]) if (step * power > least) return step * power;
  }
}

/** Draws bins with a title and the name of the numbers. */
export function drawHistogram(
  bins: readonly Bin[],
  { title, unit }: { title: string; unit: string },
) {
  const plotWidth = WIDTH - MARGIN.left - MARGIN.right;
  const plotHeight = HEIGHT - MARGIN.top - MARGIN.bottom;
  const most = Math.max(1, ...bins.map((bin) => bin.count));
  const barWidth = plotWidth / Math.max(1, bins.length);
  const bars = bins.map(({ from, count }, i) => {
    const height = round((count / most) * plotHeight);
    const x = round(MARGIN.left + i * barWidth + 0.5);
    const y = round(MARGIN.top + plotHeight - height);
    const width = round(Math.max(1, barWidth - 1));
    const label = `<title>from ${from}: ${count}</title>`;
    return `<rect x="${x}" y="${y}" width="${width}" height="${height}">${label}</rect>`;
  });
  const base = MARGIN.top + plotHeight;
  const end = bins.length > 1 ? bins[bins.length - 1].from + (bins[1].from - bins[0].from) : 1;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" ` +
      `font-family="sans-serif" font-size="12" fill="currentColor">`,
    `<title>${title}</title>`,
    `<text x="${MARGIN.left}" y="16" font-weight="bold">${title}</text>`,
    `<g fill="#4878cf">${bars.join("")}</g>`,
    `<path d="M${MARGIN.left} ${base}H${WIDTH - MARGIN.right}" stroke="currentColor"/>`,
    `<text x="${MARGIN.left}" y="${base + 15}">${bins[0]?.from ?? 0}</text>`,
    `<text x="${WIDTH - MARGIN.right}" y="${base + 15}" text-anchor="end">${end}</text>`,
    `<text x="${WIDTH / 2}" y="${HEIGHT - 5}" text-anchor="middle">${unit}</text>`,
    `<text x="${MARGIN.left - 6}" y="${MARGIN.top + 10}" text-anchor="end">${most}</text>`,
    `</svg>\n`,
  ].join("\n");
}

const round = (value: number) => Math.round(value * 100) / 100;
