/**
 * A verifier that judges elsewhere: the same interface, over HTTP to a running service.
 *
 * Judging again is harmless, so whatever did not reach the service, or was refused because it is
 * busy, is sent again. What it then still cannot judge is SandboxError, as with a sandbox of our
 * own; what the service says is wrong with the request is ConfigError.
 */
import { ConfigError, SandboxError } from "../core/errors.js";
import { type HttpAnswer, openTransport, type Transport } from "./remote-transport.js";
import { ISOLATION_LEVELS, type IsolationLevel } from "./sandbox.js";
import type { Verifier, VerifyRequest, VerifyResult } from "./verifier.js";

/** Where the service is, and how patient to be. */
export interface RemoteOptions {
  /** `http://host:port`, `https://…`, or `unix:/path`. */
  url: string;
  /** Bearer token, where the service asks for one. */
  token?: string;
  /** Longest time for one judgement with all its retries, in milliseconds; 10 minutes when absent. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 600_000;
/** The service may still be starting. */
const FIRST_CONTACT_MS = 10_000;
const RETRY_STATUS = new Set([429, 502, 503, 504]);
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/**
 * Connects to a service.
 *
 * @throws {SandboxError} when it does not answer.
 * @throws {ConfigError} when the URL is none, or what answers is no such service.
 */
export async function connectVerifier(options: RemoteOptions): Promise<Verifier> {
  const transport = openTransport(options.url, options.token ?? null);
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const patience = Math.min(timeoutMs, FIRST_CONTACT_MS);
  try {
    const health = await ask(transport, { method: "GET", path: "/healthz" }, patience);
    return new RemoteVerifier(transport, levelOf(health, options.url), timeoutMs);
  } catch (error) {
    transport.close();
    throw error;
  }
}

class RemoteVerifier implements Verifier {
  readonly level: IsolationLevel;
  private readonly transport: Transport;
  private readonly timeoutMs: number;

  constructor(transport: Transport, level: IsolationLevel, timeoutMs: number) {
    this.transport = transport;
    this.level = level;
    this.timeoutMs = timeoutMs;
  }

  async verify({ completion, problem, maxTests, signal }: VerifyRequest): Promise<VerifyResult> {
    const options = maxTests === undefined ? {} : { options: { max_tests: maxTests } };
    const body = JSON.stringify({ problem, completion, ...options });
    const request = { method: "POST", path: "/verify", body, signal };
    return (await ask(this.transport, request, this.timeoutMs)) as VerifyResult;
  }

  close(): Promise<void> {
    this.transport.close();
    return Promise.resolve();
  }
}

interface Request {
  method: string;
  path: string;
  body?: string;
  signal?: AbortSignal | undefined;
}

/** Sends a request until it is answered for good, or the time is up. */
async function ask(transport: Transport, request: Request, timeoutMs: number): Promise<unknown> {
  const end = performance.now() + timeoutMs;
  let failure = "no attempt was made";
  for (let attempt = 0; performance.now() < end; attempt++) {
    const answer = await attemptOnce(transport, request, end - performance.now());
    if (request.signal?.aborted) throw new SandboxError("the judgement was given up by its caller");
    if (typeof answer !== "string" && answer.status === 200) return parse(answer, transport.url);
    if (typeof answer !== "string" && !RETRY_STATUS.has(answer.status)) refuse(answer, transport);
    failure = typeof answer === "string" ? answer : describe(answer);
    const pause = Math.max(retryAfterMs(answer), FIRST_PAUSE_MS * 2 ** Math.min(attempt, 6));
    const left = Math.max(0, end - performance.now());
    await new Promise((resolve) => setTimeout(resolve, Math.min(pause, LONGEST_PAUSE_MS, left)));
  }
  throw new SandboxError(
    `no judgement from ${transport.url} within ${timeoutMs} ms; last: ${failure}`,
  );
}

/** An answer, or why there was none. */
async function attemptOnce(
  transport: Transport,
  request: Request,
  timeoutMs: number,
): Promise<HttpAnswer | string> {
  const late = AbortSignal.timeout(Math.max(1, Math.ceil(timeoutMs)));
  const signal = request.signal === undefined ? late : AbortSignal.any([late, request.signal]);
  return transport.send({ ...request, signal }).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    return `${code ?? "error"}: ${message}`;
  });
}

/** Throws for an answer that trying again would not change. */
function refuse(answer: HttpAnswer, { url }: Transport): never {
  const message = `the service at ${url} answered ${describe(answer)}`;
  if (answer.status >= 500) throw new SandboxError(message);
  throw new ConfigError(message);
}

const describe = ({ status, body }: HttpAnswer) => `${status}: ${body.slice(0, 4000)}`;

function retryAfterMs(answer: HttpAnswer | string): number {
  return typeof answer === "string" ? 0 : 1000 * (Number(answer.retryAfter) || 0);
}

function parse({ body }: HttpAnswer, url: string): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw new ConfigError(`expected JSON from ${url}, got ${body.slice(0, 200)}`, { cause });
  }
}

function levelOf(health: unknown, url: string): IsolationLevel {
  const isolation = (health as { isolation?: unknown } | null)?.isolation;
  const level = ISOLATION_LEVELS.find((known) => known === isolation);
  if (level === undefined) {
    throw new ConfigError(`expected a verify service at ${url}, got ${JSON.stringify(health)}`);
  }
  return level;
}
