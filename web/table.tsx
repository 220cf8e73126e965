/** The frame of every table: scrolls sideways by itself, says what it is, names its columns. */
import type { ComponentChildren } from "preact";

/** A table; the rows are its children. */
export function Table({
  label,
  kind,
  columns,
  children,
}: {
  label: string;
  /** Class of the table, where its look differs. */
  kind?: string;
  columns: ComponentChildren[];
  children: ComponentChildren;
}) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table class={kind}>
        <thead>
          <tr>
            {columns.map((column, i) => (
              <th scope="col" key={i}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
