/** Two texts line by line: what both have, what only one has, from near where they differ first. */

interface Piece {
  /** `cut`: lines left out, in words. */
  kind: "same" | "left" | "right" | "cut";
  line: string;
}

/** Lines beyond this are not compared; the longest common subsequence takes their product. */
const MOST_LINES = 400;
/** Equal lines before the first or after the last difference: so many are shown whole, else the nearest. */
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
  return [
    ...beginning(a.slice(0, start)),
    ...alignLines(leftRest.slice(0, MOST_LINES), rightRest.slice(0, MOST_LINES)),
    ...(isWhole
      ? ending(a.slice(a.length - end))
      : [cut(`not compared: ${beyond(a, start)} more lines of −, ${beyond(b, start)} of +`)]),
  ];
}

function commonLines(a: readonly string[], b: readonly string[]): number {
  const first = a.findIndex((line, i) => i >= b.length || line !== b[i]);
  return first === -1 ? a.length : first;
}

const cut = (line: string): Piece => ({ kind: "cut", line });
const same = (line: string): Piece => ({ kind: "same", line });
const beyond = (lines: string[], start: number): number =>
  Math.max(0, lines.length - start - MOST_LINES);

function beginning(lines: string[]): Piece[] {
  if (lines.length <= MOST_EQUAL) return lines.map(same);
  const left = lines.length - NEAREST;
  return [cut(`${left} equal lines`), ...lines.slice(left).map(same)];
}

function ending(lines: string[]): Piece[] {
  if (lines.length <= MOST_EQUAL) return lines.map(same);
  return [...lines.slice(0, NEAREST).map(same), cut(`${lines.length - NEAREST} equal lines`)];
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

const SIGNS = { same: " ", left: "−", right: "+", cut: "⋮" };

/** The difference of two texts; `names` says what − and + stand for. */
export function Diff({
  left,
  right,
  names,
}: {
  left: string;
  right: string;
  names: [string, string];
}) {
  return (
    <figure class="diff">
      <figcaption>
        <span class="left">− {names[0]}</span> <span class="right">+ {names[1]}</span>
      </figcaption>
      <pre tabIndex={0}>
        {diffLines(left, right).map(({ kind, line }) => (
          <div class={kind}>
            <span aria-hidden="true">{SIGNS[kind]} </span>
            {line === "" ? " " : line}
          </div>
        ))}
      </pre>
    </figure>
  );
}
