/**
 * Fenced code blocks of a Markdown text, by the rules of CommonMark.
 *
 * A fence is a line of at least three back-ticks or tildes, indented by at most three blanks beyond
 * its list item; a block ends at a fence of the same character, at least as long, with nothing
 * behind it, else at the end of the text. Covered: the info string, list items, CRLF.
 * Not covered: block quotes. Source: https://spec.commonmark.org/0.31.2/#fenced-code-blocks
 */

/** One fenced block. */
export interface Fence {
  /** What stands behind the opening fence, trimmed; empty when nothing does. */
  info: string;
  content: string;
  isClosed: boolean;
  /** Index of the line of the opening fence, from 0. */
  line: number;
  /** Offsets in the text of the opening fence and behind the block. */
  start: number;
  end: number;
}

const OPENING = /^( *)((?:[-*+]|\d{1,9}[.)]) +)?(`{3,}(?=[^`]*$)|~{3,})(.*)$/;
const LIST_ITEM = /^( *)((?:[-*+]|\d{1,9}[.)]) +)\S/;

/** Finds the fenced blocks of a text, in order. */
export function parseFences(text: string): Fence[] {
  const fences: Fence[] = [];
  const lines = text.split("\n");
  let item = 0;
  for (let i = 0, offset = 0; i < lines.length; i++) {
    const line = withoutReturn(lines[i]);
    item = listOffset(line, item);
    const opening = openFence(line, item);
    if (opening === null) {
      offset += lines[i].length + 1;
      continue;
    }
    const last = closingLine(lines, i + 1, opening);
    const body = lines
      .slice(i + 1, last)
      .map((row) => unindent(withoutReturn(row), opening.indent));
    const size = lines.slice(i, last + 1).reduce((sum, row) => sum + row.length + 1, 0);
    const content = body.length === 0 ? "" : body.join("\n") + "\n";
    const end = Math.min(text.length, offset + size);
    const isClosed = last < lines.length;
    fences.push({ info: opening.info, content, isClosed, line: i, start: offset, end });
    offset += size;
    i = last;
  }
  return fences;
}

interface Opening {
  marker: string;
  info: string;
  /** Blanks before the fence: as many are taken off the lines of the block. */
  indent: number;
  /** Column at which the text of the enclosing list item starts; 0 outside lists. */
  item: number;
}

function openFence(line: string, item: number): Opening | null {
  const match = OPENING.exec(line);
  if (match === null) return null;
  const [, blanks, bullet, marker, info] = match;
  if (bullet !== undefined) {
    const column = blanks.length + bullet.length;
    return { marker, info: info.trim(), indent: column, item: column };
  }
  const indent = blanks.length;
  const container = indent >= item ? item : 0;
  if (indent - container > 3) return null;
  return { marker, info: info.trim(), indent, item: container };
}

function closingLine(lines: string[], from: number, { marker, item }: Opening): number {
  for (let i = from; i < lines.length; i++) {
    const match = /^( *)(`{3,}|~{3,})[ \t]*$/.exec(withoutReturn(lines[i]));
    if (match === null) continue;
    const [, blanks, closing] = match;
    const fits = closing[0] === marker[0] && closing.length >= marker.length;
    if (fits && blanks.length <= item + 3) return i;
  }
  return lines.length;
}

/** Column of the text of the list item that the line belongs to; 0 when it is in none. */
function listOffset(line: string, current: number): number {
  const match = LIST_ITEM.exec(line);
  if (match !== null && match[1].length <= current + 3) return match[1].length + match[2].length;
  if (line.trim() === "") return current;
  return line.length - line.trimStart().length >= current ? current : 0;
}

function unindent(line: string, width: number): string {
  let at = 0;
  while (at < width && line[at] === " ") at++;
  return line.slice(at);
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
