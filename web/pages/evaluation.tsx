/** Before and after: scores side by side, and which problems were gained and lost, with programs. */
import { useState } from "preact/hooks";
import type { RunEvaluation, ShownPair, ShownSide } from "../../src/report/run-evaluations.js";
import { api } from "../api.js";
import { Diff } from "../diff.js";
import { useLoad } from "../load.js";
import { Content, RunHeader } from "../parts.js";
import { Table } from "../table.js";
import { VerdictMark } from "../verdicts.js";
import { percent } from "../words.js";

/** The page of a run's evaluations. */
export function EvaluationPage({ run }: { run: string }) {
  const loaded = useLoad(() => api.evaluations(run), [run]);
  return (
    <>
      <RunHeader run={run} page="evaluation" />
      <Content loaded={loaded}>
        {({ evaluations, problems }) => (
          <>
            {problems.map((problem) => (
              <p class="problem" key={problem}>
                {problem}
              </p>
            ))}
            {evaluations.length === 0 ? (
              <p class="state">
                Not evaluated yet. <code>rlvr train</code> evaluates before and after; so does{" "}
                <code>rlvr eval</code>.
              </p>
            ) : (
              <Evaluations run={run} evaluations={evaluations} />
            )}
          </>
        )}
      </Content>
    </>
  );
}

function Evaluations({ run, evaluations }: { run: string; evaluations: RunEvaluation[] }) {
  const names = evaluations.map(({ name }) => name);
  const [left, setLeft] = useState(names.find((name) => name.startsWith("before")) ?? names[0]);
  const [right, setRight] = useState(
    names.find((name) => name.startsWith("after")) ?? (names.at(-1) as string),
  );
  return (
    <>
      <Scores evaluations={evaluations} />
      {evaluations.length > 1 && (
        <>
          <h2>Problem by problem</h2>
          <p>
            <Choice label="before" names={names} value={left} choose={setLeft} /> →{" "}
            <Choice label="after" names={names} value={right} choose={setRight} />
          </p>
          <Paired run={run} before={left} after={right} />
        </>
      )}
    </>
  );
}

function Scores({ evaluations }: { evaluations: RunEvaluation[] }) {
  return (
    <Table label="Scores" columns={COLUMNS}>
      {evaluations.map(({ name, info }) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td class="number">
            <Bar share={info.passAtK["1"] ?? 0} /> {percent(info.passAtK["1"])}
          </td>
          <td class="number">
            {percent(info.passAt1Interval.low)} – {percent(info.passAt1Interval.high)}
          </td>
          <td class="number">{percent(info.passRate)}</td>
          <td class="number">{percent(info.formatRate)}</td>
          <td class="number">{info.truncated}</td>
          <td class="number">{info.problems}</td>
          <td>{info.settings.benchmark}</td>
          <td class="number">{info.settings.temperature}</td>
        </tr>
      ))}
    </Table>
  );
}

const COLUMNS = [
  ...["Evaluation", "pass@1", "95 %", "Tests passed", "Format", "Cut off"],
  ...["Problems", "Benchmark", "Temperature"],
];

function Bar({ share }: { share: number }) {
  return <progress class="bar" value={share} max={1} aria-hidden="true" />;
}

function Choice({
  label,
  names,
  value,
  choose,
}: {
  label: string;
  names: string[];
  value: string;
  choose: (name: string) => void;
}) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {names.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

const OUTCOMES: readonly ShownPair["outcome"][] = ["gained", "lost", "both", "neither"];

function Paired({ run, before, after }: { run: string; before: string; after: string }) {
  const loaded = useLoad(() => api.pairs(run, { before, after }), [run, before, after]);
  return <Content loaded={loaded}>{({ pairs }) => <Pairs pairs={pairs} />}</Content>;
}

function Pairs({ pairs }: { pairs: ShownPair[] }) {
  const [outcome, setOutcome] = useState<ShownPair["outcome"]>("gained");
  return (
    <>
      <div role="group" aria-label="Problems">
        <ul class="tabs">
          {OUTCOMES.map((one) => (
            <li key={one}>
              <button aria-pressed={one === outcome} onClick={() => setOutcome(one)}>
                {one} {pairs.filter((pair) => pair.outcome === one).length}
              </button>
            </li>
          ))}
        </ul>
      </div>
      {pairs
        .filter((pair) => pair.outcome === outcome)
        .slice(0, 200)
        .map(({ problemId, before, after }) => (
          <details key={problemId}>
            <summary>
              {problemId} <Side side={before} /> → <Side side={after} />
            </summary>
            <Diff left={textOf(before)} right={textOf(after)} names={["before", "after"]} />
          </details>
        ))}
    </>
  );
}

/** The verdict of the one sample there is, or how many of several are right. */
function Side({ side }: { side: ShownSide }) {
  if (side.samples === 1) return <VerdictMark kind={side.shown.verdict} />;
  return (
    <>
      {side.right} of {side.samples} right
    </>
  );
}

const textOf = ({ shown }: ShownSide) => (shown.program ?? shown.completion).trimEnd();
