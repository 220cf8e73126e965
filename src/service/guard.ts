/**
 * Who may ask: a bearer token where one is set, and on loopback only requests that name loopback as
 * their host, so that no web page can reach the service by pointing its own name at 127.0.0.1.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { sendRefusal } from "./answers.js";

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[?::1\]?)$/;

/** True for names and addresses of this machine alone. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Makes the middleware. `host` is the address listened on; null for a socket or in-process use. */
export function guard({
  token,
  host,
}: {
  token: string | null;
  host: string | null;
}): MiddlewareHandler {
  return async (c, next) => {
    const asked = c.req.header("host")?.replace(/:\d+$/, "") ?? "";
    if (host !== null && isLoopback(host) && !isLoopback(asked)) {
      return sendRefusal(c, {
        status: 403,
        retryAfter: null,
        body: { error: "wrong_host", message: `expected a loopback Host header, got ${asked}` },
      });
    }
    if (
      token !== null &&
      c.req.path !== "/healthz" &&
      !isToken(c.req.header("authorization"), token)
    ) {
      c.header("www-authenticate", "Bearer");
      return sendRefusal(c, {
        status: 401,
        retryAfter: null,
        body: { error: "unauthorized", message: "expected the service's bearer token" },
      });
    }
    await next();
    return undefined;
  };
}

/** Compares digests, so that neither length nor content of the token shows in the time taken. */
function isToken(header: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(header ?? ""), digest(`Bearer ${token}`));
}
