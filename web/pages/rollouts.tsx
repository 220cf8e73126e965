/** A run's rollouts: filters, the list, and one group opened with all its answers side by side. */
import { useCallback, useEffect, useState } from "preact/hooks";
import type { RolloutIndexEntry } from "../../src/core/run.js";
import { VERDICT_KINDS, type VerdictKind } from "../../src/core/verdict.js";
import { api } from "../api.js";
import { useLoad } from "../load.js";
import { Content, RunHeader } from "../parts.js";
import { Table } from "../table.js";
import { VERDICTS, VerdictMark } from "../verdicts.js";
import { percent, short } from "../words.js";
import { GroupView } from "./group.js";

const PAGE = 50;
const TYPING_MS = 200;

interface Filter {
  step_from: string;
  step_to: string;
  group: string;
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
  group: "",
  reward_from: "",
  reward_to: "",
  tokens_from: "",
  tokens_to: "",
  problem: "",
  text: "",
  verdicts: [],
};

/** The page; the opened group stands in the address, so that it can be shared. */
export function RolloutsPage({ run, query }: { run: string; query: URLSearchParams }) {
  const [filter, setFilter] = useState<Filter>({ ...EMPTY, problem: query.get("problem") ?? "" });
  const [skip, setSkip] = useState(0);
  const settled = useSettled(filter);
  const loaded = useLoad(
    () =>
      api.rollouts(run, { ...settled, verdicts: settled.verdicts.join(","), skip, limit: PAGE }),
    [run, JSON.stringify(settled), skip],
  );
  const change = (part: Partial<Filter>) => {
    setSkip(0);
    setFilter((old) => ({ ...old, ...part }));
  };
  const step = query.get("step");
  const group = query.get("group");
  const base = `#/run/${encodeURIComponent(run)}/rollouts`;
  return (
    <>
      <RunHeader run={run} page="rollouts" />
      {step !== null && group !== null ? (
        <>
          <p>
            <a href={base}>← All rollouts</a>
          </p>
          <GroupView key={`${step}/${group}`} run={run} step={Number(step)} group={Number(group)} />
        </>
      ) : (
        <>
          <Filters filter={filter} change={change} />
          <Content loaded={loaded}>
            {({ entries, total, searched, isPartial }) => (
              <>
                <p class="count" role="status">
                  {total} rollouts
                  {searched !== null && ` among ${searched} searched`}
                  {isPartial && "; the search ran out of time: narrow the filter to see the rest"}
                </p>
                <RolloutTable entries={entries} base={base} />
                <Pager skip={skip} total={total} go={setSkip} />
              </>
            )}
          </Content>
        </>
      )}
    </>
  );
}

/** The value once nobody has typed for a moment. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
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

function RolloutTable({ entries, base }: { entries: RolloutIndexEntry[]; base: string }) {
  const open = useCallback(
    ({ step, group }: RolloutIndexEntry) => {
      location.hash = `${base.slice(1)}?step=${step}&group=${group}`;
    },
    [base],
  );
  if (entries.length === 0) {
    return <p class="state">No rollout matches. Clear the filter, or wait for the next step.</p>;
  }
  return (
    <Table label="Rollouts" kind="rollouts" columns={COLUMNS}>
      {entries.map((entry) => (
        <tr key={`${entry.step}/${entry.group}/${entry.sample}`} onClick={() => open(entry)}>
          <td>{entry.step}</td>
          <th scope="row">
            <a href={`${base}?step=${entry.step}&group=${entry.group}`}>{entry.problemId}</a>
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
