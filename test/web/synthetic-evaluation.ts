/** Writes an evaluation as `rlvr eval` leaves it, with the programs that a test wants in it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EvalSample, EvaluationInfo } from "../../src/core/evaluation.js";
import { runPaths } from "../../src/core/run.js";

/** Writes it under the run's `eval/name`; each program is right or wrong as it is said to be. */
export function writeSyntheticEvaluation(
  runDir: string,
  name: string,
  answers: { problemId: string; program: string; isRight: boolean }[],
): void {
  const dir = join(runPaths(runDir).eval, name);
  mkdirSync(dir, { recursive: true });
  const right = answers.filter(({ isRight }) => isRight).length;
  const info: EvaluationInfo = {
    format: 1,
    name,
    model: { kind: "local", name: "model", identity: "sha256:0" },
    settings: {
      ...{ benchmark: "held-out", style: "chat", promptHash: "p", problemsHash: "q" },
      ...{ extract: "verifier", n: 1, temperature: 1, topP: 1, topK: null, maxTokens: 72 },
      ...{ stop: [], limits: null, limit: null, window: null, seed: 42, extraBody: {} },
    },
    status: "complete",
    startedAt: "2026-01-01T00:00:00.000Z",
    version: "0.1.0",
    isolation: "full",
    problems: answers.length,
    samples: answers.length,
    missing: 0,
    passAtK: { "1": right / answers.length },
    passAt1Interval: { low: 0, high: 1 },
    passRate: right / answers.length,
    formatRate: 1,
    strictAt1: null,
    verdicts: { accepted: right, wrong_answer: answers.length - right },
    truncated: 0,
    noProgram: 0,
    groups: {},
    tokens: { prompt: 9, completion: 9 },
    wallMs: 1,
    faults: {},
    lastFault: null,
  };
  const samples = answers.map(({ problemId, program, isRight }): EvalSample => {
    const verdict: EvalSample["verdict"] = isRight ? "accepted" : "wrong_answer";
    return {
      ...{ problemId, sample: 0, key: "k", judge: "j", program, format: true },
      ...{ completion: `\`\`\`python\n${program}\n\`\`\``, finish: "stop" as const },
      ...{ promptTokens: 9, completionTokens: 9, verdicts: [verdict], verdict },
      ...{ passRate: Number(isRight), strict: null, trust: "strong" as const, tags: {} },
    };
  });
  writeFileSync(join(dir, "eval.json"), JSON.stringify(info));
  writeFileSync(join(dir, "results.jsonl"), samples.map((s) => JSON.stringify(s) + "\n").join(""));
}
