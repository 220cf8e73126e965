/** The difference of two texts as a figure. */
import { diffLines } from "./diff-lines.js";

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
