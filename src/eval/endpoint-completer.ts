/**
 * Completions from an OpenAI-compatible server (vLLM, llama.cpp, Ollama, SGLang, hosted ones).
 *
 * A fault of the server is retried with a growing pause, a Retry-After is obeyed by all requests
 * together and uses up no try, and a server that stays down is given up soon rather than after every
 * request's retries. What could not be served is left out and counted; it is never an empty
 * completion.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../core/errors.js";
import { randomStream, type RandomStream } from "../core/random.js";
import type {
  Completer,
  CompleterReport,
  Completion,
  CompletionRequest,
  OnCompletion,
} from "./completer.js";
import { cutAtStop } from "./completer.js";
import { type FaultKind, readAnswer } from "./endpoint-answer.js";
import { checkExtraBody } from "./endpoint-keys.js";
import { Pace } from "./endpoint-pace.js";
import { postJson, retryAfterMs } from "./http.js";

/** Where the server is and how to treat it. */
export interface EndpointOptions {
  /** Up to and including `/v1`. */
  baseUrl: string;
  model: string;
  /** Sent as a bearer token; never written anywhere. Null sends none. */
  apiKey: string | null;
  /** Requests at a time. */
  concurrency: number;
  timeoutMs: number;
  /** Tries per request, the first included; a refusal that says when to come back is none. */
  attempts: number;
  /** First pause before a retry; it doubles each time, up to a minute. */
  backoffMs: number;
  /** Longest time that Retry-After is obeyed for with nothing served between, added up. */
  patienceMs: number;
  /**
   * True when the server can continue an assistant turn (vLLM, llama.cpp, SGLang). Styles that
   * begin the answer need it; a server that cannot would silently answer something else.
   */
  canPrefill: boolean;
  /**
   * Further keys of the request, as the server names them. Servers have defaults of their own that
   * move a score: llama-cpp-python's `repeat_penalty` is 1.1.
   */
  extraBody: Readonly<Record<string, unknown>>;
}

/** The settings most callers leave alone. */
export const ENDPOINT_DEFAULTS = {
  apiKey: null,
  concurrency: 8,
  timeoutMs: 600_000,
  attempts: 6,
  backoffMs: 1000,
  patienceMs: 900_000,
  canPrefill: false,
  extraBody: {},
} as const satisfies Partial<EndpointOptions>;

const LONGEST_PAUSE_MS = 60_000;
/** Requests given up in a row, none served between, after which the server counts as down. */
const GIVEN_UP_IN_A_ROW = 10;

/**
 * Opens an endpoint; nothing is sent yet.
 *
 * @throws {ConfigError} if the address is not one, or `extraBody` holds a key that has a flag.
 */
export function endpointCompleter(options: EndpointOptions): Completer {
  const baseUrl = parseBaseUrl(options.baseUrl);
  checkExtraBody(options.extraBody);
  return {
    kind: "endpoint",
    name: options.model,
    identity: `endpoint:${baseUrl.origin}${baseUrl.pathname}#${options.model}${extraOf(options)}`,
    extraBody: options.extraBody,
    complete: (requests, onCompletion, signal) =>
      new Session(options, baseUrl, signal).run(requests, onCompletion),
    close: () => Promise.resolve(),
  };
}

/** What is sent beside the usual decides completions as well. */
function extraOf({ extraBody }: EndpointOptions): string {
  return Object.keys(extraBody).length === 0 ? "" : ` ${JSON.stringify(extraBody)}`;
}

function parseBaseUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text.endsWith("/") ? text : `${text}/`);
  } catch (cause) {
    throw new ConfigError(`expected an address such as http://localhost:8000/v1, got ${text}`, {
      cause,
    });
  }
  if (!["http:", "https:"].includes(url.protocol)) {
    throw new ConfigError(`expected an http or https address, got ${text}`);
  }
  if (/\/(chat\/)?completions\/$/.test(url.pathname)) {
    throw new ConfigError(`give the address up to /v1, without /completions: ${text}`);
  }
  return url;
}

/** One call of `complete`: what its requests share. */
class Session {
  readonly #options: EndpointOptions;
  readonly #baseUrl: URL;
  readonly #signal: AbortSignal | undefined;
  readonly #faults: Partial<Record<FaultKind | "gave_up", number>> = {};
  #lastFault: string | null = null;
  readonly #pace: Pace;
  #givenUpInARow = 0;

  constructor(options: EndpointOptions, baseUrl: URL, signal: AbortSignal | undefined) {
    this.#options = options;
    this.#baseUrl = baseUrl;
    this.#signal = signal;
    this.#pace = new Pace({ shortestMs: options.backoffMs, patienceMs: options.patienceMs });
  }

