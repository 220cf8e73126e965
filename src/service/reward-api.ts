/**
 * `POST /reward`: veRL's `compute_score` arguments in, its dictionary out, with the same numeric
 * keys for every sample.
 *
 * A failure of our own machinery is answered 503 and never a score: the reward file decides with
 * the installed veRL how such a sample is dropped.
 */
import type { Context } from "hono";
import type { Problem } from "../core/problem.js";
import type { VerdictKind } from "../core/verdict.js";
import { parseGroundTruth } from "../formats/ground-truth.js";
import type { VerifyResult } from "../verify/verify.js";
import type { ServiceContext } from "./context.js";
import { clientOf, parseBody } from "./requests.js";
import { type RewardAnswer, type RewardBody, rewardRequestSchema } from "./schemas.js";

/** Answers a reward request. */
export async function rewardRoute(c: Context, context: ServiceContext): Promise<Response> {
  const body = await parseBody(c, rewardRequestSchema);
  const problem = problemOf(body);
  if (problem === null) return c.json(answer({ bad_problem: 1 }));
  const signal = c.req.raw.signal;
  const result = await context.queue.add({
    client: clientOf(c),
    // A trainer sends a whole batch at once and waits for all of it.
    deadlineMs: null,
    signal,
    run: () => context.verifier.verify({ completion: body.solution_str, problem, signal }),
  });
  context.metrics.judged(result);
  return c.json(answerOf(result));
}

/** Rebuilds the problem that a veRL row stands for; null when its tests cannot be read. */
function problemOf(body: RewardBody): Problem | null {
  const { ground_truth: truth, data_source: source, extra_info: extra } = body;
  const tests = parseGroundTruth(typeof truth === "string" ? truth : JSON.stringify(truth), source);
  if ("bad" in tests) return null;
  const id = extra?.["problem_id"] ?? extra?.["index"] ?? "row";
  return {
    id: String(id),
    source,
    prompt: [{ role: "user", content: "" }],
    language: "python",
    tests,
  };
}

const KIND_KEYS: Partial<Record<VerdictKind, keyof RewardAnswer>> = {
  compile_error: "compile_error",
  runtime_error: "runtime_error",
  memory_limit: "runtime_error",
  output_limit: "runtime_error",
  wrong_answer: "wrong_answer",
  time_limit: "time_limit",
  bad_problem: "bad_problem",
};

function answerOf(result: VerifyResult): RewardAnswer {
  const key = KIND_KEYS[result.verdict];
  return answer({
    score: result.reward ?? 0,
    pass_rate: result.passRate,
    format: result.extraction.format ? 1 : 0,
    passed: result.tests.filter(({ verdict }) => verdict.kind === "accepted").length,
    total: result.totalTests,
    ...(key === undefined ? {} : { [key]: 1 }),
  });
}

function answer(values: Partial<RewardAnswer>): RewardAnswer {
  return {
    score: 0,
    pass_rate: 0,
    format: 0,
    passed: 0,
    total: 0,
    compile_error: 0,
    runtime_error: 0,
    wrong_answer: 0,
    time_limit: 0,
    bad_problem: 0,
    infra_error: 0,
    ...values,
  };
}
