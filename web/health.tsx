/** Health in words: what was seen, why it matters, what to do; the newest of each rule. */
import type { HealthEvent } from "../src/report/run-store.js";

const textOf = (event: HealthEvent, key: string): string => {
  const value = event[key];
  return value === undefined || value === null ? "" : String(value);
};

/** The panel; silent runs say so. */
export function HealthPanel({ events }: { events: HealthEvent[] }) {
  const newest = new Map<string, { event: HealthEvent; count: number }>();
  for (const event of events) {
    const rule = textOf(event, "rule");
    newest.set(rule, { event, count: (newest.get(rule)?.count ?? 0) + 1 });
  }
  if (newest.size === 0) {
    return (
      <p class="health healthy">
        <span aria-hidden="true">✓</span> Healthy: no rule has fired.
      </p>
    );
  }
  return (
    <section class="health" aria-label="Health" role="status">
      <h2>Health</h2>
      <ul>
        {[...newest].map(([rule, { event, count }]) => (
          <li key={rule} class={`level-${textOf(event, "level")}`}>
            <strong>
              <span aria-hidden="true">⚠</span> {rule.replaceAll("_", " ")}
            </strong>{" "}
            <span class="muted">
              step {textOf(event, "step")}
              {count > 1 && `, ${count} times`}
            </span>
            <p>{textOf(event, "evidence")}</p>
            <p class="advice">{textOf(event, "advice")}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
