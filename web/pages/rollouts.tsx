/**
 * A run's rollouts: filters, the list, and one group opened with all its answers side by side. All
 * of it stands in the address, so that it can be shared and outlives a reload.
 */
import { useEffect, useState } from "preact/hooks";
import type { RolloutIndexEntry } from "../../src/core/run.js";
import { VERDICT_KINDS, type VerdictKind } from "../../src/core/verdict.js";
import { replaceAddress } from "../address.js";
import { api, queryOf } from "../api.js";
import { useInterval, useLoad } from "../load.js";
import { Content, RunHeader } from "../parts.js";
import { Table } from "../table.js";
import { VERDICTS, VerdictMark } from "../verdicts.js";
import { percent, short } from "../words.js";
import { GroupView } from "./group.js";

const PAGE = 50;
const TYPING_MS = 200;
const REFRESH_MS = 5000;

interface Filter {
  step_from: string;
  step_to: string;
  reward_from: string;
  reward_to: string;
  tokens_from: string;
  tokens_to: string;
  problem: string;
  text: string;
  verdicts: VerdictKind[];
}

const EMPTY: Filter = {
  step_from: "",
  step_to: "",
  reward_from: "",
  reward_to: "",
  tokens_from: "",
  tokens_to: "",
  problem: "",
  text: "",
  verdicts: [],
};

const filterOf = (query: URLSearchParams): Filter => ({
  ...EMPTY,
  ...Object.fromEntries(Object.keys(EMPTY).map((key) => [key, query.get(key) ?? ""])),
  verdicts: VERDICT_KINDS.filter((kind) => query.get("verdicts")?.split(",").includes(kind)),
});

const queryOfFilter = ({ verdicts, ...rest }: Filter, more: Record<string, number> = {}): string =>
  queryOf({ ...rest, verdicts: verdicts.join(","), ...more });

/** The page: the list, or the group that the address names. */
export function RolloutsPage({ run, query }: { run: string; query: URLSearchParams }) {
  const step = query.get("step");
  const group = query.get("group");
  const base = `#/run/${encodeURIComponent(run)}/rollouts`;
  return (
    <>
      <RunHeader run={run} page="rollouts" />
      {step !== null && group !== null ? (
        <>
          <p>
            <a href={`${base}?${queryOfFilter(filterOf(query))}`}>← All rollouts</a>
          </p>
          <GroupView key={`${step}/${group}`} run={run} step={Number(step)} group={Number(group)} />
        </>
      ) : (
        <RolloutList run={run} query={query} base={base} />
      )}
    </>
  );
}

function RolloutList({ run, query, base }: { run: string; query: URLSearchParams; base: string }) {
  const filter = filterOf(query);
  const skip = Number(query.get("skip") ?? 0);
  const [typed, change] = useTyped(filter, (settled) =>
    replaceAddress(`${base}?${queryOfFilter(settled)}`),
  );
  const loaded = useLoad(
    () => api.rollouts(run, { ...filter, verdicts: filter.verdicts.join(","), skip, limit: PAGE }),
    [run, query.toString()],
  );
  // Further pages would move under the reader, and looking for a text reads many files.
  useInterval(skip === 0 && filter.text === "" ? loaded.reload : null, REFRESH_MS);
  return (
    <>
      <Filters filter={typed} change={change} />
      <Content loaded={loaded}>
        {({ entries, total, searched, isPartial }) => (
          <>
            <p class="count" role="status">
              {total} rollouts
              {searched !== null && ` among ${searched} searched`}
              {isPartial && "; the search ran out of time: narrow the filter to see the rest"}
            </p>
            <RolloutTable
              entries={entries}
              addressOf={({ step, group }) => `${base}?${queryOfFilter(filter, { step, group })}`}
            />
            <Pager
              skip={skip}
              total={total}
              go={(to) => (location.hash = `${base}?${queryOfFilter(filter, { skip: to })}`)}
            />
          </>
        )}
      </Content>
    </>
  );
}

