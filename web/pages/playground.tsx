/** The verifier as a page: paste a problem and an answer, see extraction, verdicts and timing. */
import { useState } from "preact/hooks";
import type { Problem } from "../../src/core/problem.js";
import type { VerifyResult } from "../../src/verify/verify.js";
import { api } from "../api.js";
import { TestTable } from "../tests.js";

const EXAMPLE_ANSWER = [
  "Read two numbers and print their sum:",
  "",
  "```python",
  "a, b = map(int, input().split())",
  "print(a + b)",
  "```",
].join("\n");

const EXAMPLE_TESTS = [
  { input: "1 2\n", output: "3\n" },
  { input: "-5 5\n", output: "0\n" },
];

/** The page. */
export function PlaygroundPage() {
  const [answer, setAnswer] = useState(EXAMPLE_ANSWER);
  const [tests, setTests] = useState(EXAMPLE_TESTS);
  const [language, setLanguage] = useState("python");
  const [state, setState] = useState<{
    result: VerifyResult | null;
    problem: Problem | null;
    error: string | null;
    isRunning: boolean;
    ms: number;
  }>({ result: null, problem: null, error: null, isRunning: false, ms: 0 });
  const judge = async () => {
    const problem: Problem = {
      id: "playground",
      source: "playground",
      prompt: [{ role: "user", content: "-" }],
      language,
      tests: { kind: "stdio", cases: tests },
    };
    setState((old) => ({ ...old, isRunning: true, error: null }));
    const start = performance.now();
    try {
      const result = await api.verify(problem, answer);
      setState({ result, problem, error: null, isRunning: false, ms: performance.now() - start });
    } catch (error) {
      setState((old) => ({ ...old, error: (error as Error).message, isRunning: false }));
    }
  };
  const change = (index: number, part: Partial<{ input: string; output: string }>) =>
    setTests((old) => old.map((test, i) => (i === index ? { ...test, ...part } : test)));
  return (
    <>
      <header class="page-header">
        <h1>Playground</h1>
        <p class="facts">The verifier that trains and evaluates, on what you paste.</p>
      </header>
      <form
        class="playground"
        onSubmit={(event) => {
          event.preventDefault();
          void judge();
        }}
      >
        <section>
          <h2>
            <label for="answer">Answer</label>
          </h2>
          <textarea
            id="answer"
            rows={14}
            spellcheck={false}
            value={answer}
            onInput={(event) => setAnswer(event.currentTarget.value)}
          />
          <p class="actions">
            <label>
              Language{" "}
              <select value={language} onChange={(event) => setLanguage(event.currentTarget.value)}>
                {["python", "cpp", "javascript", "java", "go", "rust", "bash"].map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
            <button class="primary" disabled={state.isRunning}>
              {state.isRunning ? "Judging…" : "Judge"}
            </button>
          </p>
        </section>
        <section>
          <h2>Tests</h2>
          {tests.map((test, i) => (
            <fieldset key={i}>
              <legend>Test {i + 1}</legend>
              <label>
                input
                <textarea
                  rows={2}
                  spellcheck={false}
                  value={test.input}
                  onInput={(event) => change(i, { input: event.currentTarget.value })}
                />
              </label>
              <label>
                expected output
                <textarea
                  rows={2}
                  spellcheck={false}
                  value={test.output}
                  onInput={(event) => change(i, { output: event.currentTarget.value })}
                />
              </label>
              <button
                type="button"
                class="quiet"
                disabled={tests.length === 1}
                onClick={() => setTests((old) => old.filter((_, other) => other !== i))}
              >
                Remove
              </button>
            </fieldset>
          ))}
          <button
            type="button"
            onClick={() => setTests((old) => [...old, { input: "", output: "" }])}
          >
            Add a test
          </button>
        </section>
      </form>
      {state.error !== null && (
        <p class="state error" role="alert">
          {state.error}
        </p>
      )}
      {state.result !== null && state.problem !== null && (
        <section aria-live="polite">
          <h2>
            Result <span class="muted">{Math.round(state.ms)} ms</span>
          </h2>
          <pre tabIndex={0} aria-label="Program found">
            {state.result.extraction.program ?? "no program was found"}
          </pre>
          <TestTable problem={state.problem} result={state.result} />
        </section>
      )}
    </>
  );
}
