/**
 * Who may ask: a bearer token where one is set; on loopback only requests that name loopback as
 * their host, so that no web page can reach the service by pointing its own name at 127.0.0.1; and
 * from a browser nothing that runs code without the page's token, whatever page it comes from.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import { sendRefusal } from "./answers.js";

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[?::1\]?)$/;

/** True for names and addresses of this machine alone. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Whom a service lets in. */
export interface GuardOptions {
  /** Asked of everyone but for /healthz; null asks nobody. */
  token: string | null;
  /** Asked of browsers that want to run code; null lets no browser do so. */
  pageToken: string | null;
  /** The address listened on; null for a socket or in-process use. */
  host: string | null;
}

/** Makes the middleware. */
export function guard({ token, pageToken, host }: GuardOptions): MiddlewareHandler {
  return async (c, next) => {
    const asked = c.req.header("host")?.replace(/:\d+$/, "") ?? "";
    if (host !== null && isLoopback(host) && !isLoopback(asked)) {
      return sendRefusal(c, {
        status: 403,
        retryAfter: null,
        body: { error: "wrong_host", message: `expected a loopback Host header, got ${asked}` },
      });
    }
    const given = c.req.header("authorization");
    const isKnown = token !== null && isToken(given, token);
    if (token !== null && !isKnown && !isOpen(c.req.method, c.req.path)) {
      c.header("www-authenticate", "Bearer");
      return unauthorized(c, "expected the service's bearer token");
    }
    // Only browsers send Origin, and no page can leave it out of a request that could run code.
    const isBrowser = c.req.header("origin") !== undefined;
    if (c.req.method === "POST" && isBrowser && !isKnown) {
      if (pageToken === null || !isToken(given, pageToken)) {
        return unauthorized(c, "expected the token that the service printed with its address");
      }
    }
    await next();
    return undefined;
  };
}

/** The state, and the dashboard's own files, which hold nothing of a run. */
function isOpen(method: string, path: string): boolean {
  return path === "/healthz" || (method === "GET" && /^\/($|assets\/|icon\.svg$)/.test(path));
}

function unauthorized(c: Context, message: string): Response {
  return sendRefusal(c, {
    status: 401,
    retryAfter: null,
    body: { error: "unauthorized", message },
  });
}

/** Compares digests, so that neither length nor content of the token shows in the time taken. */
function isToken(header: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(header ?? ""), digest(`Bearer ${token}`));
}
