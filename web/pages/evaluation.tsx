/** Before and after: scores side by side, and which problems were gained and lost, with programs. */
import { useState } from "preact/hooks";
import type { EvalSample } from "../../src/core/evaluation.js";
import type { RunEvaluation } from "../../src/report/run-evaluations.js";
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
              <Evaluations evaluations={evaluations} />
            )}
          </>
        )}
      </Content>
    </>
  );
}

function Evaluations({ evaluations }: { evaluations: RunEvaluation[] }) {
  const names = evaluations.map(({ name }) => name);
  const [left, setLeft] = useState(names.find((name) => name.startsWith("before")) ?? names[0]);
  const [right, setRight] = useState(
    names.find((name) => name.startsWith("after")) ?? (names.at(-1) as string),
  );
  const of = (name: string) => evaluations.find((one) => one.name === name) as RunEvaluation;
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
          <Paired left={of(left)} right={of(right)} />
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

type Fate = "gained" | "lost" | "both" | "neither";

interface Pair {
  id: string;
  fate: Fate;
  before: EvalSample;
  after: EvalSample;
}

function Paired({ left, right }: { left: RunEvaluation; right: RunEvaluation }) {
  const [fate, setFate] = useState<Fate>("gained");
  const firsts = new Map(
    right.samples.filter(({ sample }) => sample === 0).map((sample) => [sample.problemId, sample]),
  );
  const pairs = left.samples.flatMap((before): Pair[] => {
    const after = before.sample === 0 ? firsts.get(before.problemId) : undefined;
    return after === undefined
      ? []
      : [{ id: before.problemId, before, after, fate: fateOf(before, after) }];
  });
  const fates: Fate[] = ["gained", "lost", "both", "neither"];
  return (
    <>
      <div role="group" aria-label="Problems">
        <ul class="tabs">
          {fates.map((one) => (
            <li key={one}>
              <button aria-pressed={one === fate} onClick={() => setFate(one)}>
                {one} {pairs.filter((pair) => pair.fate === one).length}
              </button>
            </li>
          ))}
        </ul>
      </div>
      {pairs
        .filter((pair) => pair.fate === fate)
        .slice(0, 200)
        .map((pair) => (
          <details key={pair.id}>
            <summary>
              {pair.id} <VerdictMark kind={pair.before.verdict} /> →{" "}
              <VerdictMark kind={pair.after.verdict} />
            </summary>
            <Diff
              left={(pair.before.program ?? pair.before.completion).trimEnd()}
              right={(pair.after.program ?? pair.after.completion).trimEnd()}
              names={["before", "after"]}
            />
          </details>
        ))}
    </>
  );
}

function fateOf(before: EvalSample, after: EvalSample): Fate {
  const was = before.verdict === "accepted";
  const is = after.verdict === "accepted";
  if (was) return is ? "both" : "lost";
  return is ? "gained" : "neither";
}
