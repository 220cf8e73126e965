/**
 * What an OpenAI-compatible server answers, read as what it is: a completion, a fault of the server
 * that a retry may cure, or a request it will never take.
 */
import { z } from "zod";
import type { Completion } from "./completer.js";
import type { HttpResult } from "./http.js";

/** Faults of an endpoint by kind, as counted in eval.json. */
export type FaultKind =
  | "timeout"
  | "connection"
  | "rate_limited"
  | "server_error"
  | "bad_body"
  | "empty_choice"
  /** The server refuses this one request (too long, say); asking again is useless. */
  | "refused"
  /** Wrong key, address or model name: no request can succeed. */
  | "denied";

/** An answer, read. */
export type EndpointAnswer =
  | { kind: "completion"; completion: Completion }
  | { kind: "fault"; fault: FaultKind; reason: string };

const answerSchema = z.object({
  choices: z.array(
    z.object({
      finish_reason: z.string().nullish(),
      /** Chat. `content` is null when the model only thought, or the limit came first. */
      message: z.object({ content: z.string().nullish() }).optional(),
      /** Completions. */
      text: z.string().optional(),
    }),
  ),
  usage: z
    .object({ prompt_tokens: z.number().nullish(), completion_tokens: z.number().nullish() })
    .nullish(),
});

/** Reads the result of a request. */
export function readAnswer(result: HttpResult): EndpointAnswer {
  if (result.kind === "timeout") return fault("timeout", "no answer in time");
  if (result.kind === "connection") return fault("connection", result.reason);
  const { status, body } = result;
  if (status !== 200) return fault(faultOfStatus(status), `HTTP ${status}: ${messageOf(body)}`);
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return fault("bad_body", `answer is not JSON: ${shorten(body)}`);
  }
  const answer = answerSchema.safeParse(value);
  if (!answer.success) return fault("bad_body", `answer has no choices: ${shorten(body)}`);
  const [choice] = answer.data.choices;
  if (choice === undefined) return fault("empty_choice", "answer has an empty list of choices");
  const finish = finishOf(choice.finish_reason);
  const text = choice.message === undefined ? choice.text : (choice.message.content ?? "");
  if (text === undefined) return fault("empty_choice", "choice has neither message nor text");
  // Nothing written and no reason why: the server gave up, not the model.
  if (text === "" && finish === "unknown") return fault("empty_choice", "choice is empty");
  const { prompt_tokens, completion_tokens } = answer.data.usage ?? {};
  return {
    kind: "completion",
    completion: {
      text,
      finish,
      promptTokens: prompt_tokens ?? null,
      completionTokens: completion_tokens ?? null,
    },
  };
}

function fault(kind: FaultKind, reason: string): EndpointAnswer {
  return { kind: "fault", fault: kind, reason };
}

function faultOfStatus(status: number): FaultKind {
  if (status === 429) return "rate_limited";
  if (status === 408 || status === 425 || status >= 500) return "server_error";
  if (status === 400 || status === 413 || status === 422) return "refused";
  return "denied";
}

function finishOf(reason: string | null | undefined): Completion["finish"] {
  if (reason === "length" || reason === "max_tokens") return "length";
  if (reason === "stop" || reason === "eos" || reason === "stop_sequence") return "stop";
  return "unknown";
}

/** The server's own words, in any of the usual shapes. */
function messageOf(body: string): string {
  try {
    const value = JSON.parse(body) as { error?: { message?: string } | string; message?: string };
    const inner = typeof value.error === "string" ? value.error : value.error?.message;
    return shorten(inner ?? value.message ?? body);
  } catch {
    return shorten(body);
  }
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
