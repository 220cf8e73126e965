/** Two texts line by line: what both have, what only one has, from near where they differ first. */

/** A line of a difference. */
export interface Piece {
  /** `cut`: lines left out, in words. */
  kind: "same" | "left" | "right" | "cut";
  line: string;
}

/** Lines beyond this are not compared; the longest common subsequence takes their product. */
const MOST_LINES = 400;
/** So many equal lines in a row are shown whole, of more only those nearest to a difference. */
const MOST_EQUAL = 20;
const NEAREST = 5;

/** Aligns the lines of two texts: their common beginning and end, and between these the rest. */
export function diffLines(left: string, right: string): Piece[] {
  const a = left.split("\n");
  const b = right.split("\n");
  const start = commonLines(a, b);
  const end = commonLines(a.slice(start).reverse(), b.slice(start).reverse());
  const [leftRest, rightRest] = [a, b].map((lines) => lines.slice(start, lines.length - end));
  const isWhole = leftRest.length <= MOST_LINES && rightRest.length <= MOST_LINES;
  return cutEqual([
    ...a.slice(0, start).map(same),
    ...alignLines(leftRest.slice(0, MOST_LINES), rightRest.slice(0, MOST_LINES)),
    ...(isWhole
      ? a.slice(a.length - end).map(same)
      : [cut(`not compared: ${beyond(a, start)} more lines of −, ${beyond(b, start)} of +`)]),
  ]);
}

function commonLines(a: readonly string[], b: readonly string[]): number {
  const first = a.findIndex((line, i) => i >= b.length || line !== b[i]);
  return first === -1 ? a.length : first;
}

const cut = (line: string): Piece => ({ kind: "cut", line });
const same = (line: string): Piece => ({ kind: "same", line });
const beyond = (lines: string[], start: number): number =>
  Math.max(0, lines.length - start - MOST_LINES);

/** Leaves out the middle of long stretches of equal lines. */
function cutEqual(pieces: Piece[]): Piece[] {
  const shown: Piece[] = [];
  for (let i = 0; i < pieces.length;) {
    const next = pieces.findIndex(({ kind }, at) => at >= i && kind !== "same");
    const end = next === -1 ? pieces.length : next;
    const [head, tail] = [i === 0 ? 0 : NEAREST, end === pieces.length ? 0 : NEAREST];
    const left = end - i - head - tail;
    if (end - i <= MOST_EQUAL) shown.push(...pieces.slice(i, end));
    else {
      const words = cut(`${left} equal lines`);
      shown.push(...pieces.slice(i, i + head), words, ...pieces.slice(end - tail, end));
    }
    if (next !== -1) shown.push(pieces[next]);
    i = end + 1;
  }
  return shown;
}

/** Aligns lines by their longest common subsequence. */
function alignLines(a: string[], b: string[]): Piece[] {
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const pieces: Piece[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      pieces.push({ kind: "same", line: a[i] });
      i++;
      j++;
    } else if (
      i < a.length &&
      (j === b.length || common[(i + 1) * width + j] >= common[i * width + j + 1])
    ) {
      pieces.push({ kind: "left", line: a[i++] });
    } else {
      pieces.push({ kind: "right", line: b[j++] });
    }
  }
  return pieces;
}
