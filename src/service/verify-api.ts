/** `POST /verify`: completions in, verdicts and rewards out, at once or as a stream of lines. */
import type { Context } from "hono";
import { stream } from "hono/streaming";
import { ConfigError } from "../core/errors.js";
import type { Problem } from "../core/problem.js";
import type { VerifyResult } from "../verify/verify.js";
import { refusalOf, sendQueueRefusal, sendRefusal } from "./answers.js";
import type { ServiceContext } from "./context.js";
import { clientOf, parseBody } from "./requests.js";
import { type VerifyBody, verifyRequestSchema } from "./schemas.js";

interface Item {
  problem: Problem;
  completion: string;
}

/** Answers a verify request. */
export async function verifyRoute(c: Context, context: ServiceContext): Promise<Response> {
  const body = await parseBody(c, verifyRequestSchema);
  const items = itemsOf(body);
  const { most } = context.queue;
  if (items.length > most) {
    const message =
      `body: expected at most ${most} completions in one request, got ${items.length}; ` +
      "send fewer at once, or start the service with a larger --queue";
    return sendRefusal(c, { status: 413, retryAfter: null, body: { error: "too_many", message } });
  }
  if (!context.queue.hasRoomFor(items.length)) {
    return sendQueueRefusal(c, context.isDraining() ? "closed" : "full");
  }
  const judge = judgeWith(c, context, body.options ?? {});
  if (body.stream === true) return streamResults(c, items, judge);
  const results = await Promise.all(items.map(judge));
  return c.json(body.completion === undefined ? { results } : results[0]);
}

type Judge = (item: Item) => Promise<VerifyResult>;

function judgeWith(
  c: Context,
  context: ServiceContext,
  options: NonNullable<VerifyBody["options"]>,
): Judge {
  const signal = c.req.raw.signal;
  const client = clientOf(c);
  return ({ problem, completion }) =>
    context.queue.add({
      client,
      deadlineMs: options.deadline_ms ?? context.options.deadlineMs,
      signal,
      run: async () => {
        const request = {
          completion,
          problem,
          signal,
          ...(options.max_tests === undefined ? {} : { maxTests: options.max_tests }),
        };
        const result = await context.metrics.counting(
          () => context.verifier.verify(request),
          signal,
        );
        context.metrics.judged(result);
        return result;
      },
    });
}

/** One line per item as it is judged, in the order of ending; `index` says which item. */
function streamResults(c: Context, items: Item[], judge: Judge): Response {
  c.header("content-type", "application/x-ndjson");
  return stream(c, async (output) => {
    await Promise.all(
      items.map(async (item, index) => {
        const line = await judge(item).then(
          (result) => ({ index, result }),
          (error: unknown) => ({ index, error: refusalOf(error).body }),
        );
        await output.write(`${JSON.stringify(line)}\n`);
      }),
    );
  });
}

function itemsOf(body: VerifyBody): Item[] {
  const { problem, completion, completions, items } = body;
  const forms = [completion, completions, items].filter((form) => form !== undefined);
  if (forms.length !== 1) {
    throw new ConfigError(
      `body: expected exactly one of completion, completions and items, got ${forms.length}`,
    );
  }
  if (items !== undefined) return namedItems(items, body.problems ?? []);
  if (problem === undefined) throw new ConfigError("body.problem: expected a problem, got none");
  return (completions ?? [completion as string]).map((text) => ({ problem, completion: text }));
}

function namedItems(items: NonNullable<VerifyBody["items"]>, problems: Problem[]): Item[] {
  const byId = new Map(problems.map((problem) => [problem.id, problem]));
  return items.map(({ problem, problem_id: id, completion }, index) => {
    const found = problem ?? (id === undefined ? undefined : byId.get(id));
    if (found === undefined) {
      throw new ConfigError(
        `body.items[${index}]: expected a problem, or a problem_id of body.problems, got ${id ?? "neither"}`,
      );
    }
    return { problem: found, completion };
  });
}
