/** One group: the prompt, its answers side by side with their advantages, programs, tests, tokens. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Problem } from "../../src/core/problem.js";
import type { Rollout } from "../../src/core/rollout.js";
import type { VerifyResult } from "../../src/verify/verify.js";
import { api } from "../api.js";
import { useLoad } from "../load.js";
import { Content, CopyButton } from "../parts.js";
import { TestTable } from "../tests.js";
import { VerdictMark } from "../verdicts.js";
import { readPieces } from "../pieces.js";
import { shellWord, short } from "../words.js";

/** The group's page. */
export function GroupView({ run, step, group }: { run: string; step: number; group: number }) {
  const loaded = useLoad(
    () => api.rolloutsOf(run, { step_from: step, step_to: step, group }),
    [run, step, group],
  );
  return (
    <Content loaded={loaded}>
      {({ rollouts, dir }) =>
        rollouts.length === 0 ? (
          <p class="state">This group is not on disk.</p>
        ) : (
          <Group run={run} rollouts={rollouts} dir={dir} />
        )
      }
    </Content>
  );
}

function Group({ run, rollouts, dir }: { run: string; rollouts: Rollout[]; dir: string }) {
  const { problemId, prompt, step } = rollouts[0];
  const problem = useLoad(() => api.problem(run, problemId), [run, problemId]);
  return (
    <>
      <h2>
        Step {step}, {problemId}
      </h2>
      <p>
        <a
          href={`#/run/${encodeURIComponent(run)}/rollouts?problem=${encodeURIComponent(problemId)}`}
        >
          The same problem over all steps
        </a>
      </p>
      <details open>
        <summary>Prompt</summary>
        {prompt.map(({ role, content }, i) => (
          <div class="message" key={i}>
            <span class="muted">{role}</span>
            <pre tabIndex={0}>{content}</pre>
          </div>
        ))}
      </details>
      <div class={rollouts.length > 1 ? "answers" : ""}>
        {rollouts.map((rollout) => (
          <Answer
            key={rollout.sample}
            dir={dir}
            rollout={rollout}
            problem={problem.data?.problem ?? null}
          />
        ))}
      </div>
    </>
  );
}

function Answer({
  dir,
  rollout,
  problem,
}: {
  dir: string;
  rollout: Rollout;
  problem: Problem | null;
}) {
  const { sample, verdict, reward, responseTokens, finish, completion, program, advantages } =
    rollout;
  return (
    <article class="answer">
      <header>
        <h3>Answer {sample + 1}</h3>
        <VerdictMark kind={verdict} />
        <span>reward {short(reward)}</span>
        {advantages !== null && <span>advantage {short(mean(advantages))}</span>}
        <span>
          {responseTokens} tokens{finish === "length" && ", cut off"}
        </span>
      </header>
      <Completion completion={completion} program={program} />
      <Tokens rollout={rollout} />
      <Judged rollout={rollout} problem={problem}>
        <CopyButton
          text={`npx rlvr verify --rollout ${shellWord(`${dir}:${rollout.step}/${rollout.group}/${sample}`)} --explain`}
          label="Copy as command"
        />
      </Judged>
    </article>
  );
}

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The completion as written, with the program found in it marked. */
function Completion({ completion, program }: { completion: string; program: string | null }) {
  const start = program === null || program === "" ? -1 : completion.indexOf(program.trimEnd());
  if (start === -1) return <pre tabIndex={0}>{completion}</pre>;
  const end = start + (program as string).trimEnd().length;
  return (
    <pre tabIndex={0}>
      {completion.slice(0, start)}
      <mark class="program">{completion.slice(start, end)}</mark>
      {completion.slice(end)}
    </pre>
  );
}

/** Tokens coloured by log-probability (surprise) or by advantage. */
function Tokens({ rollout }: { rollout: Rollout }) {
  const [by, setBy] = useState<"logprob" | "advantage">("logprob");
  const { pieces, logprobs, advantages } = rollout;
  if (pieces === undefined || pieces.length === 0) return null;
  const values = by === "logprob" ? logprobs : (advantages ?? []);
  const most = values.reduce((max, value) => Math.max(max, Math.abs(value)), 1e-9);
  return (
    <details>
      <summary>Tokens</summary>
      <label>
        coloured by{" "}
        <select
          value={by}
          onChange={(event) => setBy(event.currentTarget.value as "logprob" | "advantage")}
        >
          <option value="logprob">surprise (log-probability)</option>
          <option value="advantage" disabled={advantages === null}>
            advantage
          </option>
        </select>
      </label>
      <p class="tokens">
        {readPieces(pieces).map((piece, i) => {
          const share = Math.abs(values[i] ?? 0) / most;
          const sign = by === "advantage" && (values[i] ?? 0) < 0 ? "negative" : "positive";
          return (
            <span
              key={i}
              class={`token ${by} ${sign} heat-${Math.round(share * 8)}`}
              title={`${by} ${short(values[i])}`}
            >
              {piece.replaceAll("\n", "⏎\n")}
            </span>
          );
        })}
      </p>
    </details>
  );
}

/** Judges the stored answer again and shows every test; the child stands beside the button. */
function Judged({
  rollout,
  problem,
  children,
}: {
  rollout: Rollout;
  problem: Problem | null;
  children: ComponentChildren;
}) {
  const [result, setResult] = useState<VerifyResult | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [isRunning, setIsRunning] = useState(false);
  const run = async () => {
    if (problem === null) return;
    setIsRunning(true);
    setError(null);
    try {
      setResult(await api.verify(problem, rollout.completion));
    } catch (refusal) {
      setError((refusal as Error).message);
    }
    setIsRunning(false);
  };
  return (
    <>
      <p>
        <button onClick={() => void run()} disabled={isRunning || problem === null}>
          {isRunning ? "Judging…" : "Run again"}
        </button>{" "}
        {children}
        {problem === null && <span class="muted"> Its problem file is not readable here.</span>}
        {error !== null && (
          <span class="error" role="alert">
            {" "}
            {error}
          </span>
        )}
      </p>
      {result !== null && problem !== null && <TestTable problem={problem} result={result} />}
    </>
  );
}
