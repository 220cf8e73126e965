/**
 * Draws progress on standard error: one moving bar on a terminal, a plain line now and then in a
 * pipe, so that a log file stays readable.
 */
import type { OnProgress, Progress } from "../core/progress.js";

const BAR_WIDTH = 24;
const TERMINAL_INTERVAL_MS = 80;
const PIPE_INTERVAL_MS = 10_000;

/** A progress display; `clear` takes the bar off the screen before other text is printed. */
export interface ProgressDisplay {
  onProgress: OnProgress;
  clear(): void;
}

/** Opens a progress display on a stream, standard error unless told otherwise. */
export function openProgress(stream: NodeJS.WriteStream = process.stderr): ProgressDisplay {
  const isTerminal = stream.isTTY === true;
  const interval = isTerminal ? TERMINAL_INTERVAL_MS : PIPE_INTERVAL_MS;
  let label: string | null = null;
  let startedAt = 0;
  let drawnAt = 0;
  let isDrawn = false;

  const clear = () => {
    if (isDrawn) stream.write("\r\u001b[K");
    isDrawn = false;
  };
  const onProgress = (progress: Progress) => {
    const now = Date.now();
    if (progress.label !== label) {
      label = progress.label;
      startedAt = now;
      // In a pipe, short work says nothing until it is done.
      drawnAt = isTerminal ? 0 : now;
    }
    const isDone = progress.total !== null && progress.done >= progress.total;
    if (!isDone && now - drawnAt < interval) return;
    drawnAt = now;
    const text = describeProgress(progress, now - startedAt, isTerminal);
    if (!isTerminal) {
      stream.write(`${text}\n`);
      return;
    }
    stream.write(`\r${text.slice(0, (stream.columns ?? 80) - 1)}\u001b[K`);
    isDrawn = true;
    if (isDone) clear();
  };
  return { onProgress, clear };
}

/** Says progress in one line, e.g. `eval ━━━━──── 32/96 problems · 12 s left`. */
export function describeProgress(progress: Progress, elapsedMs: number, withBar: boolean): string {
  const { label, done, total, unit, note } = progress;
  const share = total === null || total === 0 ? null : Math.min(1, done / total);
  const bar =
    withBar && share !== null
      ? `${"━".repeat(Math.round(share * BAR_WIDTH))}${"─".repeat(BAR_WIDTH - Math.round(share * BAR_WIDTH))} `
      : "";
  const count = total === null ? `${done} ${unit}` : `${done}/${total} ${unit}`;
  const left =
    share !== null && share > 0.02 && share < 1 && elapsedMs > 2000
      ? ` · ${describeDuration((elapsedMs * (1 - share)) / share)} left`
      : "";
  return `${label} ${bar}${count}${left}${note === undefined ? "" : ` · ${note}`}`;
}

/** Says a duration shortly, e.g. `850 ms`, `12 s`, `3 min 5 s`, `2 h 10 min`. */
export function describeDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
