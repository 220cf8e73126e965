/** Two made-up evaluations and a made-up run, for tests of the report and for looking at it. */
import { mkdir, writeFile } from "node:fs/promises";
import type { EvalSample, Evaluation } from "../../src/core/evaluation.js";
import type { Problem } from "../../src/core/problem.js";
import { randomStream } from "../../src/core/random.js";
import { appendLine, runPaths, writeRunInfo } from "../../src/core/run.js";
import { VERDICT_KINDS, type VerdictKind } from "../../src/core/verdict.js";
import { evaluate } from "../../src/eval/evaluate.js";
import type { EvaluateSettings } from "../../src/eval/evaluate.js";
import { FakeCompleter, FakeVerifier, problemsOf, settingsOf } from "../eval/fakes.js";

/** Evaluates a made-up model that is right with a chance that depends on the problem. */
export async function sampleEvaluation(
  name: string,
  skill: number,
  changes: Partial<EvaluateSettings> & { problems?: Problem[] } = {},
): Promise<Evaluation> {
  const { problems = problemsOf(60), ...settings } = changes;
  const completer = new FakeCompleter(({ problemId, sample }) => {
    const draw = randomStream(1, problemId, sample).next();
    return draw < skill
      ? `# right\nprint("<${problemId}>")\n`
      : draw > 0.95
        ? ""
        : `print(1) # ${name}`;
  });
  completer.identity = `fake:${name}`;
  const evaluation = await evaluate({
    completer,
    problems,
    verifier: new FakeVerifier(),
    settings: settingsOf({ name, temperature: 1, ...settings }),
  });
  return evaluation;
}

/** Replaces samples' verdicts, for states that the fakes do not reach. */
export function withSamples(
  evaluation: Evaluation,
  change: (sample: EvalSample, index: number) => Partial<EvalSample>,
): Evaluation {
  const samples = evaluation.samples.map((sample, i) => ({ ...sample, ...change(sample, i) }));
  return { ...evaluation, samples };
}

/** Writes a run directory with the metrics of a run that learns. */
export async function sampleRun(dir: string, steps = 40): Promise<string> {
  await mkdir(dir, { recursive: true });
  await writeRunInfo(dir, {
    format: 1,
    name: "sample",
    preset: "starter",
    engine: "embedded",
    seed: 42,
    startedAt: "2026-01-01T00:00:00.000Z",
    version: "0.1.0",
    isolation: "basic",
    totalSteps: steps,
    status: "finished",
    pid: null,
  });
  await writeFile(runPaths(dir).metrics, "");
  for (let step = 0; step < steps; step++) {
    const noise = randomStream(7, step);
    const grown = 1 / (1 + Math.exp(-(step - steps / 3) / 4));
    const jitter = () => 0.03 * noise.normal();
    const passRate = Math.max(0, Math.min(1, 0.14 + 0.5 * grown + jitter()));
    const format = Math.max(
      0,
      Math.min(1, 0.5 + 0.49 / (1 + Math.exp(-(step - 6) / 2)) + jitter()),
    );
    const shares: Partial<Record<VerdictKind, number>> = {
      accepted: passRate,
      wrong_answer: (format - passRate) * 0.6,
      runtime_error: (format - passRate) * 0.3,
      compile_error: (format - passRate) * 0.1,
      no_program: 1 - format,
    };
    const metrics: Record<string, number> = {
      "reward/pass_rate": passRate,
      "reward/format": format,
      "response_length/mean": 40 + 12 * grown + 5 * jitter(),
      kl: 0.02 * grown + 0.001 * Math.abs(jitter()),
      "actor/entropy": 0.5 - 0.3 * grown + 0.2 * jitter(),
    };
    for (const kind of VERDICT_KINDS) {
      if (shares[kind] !== undefined) metrics[`verdict/${kind}`] = Math.max(0, shares[kind]);
    }
    appendLine(runPaths(dir).metrics, { step, phase: "train", time: step, metrics });
    if (step % 10 === 0) {
      const val = { "reward/pass_rate": passRate - 0.02, "reward/format": format };
      appendLine(runPaths(dir).metrics, { step, phase: "val", time: step, metrics: val });
    }
  }
  return dir;
}
