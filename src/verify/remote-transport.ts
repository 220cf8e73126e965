/**
 * Requests to a service over TCP, TLS or a Unix socket, on connections that are kept.
 *
 * Plain node:http, because `fetch` knows no Unix sockets and stops waiting after five minutes.
 */
import {
  Agent,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { ConfigError } from "../core/errors.js";

/** What came back. */
export interface HttpAnswer {
  status: number;
  body: string;
  /** Seconds, as the header says. */
  retryAfter: string | null;
}

/** One request. */
export interface HttpRequest {
  method: string;
  path: string;
  body?: string;
  signal: AbortSignal;
}

/** A way to one service. */
export interface Transport {
  url: string;
  /** Rejects when no whole answer came. */
  send(request: HttpRequest): Promise<HttpAnswer>;
  close(): void;
}

/** Most connections at once; more requests wait here instead of there. */
const MAX_SOCKETS = 256;

/**
 * Opens a way to the service at `url`.
 *
 * @throws {ConfigError} when the URL is none.
 */
export function openTransport(url: string, token: string | null): Transport {
  const target = targetOf(url);
  const isTls = target.protocol === "https:";
  const settings = { keepAlive: true, maxSockets: MAX_SOCKETS };
  const agent = isTls ? new TlsAgent(settings) : new Agent(settings);
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (token !== null) headers["authorization"] = `Bearer ${token}`;
  return {
    url,
    send: ({ method, path, body, signal }) =>
      new Promise((resolve, reject) => {
        const { base, ...place } = target;
        const options = { ...place, path: base + path, method, headers, agent, signal };
        const sent = (isTls ? tlsRequest : httpRequest)(options, (response) => {
          readAnswer(response).then(resolve, reject);
        });
        sent.on("error", reject);
        sent.end(body);
      }),
    close: () => agent.destroy(),
  };
}

async function readAnswer(response: IncomingMessage): Promise<HttpAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode ?? 0,
    body: Buffer.concat(chunks).toString("utf8"),
    retryAfter: response.headers["retry-after"] ?? null,
  };
}

function targetOf(url: string): RequestOptions & { base: string } {
  if (url.startsWith("unix:")) return { socketPath: url.slice("unix:".length), base: "" };
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !["http:", "https:"].includes(parsed.protocol)) {
    throw new ConfigError(`expected http://…, https://… or unix:/path as service URL, got ${url}`);
  }
  const { protocol, hostname, port, pathname } = parsed;
  return {
    protocol,
    hostname: hostname.replace(/^\[|\]$/g, ""),
    ...(port === "" ? {} : { port }),
    base: pathname.replace(/\/$/, ""),
  };
}
