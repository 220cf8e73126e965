/**
 * `POST /reward`: veRL's `compute_score` arguments in, its dictionary out, with the same numeric
 * keys for every sample.
 *
 * A failure of our own machinery is answered 503 and never a score: the reward file decides with
 * the installed veRL how such a sample is dropped.
 */
import type { Context } from "hono";
import type { VerdictKind } from "../core/verdict.js";
import type { VerifyResult } from "../verify/verify.js";
import type { ServiceContext } from "./context.js";
import { clientOf, parseBody } from "./requests.js";
import { RewardRows } from "./reward-rows.js";
import { type RewardAnswer, rewardRequestSchema } from "./schemas.js";

/** Makes the route, which remembers the rows it has read. */
export function rewardRoute(context: ServiceContext): (c: Context) => Promise<Response> {
  const rows = new RewardRows();
  return (c) => answerReward(c, context, rows);
}

async function answerReward(
  c: Context,
  context: ServiceContext,
  rows: RewardRows,
): Promise<Response> {
  const body = await parseBody(c, rewardRequestSchema);
  const problem = rows.problemOf(body);
  if (problem === null) return c.json(answer({ bad_problem: 1 }));
  const signal = c.req.raw.signal;
  const result = await context.queue.add({
    client: clientOf(c),
    // A trainer sends a whole batch at once and waits for all of it.
    deadlineMs: null,
    signal,
    run: () =>
      context.metrics.counting(
        () => context.verifier.verify({ completion: body.solution_str, problem, signal }),
        signal,
      ),
  });
  context.metrics.judged(result);
  return c.json(answerOf(result));
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
