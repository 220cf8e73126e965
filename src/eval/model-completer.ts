/**
 * Completions from the embedded engine: a model directory, or a model in memory.
 *
 * Sequences of like length are sampled together. Random numbers are a function of (seed, problem,
 * sample, position), so a completion does not depend on what it was batched with, and the same
 * problems before and after training meet the same draws.
 */
import { randomStream } from "../core/random.js";
import type { Sampler } from "../model/sample.js";
import type { Tokenizer } from "../model/tokenizer.js";
import {
  type Completer,
  type Completion,
  type CompletionRequest,
  cutAtStop,
  type OnCompletion,
} from "./completer.js";

/** What is used of a tokenizer. */
export type EvalTokenizer = Pick<
  Tokenizer,
  "encode" | "decode" | "applyChatTemplate" | "eosTokenIds"
>;

/** A model in memory. */
export interface ModelCompleterOptions {
  sampler: Pick<Sampler, "generate">;
  tokenizer: EvalTokenizer;
  name: string;
  /** A digest of the weights, or whatever else changes with them. */
  identity: string;
  /** Sequences sampled at a time. */
  batchSize: number;
  /**
   * Tokens sampled before looking for stop texts; sequences that go on are continued. Without stop
   * texts a sequence is sampled in one go.
   */
  chunkTokens: number;
  close?: () => Promise<void>;
}

/** The settings most callers leave alone. */
export const MODEL_DEFAULTS = { batchSize: 32, chunkTokens: 128 } as const;

/** A sequence being sampled. */
interface Running {
  index: number;
  request: CompletionRequest;
  prompt: number[];
  tokens: number[];
  draw: (position: number) => number;
}

/** Opens a completer over a model in memory. */
export function modelCompleter(options: ModelCompleterOptions): Completer {
  return {
    kind: "local",
    name: options.name,
    identity: options.identity,
    complete: async (requests, onCompletion, signal) => {
      const waiting = requests.map((request, index) => ({
        index,
        request,
        prompt: encodePrompt(request, options.tokenizer),
        tokens: [],
        draw: draws(request),
      }));
      // Like lengths together: less padding. Ties keep the order of the problems.
      waiting.sort((a, b) => a.prompt.length - b.prompt.length);
      for (let at = 0; at < waiting.length; at += options.batchSize) {
        signal?.throwIfAborted();
        await sampleBatch(waiting.slice(at, at + options.batchSize), options, onCompletion);
      }
      return { faults: {}, lastFault: null };
    },
    close: options.close ?? (() => Promise.resolve()),
  };
}

/** The prompt's tokens; a beginning of the assistant's answer is continued, not closed. */
function encodePrompt(request: CompletionRequest, tokenizer: EvalTokenizer): number[] {
  const { prompt, kind } = request;
  if (kind === "completion") return tokenizer.encode(prompt[0].content);
  const last = prompt[prompt.length - 1];
  if (last.role !== "assistant") {
    return tokenizer.applyChatTemplate(prompt, { addGenerationPrompt: true });
  }
  const before = tokenizer.applyChatTemplate(prompt.slice(0, -1), { addGenerationPrompt: true });
  return [...before, ...tokenizer.encode(last.content)];
}

/** The request's own random numbers by position, drawn in order whatever order they are asked in. */
function draws({ seed, problemId, sample }: CompletionRequest): (position: number) => number {
  const stream = randomStream(seed, "evaluate", problemId, sample);
  const drawn: number[] = [];
  return (position) => {
    while (drawn.length <= position) drawn.push(stream.next());
    return drawn[position];
  };
}

async function sampleBatch(
  batch: Running[],
  options: ModelCompleterOptions,
  onCompletion: OnCompletion,
): Promise<void> {
  const { maxTokens, temperature, topP, topK, stop } = batch[0].request;
  const chunk = stop.length === 0 ? maxTokens : options.chunkTokens;
  let running = batch;
  for (let made = 0; running.length > 0; made += chunk) {
    const left = Math.min(chunk, maxTokens - made);
    const results = await options.sampler.generate({
      prompts: running.map(({ prompt, tokens }) => [...prompt, ...tokens]),
      maxNewTokens: left,
      temperature,
      topP,
      topK,
      stopTokenIds: options.tokenizer.eosTokenIds,
      uniforms: (sequence, position) => running[sequence].draw(made + position),
    });
    const judging: Promise<void>[] = [];
    running = running.filter((sequence, i) => {
      sequence.tokens.push(...results[i].tokens);
      const isLast = results[i].finish === "stop" || made + left >= maxTokens;
      const completion = finish(sequence, results[i].finish, options.tokenizer);
      if (!isLast && completion.finish !== "stop") return true;
      judging.push(onCompletion(sequence.index, completion));
      return false;
    });
    // The tensor runtime holds this thread while it samples: what is done is judged before.
    await Promise.all(judging);
  }
}

function finish(
  { request, prompt, tokens }: Running,
  reason: "stop" | "length",
  tokenizer: EvalTokenizer,
): Completion {
  const isEnd = tokens.length > 0 && tokenizer.eosTokenIds.includes(tokens[tokens.length - 1]);
  const text = tokenizer.decode(isEnd ? tokens.slice(0, -1) : tokens);
  const cut = cutAtStop(text, request.stop);
  return {
    text: cut ?? text,
    finish: cut === null ? reason : "stop",
    promptTokens: prompt.length,
    completionTokens: tokens.length,
  };
}
