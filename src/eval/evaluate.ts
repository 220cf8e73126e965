/**
 * The evaluation: problems to a model, completions to the verifier, verdicts to scores.
 *
 * The verifier is the one that training uses, and every problem meets the same prompt, extraction
 * and limits before and after. What is no fault of the model (an endpoint that fails, a sandbox
 * that breaks) leaves a sample missing, and an evaluation with missing samples says so; nothing is
 * ever scored 0 for it. Everything is written as it comes, so the same call goes on where an
 * interrupted one stopped.
 */
import { mkdir, rm } from "node:fs/promises";
import {
  type EvalSample,
  type EvalSettings,
  type Evaluation,
  type EvaluationInfo,
  evaluationPaths,
} from "../core/evaluation.js";
import type { Problem } from "../core/problem.js";
import type { OnProgress } from "../core/progress.js";
import { readLines, writeAtomic } from "../core/run.js";
import type { Verifier } from "../verify/verify.js";
import type { Completer, CompleterReport, Completion, CompletionRequest } from "./completer.js";
import { type GenerationCache, generationKey, hashOf, openGenerations } from "./generations.js";
import { Judging, type Task } from "./judging.js";
import type { EvaluateSettings } from "./settings.js";
import { summarise } from "./summarise.js";

export { EVALUATE_DEFAULTS, type EvaluateSettings } from "./settings.js";

/** What decides an evaluation. */
export interface EvaluationPlan {
  completer: Completer;
  problems: readonly Problem[];
  settings: EvaluateSettings;
}

/** What `evaluate` works with. */
export interface EvaluateInput extends EvaluationPlan {
  verifier: Verifier;
  onProgress?: OnProgress;
  signal?: AbortSignal;
}

/**
 * Evaluates a model. With an output directory the result also lies there, and samples found there
 * from an earlier call with the same settings are not made again.
 */
export async function evaluate(input: EvaluateInput): Promise<Evaluation> {
  const { completer, settings } = input;
  const startedAt = new Date();
  const paths = settings.outDir === null ? null : evaluationPaths(settings.outDir);
  if (settings.outDir !== null) await mkdir(settings.outDir, { recursive: true });
  const tasks = planTasks(input);
  const cache = await openGenerations(
    paths?.generations ?? null,
    settings.reuse.map((dir) => evaluationPaths(dir).generations),
  );
  // Until this is done there is no evaluation here, whatever an earlier call left.
  if (paths !== null) await rm(paths.info, { force: true });
  const judged = await openJudged(paths?.results ?? null, tasks);
  const work = new Judging(input, tasks, judged, paths?.results ?? null);
  const report = await generate(work, cache, completer, input.signal);
  await work.finished();

  const samples = tasks.flatMap((_, index) => judged.get(index) ?? []);
  const info = summarise({
    settings,
    model: { kind: completer.kind, name: completer.name, identity: completer.identity },
    recorded: recordSettings(input),
    samples,
    expected: tasks.length,
    problems: input.problems.length,
    isolation: input.verifier.level,
    startedAt,
    faults: work.faultsWith(report),
    lastFault: report.lastFault,
  });
  if (paths !== null) await writeEvaluation(paths, info, samples);
  return { info, samples, dir: settings.outDir };
}

/** Plans the samples, in order of problems. */
export function planTasks({ problems, completer, settings }: EvaluationPlan): Task[] {
  const { style, n, maxTokens, temperature, topP, topK, seed } = settings;
  return problems.flatMap((problem) =>
    Array.from({ length: n }, (_, sample) => {
      const request: CompletionRequest = {
        problemId: problem.id,
        sample,
        prompt: problem.prompt,
        kind: style.kind,
        maxTokens,
        temperature,
        topP,
        topK,
        stop: style.stop,
        seed,
      };
      const { tests, compare, limits } = problem;
      const judge = hashOf([tests, compare, limits, style.extract, settings.limits]);
      return { problem, request, key: generationKey(completer, request), judge };
    }),
  );
}

/** Reads the samples judged by an earlier call; what belongs to other settings is left out. */
async function openJudged(
  path: string | null,
  tasks: readonly Task[],
): Promise<Map<number, EvalSample>> {
  const judged = new Map<number, EvalSample>();
  if (path === null) return judged;
  const name = (problemId: string, sample: number, key: string, judge: string) =>
    JSON.stringify([problemId, sample, key, judge]);
  const places = new Map(
    tasks.map(({ request, key, judge }, index) => [
      name(request.problemId, request.sample, key, judge),
      index,
    ]),
  );
  for (const line of await readLines<EvalSample>(path)) {
    const index = places.get(name(line.problemId, line.sample, line.key, line.judge));
    if (index !== undefined) judged.set(index, line);
  }
  // Rewritten whole, so that a line torn by a crash does not run into the next one.
  await writeAtomic(path, [...judged.values()].map((line) => JSON.stringify(line) + "\n").join(""));
  return judged;
}

/** Asks for the completions not known yet, and hands every one to the judges as it comes. */
async function generate(
  work: Judging,
  cache: GenerationCache,
  completer: Completer,
  signal: AbortSignal | undefined,
): Promise<CompleterReport> {
  // Equal keys are equal completions (greedy samples of one problem): asked for once.
  const wanted = new Map<string, number[]>();
  const judging: Promise<void>[] = [];
  for (const [index, { key }] of work.tasks.entries()) {
    if (work.judged.has(index)) continue;
    const known = cache.get(key);
    if (known !== null) judging.push(work.judge(index, known));
    else wanted.set(key, [...(wanted.get(key) ?? []), index]);
  }
  await Promise.all(judging);
  if (wanted.size === 0) return { faults: {}, lastFault: null };
  const groups = [...wanted.values()];
  const requests = groups.map((indices) => work.tasks[indices[0]].request);
  const onCompletion = async (at: number, completion: Completion) => {
    // What a file holds is in the file already.
    if (completer.kind !== "file") cache.add(work.tasks[groups[at][0]].key, completion);
    await Promise.all(groups[at].map((index) => work.judge(index, completion)));
  };
  return completer.complete(requests, onCompletion, signal);
}

/** The settings as they stand in eval.json. */
export function recordSettings({ completer, problems, settings }: EvaluationPlan): EvalSettings {
  const { style } = settings;
  return {
    benchmark: settings.benchmark,
    style: style.name,
    promptHash: hashOf([style.kind, problems.map(({ prompt }) => prompt)]),
    problemsHash: hashOf(
      problems.map(({ id, tests, compare, limits }) => [id, tests, compare, limits]),
    ),
    extract: style.extract,
    n: settings.n,
    temperature: completer.kind === "file" ? null : settings.temperature,
    topP: settings.topP,
    topK: settings.topK,
    maxTokens: settings.maxTokens,
    stop: [...style.stop],
    limits: settings.limits,
    limit: settings.limit,
    window: settings.window,
    seed: settings.seed,
    extraBody: sorted(completer.extraBody ?? {}),
  };
}

/** With its keys in one order, however they were given. */
function sorted(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function writeEvaluation(
  paths: ReturnType<typeof evaluationPaths>,
  info: EvaluationInfo,
  samples: readonly EvalSample[],
): Promise<void> {
  await writeAtomic(paths.results, samples.map((line) => JSON.stringify(line) + "\n").join(""));
  await writeAtomic(paths.info, JSON.stringify(info, null, 2) + "\n");
}
