/**
 * The HTTP service: the verifier, and the run directories, for other trainers and the dashboard.
 *
 * Routes are thin: parse, call a room, answer. One bounded, fair queue stands before the sandbox;
 * what it cannot take is refused with a status that says whether to try again.
 */
import { rmSync, statSync } from "node:fs";
import type { Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { ConfigError } from "../core/errors.js";
import { VERSION } from "../core/version.js";
import type { Sandbox } from "../verify/sandbox.js";
import type { Verifier } from "../verify/verify.js";
import { refusalOf, sendRefusal } from "./answers.js";
import type { ServiceContext, ServiceOptions } from "./context.js";
import { FairQueue } from "./fair-queue.js";
import { guard, isLoopback } from "./guard.js";
import { createServiceMetrics } from "./metrics.js";
import { openApiDocument } from "./openapi.js";
import { rewardRoute } from "./reward-api.js";
import { runCodeRoute } from "./run-code-api.js";
import { verifyRoute } from "./verify-api.js";

/** Connections the kernel holds for us; veRL opens one per test, hundreds at once. */
const BACKLOG = 4096;
/** A request whose body has not arrived by then is a slow or dead client. */
const REQUEST_TIMEOUT_MS = 60_000;
/** Node looks this often for requests that are late. */
const TIMEOUT_CHECK_MS = 2000;
const IDLE_CHECK_MS = 20;
/** Longest time after the last accepted job for its answer to reach a slow client. */
const CLOSE_GRACE_MS = 5000;

/** Where a service listens. */
export type Listen = { host: string; port: number } | { socket: string };

/** A service that listens. */
export interface RunningService {
  /** Base URL that this machine can open, or `unix:PATH`. */
  url: string;
  /** Refuses what is new, finishes what was accepted, then closes. */
  close(): Promise<void>;
}

/** Extra routes mounted beside the verifier's, such as the dashboard's. */
export type MoreRoutes = (app: Hono, context: ServiceContext) => void;

/**
 * Starts the service on a verifier and its sandbox, which stay the caller's to close.
 *
 * @throws {ConfigError} when the address is taken, or not loopback and no token is set.
 */
export async function startService(
  parts: { verifier: Verifier; sandbox: Sandbox; options: ServiceOptions; routes?: MoreRoutes },
  listen: Listen,
): Promise<RunningService> {
  if ("host" in listen && !isLoopback(listen.host) && parts.options.token === null) {
    throw new ConfigError(
      `serve: expected a token when listening on ${listen.host}, which others can reach; set --token`,
    );
  }
  const { app, context, drain } = createApp(parts, "host" in listen ? listen.host : null);
  parts.routes?.(app, context);
  const requestTimeout = parts.options.bodyTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const server = createAdaptorServer({
    fetch: app.fetch,
    serverOptions: {
      requestTimeout,
      // Node takes the longer of the two for the whole request.
      headersTimeout: requestTimeout,
      keepAliveTimeout: 30_000,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    },
  }) as Server;
  if ("socket" in listen) await removeDeadSocket(listen.socket);
  await bind(server, listen);
  const url = "socket" in listen ? `unix:${listen.socket}` : urlOf(server, listen.host);
  return {
    url,
    close: async () => {
      await drain();
      await closeServer(server);
      if ("socket" in listen) rmSync(listen.socket, { force: true });
    },
  };
}

/** Builds the routes without listening; tests call them in process. */
export function createApp(
  { verifier, sandbox, options }: { verifier: Verifier; sandbox: Sandbox; options: ServiceOptions },
  host: string | null,
): { app: Hono; context: ServiceContext; drain: () => Promise<void> } {
  const queue = new FairQueue({
    concurrency: options.concurrency,
    capacity: options.queueCapacity,
  });
  let isDraining = false;
  const context: ServiceContext = {
    verifier,
    sandbox,
    queue,
    options,
    metrics: createServiceMetrics(() => queue.load),
    isDraining: () => isDraining,
  };
  const app = new Hono();
  app.onError((error, c) => sendRefusal(c, refusalOf(error)));
  app.use(async (c, next) => {
    const start = performance.now();
    await next();
    // Else a client's next request may meet a closed door.
    if (isDraining) c.header("connection", "close");
    const seconds = (performance.now() - start) / 1000;
    context.metrics.answered(c.req.routePath, c.res.status, seconds);
  });
  app.use(guard({ token: options.token, pageToken: options.pageToken, host }));
  app.use(
    bodyLimit({
      maxSize: options.maxBodyBytes,
      onError: (c) =>
        sendRefusal(c, {
          status: 413,
          retryAfter: null,
          body: {
            error: "too_large",
            message: `bodies are limited to ${options.maxBodyBytes} bytes`,
          },
        }),
    }),
  );
  app.post("/verify", (c) => verifyRoute(c, context));
  app.post("/run_code", (c) => runCodeRoute(c, context));
  app.post("/reward", rewardRoute(context));
  app.get("/healthz", (c) =>
    c.json({
      status: isDraining ? "draining" : "ok",
      version: VERSION,
      isolation: verifier.level,
      settings: options.settings ?? null,
      ...queue.load,
    }),
  );
  app.get("/metrics", async (c) => c.text(await context.metrics.text()));
  app.get("/openapi.json", (c) => c.json(openApiDocument()));
  const drain = async () => {
    isDraining = true;
    await queue.drain();
  };
  return { app, context, drain };
}

/** Stops listening and lets answers on their way out finish; idle and half-sent connections go. */
async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const grace = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  server.closeIdleConnections();
  await closed;
  clearInterval(idle);
  clearTimeout(grace);
}

/** A service that was killed leaves its socket behind, which nobody answers. */
async function removeDeadSocket(path: string): Promise<void> {
  const probe = connect(path);
  const isDead = await new Promise<boolean>((resolve) => {
    probe.once("connect", () => resolve(false));
    // A file that is no socket answers the same, and is nobody's to remove.
    probe.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ECONNREFUSED"));
  });
  probe.destroy();
  if (isDead && statSync(path).isSocket()) rmSync(path, { force: true });
}

function bind(server: Server, listen: Listen): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const place = "socket" in listen ? listen.socket : `${listen.host}:${listen.port}`;
      reject(new ConfigError(`serve: cannot listen on ${place}: ${cause.message}`, { cause }));
    });
    const address =
      "socket" in listen ? { path: listen.socket } : { host: listen.host, port: listen.port };
    server.listen({ ...address, backlog: BACKLOG }, resolve);
  });
}

/** No browser opens the address that stands for all of them; loopback is one of them. */
const LOOPBACK_OF_ALL: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** True for an address that stands for all of this machine's. */
export const isEveryAddress = (host: string): boolean => Object.hasOwn(LOOPBACK_OF_ALL, host);

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  const name = LOOPBACK_OF_ALL[host] ?? host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
