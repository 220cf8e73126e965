/** Several runs over each other, one chart a metric. */
import { useState } from "preact/hooks";
import { api } from "../api.js";
import { Chart } from "../chart.js";
import { useLoad } from "../load.js";
import { Content } from "../parts.js";

const METRICS = [
  ["reward/pass_rate", "Pass rate"],
  ["reward/format", "Format rate"],
  ["kl", "KL to the reference"],
  ["response_length/mean", "Response length"],
] as const;

/** Charts of the chosen runs over a common axis of steps. */
export function Compare({ runs }: { runs: string[] }) {
  const names = METRICS.map(([name]) => name).join(",");
  const [range, setRange] = useState<[number, number] | null>(null);
  const [from, to] = range ?? [];
  const loaded = useLoad(
    () => Promise.all(runs.map((run) => api.series(run, { names, from, to, points: 400 }))),
    [runs.join("\n"), from, to],
  );
  return (
    <section aria-label="Comparison">
      <h2>Comparison of {runs.length} runs</h2>
      <p>
        <button disabled={range === null} onClick={() => setRange(null)}>
          Whole runs
        </button>
      </p>
      <Content loaded={loaded}>
        {(answers) => {
          const x = [...new Set(answers.flatMap(({ steps }) => steps))].sort((a, b) => a - b);
          return (
            <div class="charts">
              {METRICS.map(([name, title]) => (
                <Chart
                  key={name}
                  title={title}
                  hint={name}
                  x={x}
                  series={answers.map(({ steps, series }, i) => {
                    const values = new Map(steps.map((step, at) => [step, series[name].mean[at]]));
                    return {
                      label: runs[i] ?? "",
                      color: `series-${(i % 6) + 1}`,
                      values: x.map((step) => values.get(step) ?? null),
                    };
                  })}
                  isTime={false}
                  isLog={false}
                  marks={[]}
                  range={range}
                  onRange={setRange}
                />
              ))}
            </div>
          );
        }}
      </Content>
    </section>
  );
}
