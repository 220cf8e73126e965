/** Two texts line by line: what both have, what only one has. */

interface Piece {
  kind: "same" | "left" | "right";
  line: string;
}

/** Lines beyond this are not compared; the longest common subsequence takes their product. */
const MOST_LINES = 400;

/** Aligns the lines of two texts by their longest common subsequence. */
export function diffLines(left: string, right: string): Piece[] {
  const a = left.split("\n").slice(0, MOST_LINES);
  const b = right.split("\n").slice(0, MOST_LINES);
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

const SIGNS = { same: " ", left: "−", right: "+" };

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
