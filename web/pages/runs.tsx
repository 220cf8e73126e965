/** All runs: state, curve in small, before and after; several can be compared. */
import { useCallback, useState } from "preact/hooks";
import type { RunSummary } from "../../src/report/run-store.js";
import { api } from "../api.js";
import { Compare } from "./compare.js";
import { useInterval, useLoad } from "../load.js";
import { Content, Sparkline, Status } from "../parts.js";
import { Table } from "../table.js";
import { ago, duration, percent } from "../words.js";

const REFRESH_MS = 5000;

/** The table of runs. */
export function RunsPage() {
  const loaded = useLoad(api.runs, []);
  useInterval(loaded.reload, REFRESH_MS);
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const toggle = useCallback(
    (name: string) =>
      setChosen((names) =>
        names.includes(name) ? names.filter((other) => other !== name) : [...names, name],
      ),
    [],
  );
  return (
    <>
      <header class="page-header">
        <h1>Runs</h1>
        <input
          type="search"
          placeholder="Search by name, preset or status"
          aria-label="Search runs"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      </header>
      <Content loaded={loaded}>
        {({ runs }) => (
          <RunTable
            runs={matching(runs, search)}
            all={runs.length}
            chosen={chosen}
            toggle={toggle}
          />
        )}
      </Content>
      {chosen.length > 1 && <Compare runs={chosen} />}
    </>
  );
}

function matching(runs: RunSummary[], search: string): RunSummary[] {
  const word = search.trim().toLowerCase();
  return runs.filter(({ name, status, info }) =>
    [name, status, info?.preset ?? ""].some((text) => text.toLowerCase().includes(word)),
  );
}

function RunTable({
  runs,
  all,
  chosen,
  toggle,
}: {
  runs: RunSummary[];
  all: number;
  chosen: string[];
  toggle: (name: string) => void;
}) {
  if (all === 0) {
    return (
      <p class="state">
        No runs here yet. Start one with <code>npx rlvr train</code> and it appears by itself.
      </p>
    );
  }
  if (runs.length === 0) return <p class="state">No run matches the search.</p>;
  return (
    <Table label="Runs" kind="runs" columns={COLUMNS}>
      {runs.map((run) => (
        <RunRow key={run.name} run={run} isChosen={chosen.includes(run.name)} toggle={toggle} />
      ))}
    </Table>
  );
}

const COLUMNS = [
  <span class="hidden">Compare</span>,
  ...["Run", "Status", "Pass rate", "Before → after", "Step", "Preset", "Time"],
];

function RunRow({
  run,
  isChosen,
  toggle,
}: {
  run: RunSummary;
  isChosen: boolean;
  toggle: (name: string) => void;
}) {
  const { name, info, status, step, updatedAt, sparkline, before, after, problems } = run;
  const started = info === null ? null : Date.parse(info.startedAt);
  return (
    <tr>
      <td>
        <input
          type="checkbox"
          checked={isChosen}
          onChange={() => toggle(name)}
          aria-label={`Compare ${name}`}
        />
      </td>
      <th scope="row">
        <a href={`#/run/${encodeURIComponent(name)}`}>{name}</a>
        {problems.map((problem) => (
          <p class="problem" key={problem}>
            {problem}
          </p>
        ))}
      </th>
      <td>
        <Status status={status} />
      </td>
      <td>
        <Sparkline
          values={sparkline}
          label={`pass rate of ${name}, now ${percent(sparkline.at(-1))}`}
        />
      </td>
      <td>{before === null ? "–" : `${percent(before)} → ${percent(after)}`}</td>
      <td>{info === null ? step : `${step} / ${info.totalSteps}`}</td>
      <td>{info?.preset ?? "–"}</td>
      <td title={info?.startedAt}>
        {started === null || updatedAt === null ? (
          "–"
        ) : status === "running" ? (
          duration(Date.now() - started)
        ) : (
          <>
            {duration(Math.max(0, updatedAt - started))}{" "}
            <span class="muted">started {ago(started)}</span>
          </>
        )}
      </td>
    </tr>
  );
}
