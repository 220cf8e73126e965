/** Turning failures into HTTP answers, each with what happened and whether to try again. */
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { ConfigError, DataError, SandboxError } from "../core/errors.js";
import { QueueRefusal } from "./fair-queue.js";

/** A failure as an answer; `retryAfter` in seconds when trying again makes sense. */
export interface Refusal {
  status: ContentfulStatusCode;
  body: { error: string; message: string };
  retryAfter: number | null;
}

const QUEUE_REFUSALS: Record<QueueRefusal["reason"], Omit<Refusal, "body"> & { message: string }> =
  {
    full: { status: 429, retryAfter: 1, message: "the queue is full; try again" },
    deadline: { status: 504, retryAfter: 1, message: "no sandbox was free in time; try again" },
    closed: { status: 503, retryAfter: 5, message: "the service is shutting down" },
    aborted: { status: 400, retryAfter: null, message: "the client closed the request" },
  };

/** Says how a failure is answered; what is not of ours is a bug and answers 500. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof QueueRefusal) {
    const { message, ...rest } = QUEUE_REFUSALS[error.reason];
    return { ...rest, body: { error: error.reason, message } };
  }
  if (error instanceof ConfigError || error instanceof DataError) {
    return {
      status: 422,
      retryAfter: null,
      body: { error: "bad_request", message: error.message },
    };
  }
  if (error instanceof SandboxError) {
    return {
      status: 503,
      retryAfter: 1,
      body: { error: "sandbox_error", message: error.message },
    };
  }
  return {
    status: 500,
    retryAfter: null,
    body: { error: "bug", message: error instanceof Error ? error.message : String(error) },
  };
}

/** Sends a failure. */
export function sendRefusal(c: Context, { status, body, retryAfter }: Refusal): Response {
  if (retryAfter !== null) c.header("retry-after", String(retryAfter));
  return c.json(body, status);
}

/** Sends a refusal of the queue. */
export function sendQueueRefusal(c: Context, reason: QueueRefusal["reason"]): Response {
  return sendRefusal(c, refusalOf(new QueueRefusal(reason)));
}
