/**
 * Lines spread evenly over a JSONL file, with the first and the last: enough to draw a long run at
 * once while the whole of it is still being read.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";

/** Read at each place; where no line ends within, the larger one is tried. */
const WINDOWS_BYTES = [4 * 1024, 64 * 1024];
const LAST_LINE_BYTES = 64 * 1024;
const NEWLINE = 10;
/**
 * Places read in one turn of the event loop. Read at once, as some microseconds each from the page
 * cache are less than a busy machine takes to wake a thread for each of them.
 */
const TOGETHER = 32;

/** Reads about `count` whole lines in the file's order; a missing file has none. */
export async function sampleLines(path: string, count: number): Promise<string[]> {
  const file = openIfThere(path);
  if (file === null) return [];
  try {
    const { size } = fstatSync(file);
    const lines = new Map<number, string>();
    for (const [i, place] of placesOf(size, count).entries()) {
      if (i > 0 && i % TOGETHER === 0) await turn();
      const line = lineAfter(file, place);
      if (line !== null) lines.set(line.start, line.text);
    }
    const last = lastLine(file, size);
    if (last !== null) lines.set(last.start, last.text);
    return [...lines].sort(([a], [b]) => a - b).map(([, text]) => text);
  } finally {
    closeSync(file);
  }
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, "r");
  } catch {
    return null;
  }
}

interface PlacedLine {
  start: number;
  text: string;
}

const placesOf = (size: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => Math.floor((i * size) / count));

/** The first line that starts at or after a byte, and ends within a window. */
function lineAfter(file: number, place: number): PlacedLine | null {
  // One byte earlier, so that a line starting at the very place is seen to start there.
  const from = Math.max(0, place - 1);
  for (const bytes of WINDOWS_BYTES) {
    const window = readAt(file, from, bytes);
    const start = place === 0 ? 0 : window.indexOf(NEWLINE) + 1;
    const end = window.indexOf(NEWLINE, start);
    if ((place > 0 && start === 0) || end === -1) continue;
    return { start: from + start, text: window.toString("utf8", start, end) };
  }
  return null;
}

function lastLine(file: number, size: number): PlacedLine | null {
  const from = Math.max(0, size - LAST_LINE_BYTES);
  const window = readAt(file, from, size - from);
  const end = window.lastIndexOf(NEWLINE);
  if (end <= 0) return null;
  const start = window.lastIndexOf(NEWLINE, end - 1) + 1;
  if (start === 0 && from > 0) return null;
  return { start: from + start, text: window.toString("utf8", start, end) };
}

function readAt(file: number, position: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  return buffer.subarray(0, readSync(file, buffer, 0, length, position));
}
