/**
 * One JSON request over HTTP, with a deadline of our own and every way to fail told apart.
 *
 * Node's `fetch` gives up on answers whose headers take over five minutes; a long completion is one.
 */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";

/** How a request went: an answer, or why there is none. */
export type HttpResult =
  | { kind: "answer"; status: number; headers: IncomingHttpHeaders; body: string }
  | { kind: "timeout" }
  /** Refused, reset, cut off in the middle, no such host. */
  | { kind: "connection"; reason: string };

/** What is sent. */
export interface HttpRequest {
  url: URL;
  headers: Record<string, string>;
  body: unknown;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** More than any completion; a server gone wrong must not fill the memory. */
const MAX_BODY_BYTES = 64 * 2 ** 20;

/** Node's timers hold no more; a longer one would end at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Posts JSON; never throws for what the network or the server does. */
export function postJson(asked: HttpRequest): Promise<HttpResult> {
  const payload = Buffer.from(JSON.stringify(asked.body));
  const send = asked.url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    let isTimeout = false;
    const request = send(asked.url, {
      method: "POST",
      headers: {
        ...asked.headers,
        "content-type": "application/json",
        "content-length": payload.length,
      },
      ...(asked.signal === undefined ? {} : { signal: asked.signal }),
    });
    const timer = setTimeout(
      () => {
        isTimeout = true;
        request.destroy();
      },
      Math.min(asked.timeoutMs, LONGEST_TIMER_MS),
    );
    const end = (result: HttpResult) => {
      clearTimeout(timer);
      resolve(result);
    };
    const fail = (error: Error) =>
      end(isTimeout ? { kind: "timeout" } : { kind: "connection", reason: error.message });
    request.on("error", fail);
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_BODY_BYTES) request.destroy(new Error("answer over 64 MiB"));
        else chunks.push(chunk);
      });
      response.on("error", fail);
      response.on("aborted", () =>
        fail(new Error("connection cut off in the middle of the answer")),
      );
      response.on("end", () => {
        const { statusCode = 0, headers } = response;
        end({
          kind: "answer",
          status: statusCode,
          headers,
          body: Buffer.concat(chunks).toString(),
        });
      });
    });
    request.end(payload);
  });
}

/**
 * Reads a Retry-After header: seconds, or a date. Null when absent or unreadable.
 *
 * Source: RFC 9110, section 10.2.3.
 */
export function retryAfterMs(headers: IncomingHttpHeaders, now: number): number | null {
  const value = headers["retry-after"]?.trim();
  if (value === undefined || value === "") return null;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
