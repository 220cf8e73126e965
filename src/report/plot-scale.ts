/** Scales, ticks and text of plots. */

/** The least and greatest of some numbers, opened a little where they coincide. */
export function bounds(values: readonly number[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  if (low === high) return [low - Math.abs(low || 1) * 0.5, high + Math.abs(high || 1) * 0.5];
  return [low, high];
}

/** A linear map from one range to another. */
export function scale(
  [from, to]: readonly [number, number],
  [start, end]: readonly [number, number],
): (value: number) => number {
  return (value) => start + ((value - from) / (to - from)) * (end - start);
}

/** About `count` round numbers within a range: steps of 1, 2 or 5 times a power of ten. */
export function ticks([low, high]: readonly [number, number], count: number): number[] {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return Array.from({ length: last - first + 1 }, (_, i) =>
    Number(((first + i) * step).toFixed(digits)),
  );
}

/** A number as short as it stays readable. */
export function formatTick(value: number): string {
  const size = Math.abs(value);
  if (size >= 10_000) return `${Math.round(value / 1000)}k`;
  if (size !== 0 && size < 0.001) return value.toExponential(0);
  return String(Number(value.toPrecision(6)));
}

/** Text made safe inside HTML and attributes. */
export function escapeText(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
