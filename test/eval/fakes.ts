/** Small stand-ins for the parts an evaluation works with. */
import type { AddressInfo } from "node:net";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Problem } from "../../src/core/problem.js";
import { SandboxError } from "../../src/core/errors.js";
import {
  type Completer,
  type Completion,
  type CompletionRequest,
} from "../../src/eval/completer.js";
import { EVALUATE_DEFAULTS, type EvaluateSettings } from "../../src/eval/evaluate.js";
import { CHAT_STYLE } from "../../src/eval/style.js";
import type { Verifier, VerifyRequest, VerifyResult } from "../../src/verify/verify.js";

/** Accepts a completion that holds `right`; a sandbox failure can be asked for. */
export class FakeVerifier implements Verifier {
  readonly level = "basic";
  calls = 0;
  breaksOn: string | null = null;

  verify({ completion, problem }: VerifyRequest): Promise<VerifyResult> {
    this.calls++;
    if (this.breaksOn !== null && completion.includes(this.breaksOn)) {
      return Promise.reject(new SandboxError("the sandbox broke"));
    }
    const isRight = completion.includes("right");
    const hasProgram = completion !== "";
    const verdict = isRight ? "accepted" : hasProgram ? "wrong_answer" : "no_program";
    return Promise.resolve({
      problemId: problem.id,
      extraction: {
        program: hasProgram ? completion : null,
        format: hasProgram,
        reason: hasProgram ? "block" : "empty",
      },
      tests: [],
      totalTests: 2,
      passRate: isRight ? 1 : 0,
      verdict,
      fault: null,
      isReused: false,
      reward: isRight ? 1 : 0,
      trust: "strong",
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Answers by a function of the request; null leaves the request out. */
export class FakeCompleter implements Completer {
  readonly kind = "local";
  readonly name = "fake";
  identity = "fake:1";
  asked: CompletionRequest[] = [];
  readonly #answer: (request: CompletionRequest) => string | null;

  constructor(answer: (request: CompletionRequest) => string | null) {
    this.#answer = answer;
  }

  complete(
    requests: readonly CompletionRequest[],
    onCompletion: (index: number, completion: Completion) => Promise<void>,
  ) {
    this.asked.push(...requests);
    let absent = 0;
    requests.forEach((request, index) => {
      const text = this.#answer(request);
      if (text === null) absent++;
      else void onCompletion(index, { text, finish: "stop", promptTokens: 3, completionTokens: 5 });
    });
    return Promise.resolve({ faults: absent === 0 ? {} : { absent }, lastFault: null });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Problems p0, p1, … of two families. */
export function problemsOf(count: number): Problem[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `p${i}`,
    source: "test",
    prompt: [{ role: "user", content: `problem ${i}` }],
    tests: { kind: "stdio", cases: [{ input: "1\n", output: "1\n" }] },
    language: "python",
    tags: { family: i % 2 === 0 ? "even" : "odd" },
  }));
}

/** Settings of a small evaluation. */
export function settingsOf(changes: Partial<EvaluateSettings> = {}): EvaluateSettings {
  return {
    ...EVALUATE_DEFAULTS,
    name: "test",
    benchmark: "problems",
    style: CHAT_STYLE,
    ...changes,
  };
}

/** What a fake endpoint does with one request; the count of requests so far comes along. */
export type Handler = (
  request: { path: string; body: Record<string, unknown>; count: number },
  response: ServerResponse,
) => void;

/** An HTTP server on a free port of this machine. */
export class FakeEndpoint {
  readonly bodies: Record<string, unknown>[] = [];
  readonly headers: IncomingMessage["headers"][] = [];
  readonly #server: Server;
  #inFlight = 0;
  mostInFlight = 0;

  constructor(handler: Handler) {
    this.#server = createServer((request, response) => {
      this.mostInFlight = Math.max(this.mostInFlight, ++this.#inFlight);
      response.on("close", () => this.#inFlight--);
      let text = "";
      request.on("data", (chunk: Buffer) => (text += chunk.toString()));
      request.on("end", () => {
        const body = JSON.parse(text) as Record<string, unknown>;
        this.bodies.push(body);
        this.headers.push(request.headers);
        handler({ path: request.url ?? "", body, count: this.bodies.length }, response);
      });
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Answers a chat request. */
export function answerChat(
  response: ServerResponse,
  content: string | null,
  finish = "stop",
): void {
  response.setHeader("content-type", "application/json");
  response.end(
    JSON.stringify({
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: finish }],
      usage: { prompt_tokens: 7, completion_tokens: 11 },
    }),
  );
}