  async run(
    requests: readonly CompletionRequest[],
    onCompletion: OnCompletion,
  ): Promise<CompleterReport> {
    let next = 0;
    const worker = async () => {
      while (next < requests.length && this.#givenUpInARow < GIVEN_UP_IN_A_ROW) {
        const index = next++;
        const completion = await this.#serve(requests[index]);
        if (completion !== null) void onCompletion(index, completion);
      }
    };
    const width = Math.min(this.#options.concurrency, requests.length);
    await Promise.all(Array.from({ length: width }, worker));
    return { faults: { ...this.#faults }, lastFault: this.#lastFault };
  }

  /** Serves one request, with retries; null when given up. */
  async #serve(request: CompletionRequest): Promise<Completion | null> {
    const { options, body } = this.#compose(request);
    const jitter = randomStream(request.seed, "backoff", request.problemId, request.sample);
    for (let attempt = 0; attempt < options.attempts;) {
      await this.#waitForTurn(jitter);
      const result = await postJson(body);
      this.#signal?.throwIfAborted();
      const answer = readAnswer(result);
      if (answer.kind === "completion") {
        this.#givenUpInARow = 0;
        this.#pace.served();
        return withoutStop(answer.completion, request.stop);
      }
      this.#count(answer.fault, answer.reason);
      if (answer.fault === "denied") {
        throw new ConfigError(`endpoint ${this.#baseUrl.origin} denies requests: ${answer.reason}`);
      }
      if (answer.fault === "refused") return null;
      const asked = result.kind === "answer" ? retryAfterMs(result.headers, Date.now()) : null;
      if (asked !== null) {
        // The server has said when: one at its limit of requests is neither down nor broken.
        if (this.#pace.hold(asked, Date.now())) continue;
        break;
      }
      const pause = Math.min(options.backoffMs * 2 ** attempt, LONGEST_PAUSE_MS);
      if (++attempt === options.attempts) break;
      // Between half the pause and all of it, so that retries do not come as one wave.
      await sleep(pause * (0.5 + 0.5 * jitter.next()), undefined, this.#abort());
    }
    this.#count("gave_up", null);
    this.#givenUpInARow++;
    return null;
  }

  async #waitForTurn(jitter: RandomStream): Promise<void> {
    this.#signal?.throwIfAborted();
    for (;;) {
      const wait = this.#pace.waitMs(Date.now(), jitter.next());
      if (wait === 0) return;
      await sleep(wait, undefined, this.#abort());
    }
  }

  #abort(): { signal?: AbortSignal } {
    return this.#signal === undefined ? {} : { signal: this.#signal };
  }

  #count(kind: FaultKind | "gave_up", reason: string | null): void {
    this.#faults[kind] = (this.#faults[kind] ?? 0) + 1;
    if (reason !== null) this.#lastFault = reason;
  }

  #compose(request: CompletionRequest) {
    const options = this.#options;
    const path = request.kind === "chat" ? "chat/completions" : "completions";
    const payload =
      request.kind === "chat"
        ? { messages: request.prompt, ...prefillOf(request, options) }
        : { prompt: request.prompt[0].content };
    const body = {
      url: new URL(path, this.#baseUrl),
      headers: options.apiKey === null ? {} : { authorization: `Bearer ${options.apiKey}` },
      timeoutMs: options.timeoutMs,
      signal: this.#signal,
      body: {
        model: options.model,
        ...payload,
        max_tokens: request.maxTokens,
        temperature: request.temperature,
        top_p: request.topP,
        ...(request.topK === null ? {} : { top_k: request.topK }),
        ...(request.stop.length === 0 ? {} : { stop: request.stop.slice(0, 4) }),
        seed: sampleSeed(request),
        ...options.extraBody,
      },
    };
    return { options, body };
  }
}

function prefillOf({ prompt }: CompletionRequest, options: EndpointOptions) {
  if (prompt[prompt.length - 1].role !== "assistant") return {};
  if (!options.canPrefill) {
    throw new ConfigError(
      "this prompt style begins the assistant's answer, which most chat endpoints cannot continue; " +
        "say --prefill if yours can (vLLM, llama.cpp), or choose another --style",
    );
  }
  return { add_generation_prompt: false, continue_final_message: true };
}

/** A seed of its own for each sample, below 2^31 as some servers demand. */
function sampleSeed({ seed, problemId, sample }: CompletionRequest): number {
  return randomStream(seed, "endpoint", problemId, sample).integer(2 ** 31);
}

/** Servers take four stop texts at most; the rest is cut here, and all of them once more. */
function withoutStop(completion: Completion, stop: readonly string[]): Completion {
  const text = cutAtStop(completion.text, stop);
  return text === null ? completion : { ...completion, text, finish: "stop" };
}
