/** Health in words: what was seen, why it matters, what to do; the newest of each rule. */
import type { HealthEvent } from "../src/core/run.js";
import { short } from "./words.js";

/** The panel; silent runs say so. */
export function HealthPanel({ events }: { events: HealthEvent[] }) {
  const newest = new Map<string, { event: HealthEvent; count: number }>();
  for (const event of events) {
    newest.set(event.rule, { event, count: (newest.get(event.rule)?.count ?? 0) + 1 });
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
        {[...newest.values()].map(({ event, count }) => (
          <li key={event.rule} class={`level-${event.severity}`}>
            <strong>
              <span aria-hidden="true">⚠</span> {event.title}
            </strong>{" "}
            <span class="muted">
              {event.severity}, step {event.step}
              {count > 1 && `, ${count} times`} · {event.metric} {short(event.value)}
            </span>
            <p>{event.evidence}</p>
            <p class="advice">{event.advice}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
