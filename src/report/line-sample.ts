/**
 * Lines spread evenly over a JSONL file, with the first and the last: enough to draw a long run at
 * once while the whole of it is still being read.
 */
import { type FileHandle, open } from "node:fs/promises";

/** Read at each place; a line that does not end within is left out. */
const WINDOW_BYTES = 16 * 1024;
const NEWLINE = 10;
/** Places read at a time. */
const TOGETHER = 32;

/** Reads about `count` whole lines in the file's order; a missing file has none. */
export async function sampleLines(path: string, count: number): Promise<string[]> {
  const file = await open(path).catch(() => null);
  if (file === null) return [];
  try {
    const { size } = await file.stat();
    const places = placesOf(size, count);
    const lines = new Map<number, string>();
    for (let i = 0; i < places.length; i += TOGETHER) {
      const found = await Promise.all(
        places.slice(i, i + TOGETHER).map((place) => lineAfter(file, place)),
      );
      for (const line of found) if (line !== null) lines.set(line.start, line.text);
    }
    const last = await lastLine(file, size);
    if (last !== null) lines.set(last.start, last.text);
    return [...lines].sort(([a], [b]) => a - b).map(([, text]) => text);
  } finally {
    await file.close();
  }
}

interface PlacedLine {
  start: number;
  text: string;
}

const placesOf = (size: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => Math.floor((i * size) / count));

/** The first line that starts at or after a byte, and ends within the window. */
async function lineAfter(file: FileHandle, place: number): Promise<PlacedLine | null> {
  // One byte earlier, so that a line starting at the very place is seen to start there.
  const from = Math.max(0, place - 1);
  const window = await readAt(file, from, WINDOW_BYTES);
  const start = place === 0 ? 0 : window.indexOf(NEWLINE) + 1;
  const end = window.indexOf(NEWLINE, start);
  if ((place > 0 && start === 0) || end === -1) return null;
  return { start: from + start, text: window.toString("utf8", start, end) };
}

async function lastLine(file: FileHandle, size: number): Promise<PlacedLine | null> {
  const from = Math.max(0, size - WINDOW_BYTES);
  const window = await readAt(file, from, size - from);
  const end = window.lastIndexOf(NEWLINE);
  if (end <= 0) return null;
  const start = window.lastIndexOf(NEWLINE, end - 1) + 1;
  if (start === 0 && from > 0) return null;
  return { start: from + start, text: window.toString("utf8", start, end) };
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}
