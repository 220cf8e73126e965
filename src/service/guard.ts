/**
 * Who may ask: a bearer token where one is set, or the page's token for what the dashboard asks; on
 * loopback only requests that name loopback as their host, so that no web page can reach the
 * service by pointing its own name at 127.0.0.1; and from a browser nothing that runs code without
 * the page's token, whatever page it comes from.
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
  /**
   * Asked of browsers that want to run code; null lets no browser do so. It also opens what the
   * dashboard reads where a token is set, and nothing that other trainers ask.
   */
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
    const isPage = pageToken !== null && isToken(given, pageToken);
    // Only browsers send Origin, and no page can leave it out of a request that could run code.
    const isBrowser = c.req.header("origin") !== undefined;
    if (token !== null && !isKnown && !isOpen(c.req.method, c.req.path)) {
      const isOfPage = isPageRoute(c.req.method, c.req.path, isBrowser);
      if (!isOfPage || !isPage) {
        c.header("www-authenticate", "Bearer");
        return unauthorized(c, isOfPage ? PAGE_TOKEN : "the service's bearer token");
      }
    }
    if (c.req.method === "POST" && isBrowser && !isKnown && !isPage) {
      return unauthorized(c, PAGE_TOKEN);
    }
    await next();
    return undefined;
  };
}

const PAGE_TOKEN = "the token that the service printed with its address";

/** What the dashboard asks: the runs, and judging from its own pages. */
function isPageRoute(method: string, path: string, isBrowser: boolean): boolean {
  return method === "GET" ? path.startsWith("/api/") : path === "/verify" && isBrowser;
}

/** The state, and the dashboard's own files, which hold nothing of a run. */
function isOpen(method: string, path: string): boolean {
  return path === "/healthz" || (method === "GET" && /^\/($|assets\/|icon\.svg$)/.test(path));
}

function unauthorized(c: Context, expected: string): Response {
  return sendRefusal(c, {
    status: 401,
    retryAfter: null,
    body: { error: "unauthorized", message: `expected ${expected}` },
  });
}

/** Compares digests, so that neither length nor content of the token shows in the time taken. */
function isToken(header: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(header ?? ""), digest(`Bearer ${token}`));
}