/** A filter while somebody types in it: `settle` hears of it once nobody has for a moment. */
function useTyped(
  filter: Filter,
  settle: (filter: Filter) => void,
): [typed: Filter, change: (part: Partial<Filter>) => void] {
  const [part, setPart] = useState<Partial<Filter> | null>(null);
  useEffect(() => {
    if (part === null) return undefined;
    const timer = setTimeout(() => {
      settle({ ...filter, ...part });
      setPart(null);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [part]);
  return [{ ...filter, ...part }, (more) => setPart((old) => ({ ...old, ...more }))];
}

function Filters({ filter, change }: { filter: Filter; change: (part: Partial<Filter>) => void }) {
  const number = (key: keyof Filter, label: string) => (
    <input
      inputMode="decimal"
      aria-label={label}
      placeholder={label.split(" ")[0]}
      value={filter[key] as string}
      onInput={(event) => change({ [key]: event.currentTarget.value })}
    />
  );
  const toggle = (kind: VerdictKind) =>
    change({
      verdicts: filter.verdicts.includes(kind)
        ? filter.verdicts.filter((other) => other !== kind)
        : [...filter.verdicts, kind],
    });
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filter rollouts">
      <fieldset>
        <legend>Step</legend>
        {number("step_from", "first step")}
        {number("step_to", "last step")}
      </fieldset>
      <fieldset>
        <legend>Reward</legend>
        {number("reward_from", "least reward")}
        {number("reward_to", "most reward")}
      </fieldset>
      <fieldset>
        <legend>Tokens</legend>
        {number("tokens_from", "fewest tokens")}
        {number("tokens_to", "most tokens")}
      </fieldset>
      <fieldset class="wide">
        <legend>Problem and text</legend>
        <input
          aria-label="problem id"
          placeholder="problem id"
          value={filter.problem}
          onInput={(event) => change({ problem: event.currentTarget.value })}
        />
        <input
          type="search"
          aria-label="text in the completion"
          placeholder="text in the completion"
          value={filter.text}
          onInput={(event) => change({ text: event.currentTarget.value })}
        />
      </fieldset>
      <fieldset class="wide">
        <legend>Verdict</legend>
        {VERDICT_KINDS.map((kind) => (
          <label key={kind} class={`chip verdict-${kind}`}>
            <input
              type="checkbox"
              checked={filter.verdicts.includes(kind)}
              onChange={() => toggle(kind)}
            />
            <span aria-hidden="true">{VERDICTS[kind].sign}</span> {VERDICTS[kind].label}
          </label>
        ))}
        <button type="button" class="quiet" onClick={() => change(EMPTY)}>
          Clear
        </button>
      </fieldset>
    </form>
  );
}

function RolloutTable({
  entries,
  addressOf,
}: {
  entries: RolloutIndexEntry[];
  addressOf: (entry: RolloutIndexEntry) => string;
}) {
  const open = (event: MouseEvent, entry: RolloutIndexEntry) => {
    // The link in the row goes its own way, to another tab where a key asks for that.
    const isLink = (event.target as Element).closest("a") !== null;
    if (!isLink && !event.ctrlKey && !event.metaKey) location.hash = addressOf(entry);
  };
  if (entries.length === 0) {
    return <p class="state">No rollout matches. Clear the filter, or wait for the next step.</p>;
  }
  return (
    <Table label="Rollouts" kind="rollouts" columns={COLUMNS}>
      {entries.map((entry) => (
        <tr
          key={`${entry.step}/${entry.group}/${entry.sample}`}
          onClick={(event) => open(event, entry)}
        >
          <td>{entry.step}</td>
          <th scope="row">
            <a href={addressOf(entry)}>{entry.problemId}</a>
          </th>
          <td>
            <VerdictMark kind={entry.verdict} />
          </td>
          <td class="number">{short(entry.reward)}</td>
          <td class="number">{percent(entry.passRate)}</td>
          <td class="number">{entry.responseTokens}</td>
        </tr>
      ))}
    </Table>
  );
}

const COLUMNS = ["Step", "Problem", "Verdict", "Reward", "Tests passed", "Tokens"];

function Pager({ skip, total, go }: { skip: number; total: number; go: (skip: number) => void }) {
  if (total <= PAGE) return null;
  return (
    <p class="pager">
      <button disabled={skip === 0} onClick={() => go(Math.max(0, skip - PAGE))}>
        Newer
      </button>{" "}
      {skip + 1}–{Math.min(total, skip + PAGE)} of {total}{" "}
      <button disabled={skip + PAGE >= total} onClick={() => go(skip + PAGE)}>
        Older
      </button>
    </p>
  );
}
