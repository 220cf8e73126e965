/**
 * The completer: prompts in, completions out, whoever writes them. A local model, an HTTP endpoint
 * and a file of finished completions stand behind the same few lines, so that everything else of an
 * evaluation is the same for all three.
 */
import type { ChatMessage } from "../core/problem.js";
import { truncateAtStops } from "../verify/prefix.js";

/** One completion to be made. */
export interface CompletionRequest {
  problemId: string;
  /** Index of the sample of its problem. */
  sample: number;
  /**
   * For a chat style the messages; a last message of the assistant is a beginning that the model
   * continues. For a completion style one message, whose content is continued as bare text.
   */
  prompt: ChatMessage[];
  kind: "chat" | "completion";
  maxTokens: number;
  /** 0 is greedy. */
  temperature: number;
  topP: number;
  topK: number | null;
  /** The completion ends before the first of these texts. */
  stop: readonly string[];
  seed: number;
}

/** One completion. Token counts are null where the source does not tell them. */
export interface Completion {
  text: string;
  finish: "stop" | "length" | "unknown";
  promptTokens: number | null;
  completionTokens: number | null;
}

/**
 * Called for each completion as it comes; `index` is that of its request. The answer resolves when
 * the completion is judged; a completer that keeps this process busy waits for it, so that judging
 * is not starved of time.
 */
export type OnCompletion = (index: number, completion: Completion) => Promise<void>;

/** How a completer did: requests it could not serve are missing, never empty completions. */
export interface CompleterReport {
  /** Faults met, retried or not, by kind. */
  faults: Record<string, number>;
  /** The last fault in words, for the reader of an incomplete evaluation. */
  lastFault: string | null;
}

/** Writes completions. */
export interface Completer {
  readonly kind: "local" | "endpoint" | "file";
  /** Name to show, e.g. the model directory's. */
  readonly name: string;
  /** Changes when the completions may: a digest of the weights, or the endpoint's address. */
  readonly identity: string;
  /** Further keys of each request, which may move a score; left out where there are none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Serves requests in any order. A request that no retry could serve is left out. */
  complete(
    requests: readonly CompletionRequest[],
    onCompletion: OnCompletion,
    signal?: AbortSignal,
  ): Promise<CompleterReport>;
  close(): Promise<void>;
}

/** Cuts a text before the first occurrence of any stop text; null when there is none. */
export function cutAtStop(text: string, stop: readonly string[]): string | null {
  const cut = truncateAtStops(text, stop);
  return cut.length === text.length ? null : cut;
}
