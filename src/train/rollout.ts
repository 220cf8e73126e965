/**
 * Rollouts: completions sampled for a batch of prompts, judged, and paid.
 *
 * What is sampled for a completion is a function of (seed, step, prompt instance, sample) alone, so
 * it depends neither on how many are sampled at once nor on which one finishes first.
 */
import type { Config } from "../config/schema.js";
import { SandboxError } from "../core/errors.js";
import type { Problem } from "../core/problem.js";
import { randomStream } from "../core/random.js";
import type { Rollout } from "../core/rollout.js";
import type { Sampler } from "../model/sample.js";
import type { Tokenizer } from "../model/tokenizer.js";
import type { Verifier, VerifyResult } from "../verify/verify.js";
import { overlongPenalty } from "./token-rewards.js";

/** A problem with its prompt as the policy reads it. */
export interface Prompt {
  problem: Problem;
  /** Chat template applied, generation prompt included. */
  ids: number[];
}

/** A judged completion. */
export interface JudgedRollout {
  prompt: Prompt;
  /** Prompt instance: no two draws of a problem share one. */
  group: number;
  sample: number;
  tokens: number[];
  /** Under the policy that sampled, at the sampling temperature. */
  logprobs: Float32Array;
  finish: "stop" | "length";
  completion: string;
  result: VerifyResult;
  /** What the policy is paid, penalties for length included. */
  score: number;
}

/** Judged completions, with what was lost on the way. */
export interface RolloutSet {
  rollouts: JudgedRollout[];
  /** Completions dropped because the sandbox itself failed. */
  infraErrors: number;
  /** Completions dropped because their problem has no usable tests. */
  badProblems: number;
  timing: { generate: number; verify: number };
}

/** How completions are sampled. */
export interface SamplingPlan {
  samples: number;
  temperature: number;
  topP: number;
  /** Null means all tokens. */
  topK: number | null;
  maxNewTokens: number;
  /** Names the streams of the random numbers; group and sample are added. */
  stream: readonly (string | number)[];
  /** Group of the first prompt. */
  firstGroup: number;
  /** Run every test, whatever `verifier.max_tests` says. */
  allTests: boolean;
}

/** Completions in one call of the sampler; more cost memory and gain no speed. */
export const SAMPLER_BATCH = 256;
/** Keeps an inverse-CDF draw inside the table. */
const LARGEST_UNIFORM = 0.999999;

/** Who samples and judges. */
export interface RolloutMakers {
  sampler: Sampler;
  tokenizer: Tokenizer;
  verifier: Verifier;
  config: Config;
}

/** Samples and judges `samples` completions of every prompt. */
export async function rollOut(
  makers: RolloutMakers,
  prompts: readonly Prompt[],
  plan: SamplingPlan,
  signal?: AbortSignal,
): Promise<RolloutSet> {
  const started = performance.now();
  const jobs = prompts.flatMap((prompt, i) =>
    Array.from({ length: plan.samples }, (_, sample) => ({
      prompt,
      group: plan.firstGroup + i,
      sample,
    })),
  );
  const sampled: Omit<JudgedRollout, "result" | "score">[] = [];
  for (let at = 0; at < jobs.length; at += SAMPLER_BATCH) {
    const chunk = jobs.slice(at, at + SAMPLER_BATCH);
    const completions = await makers.sampler.generate({
      prompts: chunk.map(({ prompt }) => prompt.ids),
      maxNewTokens: plan.maxNewTokens,
      temperature: plan.temperature,
      topP: plan.topP,
      topK: plan.topK,
      stopTokenIds: makers.tokenizer.eosTokenIds,
      uniforms: uniformsOf(chunk, plan),
    });
    completions.forEach(({ tokens, logprobs, finish }, i) => {
      // The end token is the policy's choice but no part of the text.
      const text = finish === "stop" ? tokens.slice(0, -1) : tokens;
      const completion = makers.tokenizer.decode(text);
      sampled.push({ ...chunk[i], tokens, logprobs, finish, completion });
    });
  }
  const generated = performance.now();
  const judged = await Promise.all(sampled.map((one) => judge(makers, one, plan, signal)));
  const rollouts = judged.filter((one) => typeof one === "object");
  return {
    rollouts,
    infraErrors: judged.filter((one) => one === "infra_error").length,
    badProblems: judged.filter((one) => one === "bad_problem").length,
    timing: {
      generate: (generated - started) / 1000,
      verify: (performance.now() - generated) / 1000,
    },
  };
}

/** Random numbers by (sequence, position), each stream drawn in order of position and kept. */
function uniformsOf(
  jobs: readonly { group: number; sample: number }[],
  { stream }: SamplingPlan,
): (sequence: number, position: number) => number {
  const streams = jobs.map(({ group, sample }) => randomStream(...stream, group, sample));
  const drawn: number[][] = jobs.map(() => []);
  return (sequence, position) => {
    const values = drawn[sequence];
    while (values.length <= position) values.push(streams[sequence].next() * LARGEST_UNIFORM);
    return values[position];
  };
}

async function judge(
  { verifier, config }: RolloutMakers,
  sampled: Omit<JudgedRollout, "result" | "score">,
  { allTests }: SamplingPlan,
  signal: AbortSignal | undefined,
): Promise<JudgedRollout | "infra_error" | "bad_problem"> {
  let result: VerifyResult;
  try {
    result = await verifier.verify({
      completion: sampled.completion,
      problem: sampled.prompt.problem,
      ...(allTests ? { maxTests: null } : {}),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    // Our failure is not the program's: the completion leaves its group unpaid.
    if (error instanceof SandboxError) return "infra_error";
    throw error;
  }
  if (result.reward === null) return "bad_problem";
  const score = result.reward + lengthPenalty(config, sampled);
  return { ...sampled, result, score };
}

/** What a completion's length costs it, at most 0. */
function lengthPenalty(
  { reward, data }: Config,
  { tokens, finish }: { tokens: number[]; finish: "stop" | "length" },
): number {
  const { overlong_buffer_cfg: buffer, max_resp_len: limit } = reward.reward_kwargs;
  const overlong = buffer.enable
    ? overlongPenalty(tokens.length, {
        maxLength: limit ?? data.max_response_length,
        buffer: buffer.len,
        factor: buffer.penalty_factor,
      })
    : 0;
  return overlong - (finish === "length" ? (reward.missing_eos_penalty ?? 0) : 0);
}

/** The record of a rollout for the run directory; `advantages` are those of its own tokens. */
export function toRecord(
  rollout: JudgedRollout,
  step: number,
  { advantages, tokenizer }: { advantages: Float32Array | null; tokenizer: Tokenizer },
): Rollout {
  const { prompt, group, sample, result, tokens } = rollout;
  return {
    step,
    group,
    sample,
    problemId: prompt.problem.id,
    prompt: prompt.problem.prompt,
    completion: rollout.completion,
    finish: rollout.finish,
    promptTokens: prompt.ids.length,
    responseTokens: tokens.length,
    tokens,
    pieces: tokens.map((id) => tokenizer.pieceOf(id)),
    logprobs: [...rollout.logprobs],
    advantages: advantages === null ? null : [...advantages],
    program: result.extraction.program,
    format: result.extraction.format,
    verdicts: result.tests.map(({ verdict }) => verdict.kind),
    verdict: result.verdict,
    passRate: result.passRate,
    reward: rollout.score,
  };
}
