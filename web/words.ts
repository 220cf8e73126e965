/** Numbers and times as people read them. */

/** A share as `42 %`; a dash when there is none. */
export function percent(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : `${Math.round(value * 100)} %`;
}

/** A number with three significant digits, small and large ones with an exponent. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value === 0 || (Number.isInteger(value) && Math.abs(value) < 1e5)) return String(value);
  const size = Math.abs(value);
  return size < 1e-3 || size >= 1e5 ? value.toExponential(2) : String(Number(value.toPrecision(3)));
}

/** Milliseconds of a test. */
export function milliseconds(ms: number): string {
  return ms > 0 && ms < 1 ? "under 1 ms" : `${Math.round(ms)} ms`;
}

/** A time span in the two largest units that matter. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** How long ago something was. */
export function ago(time: number): string {
  return `${duration(Math.max(0, Date.now() - time))} ago`;
}

/** A text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
