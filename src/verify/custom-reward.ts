/**
 * A reward written by the user in TypeScript or JavaScript: it gets the verdicts and answers the
 * number that the policy is paid. The same function serves the embedded engine and, through the
 * service, every other trainer.
 *
 * A reward that throws, is slow or answers something else than a finite number is an error that
 * names it; a completion is never paid 0 for the reward's fault.
 */
import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { createJiti } from "jiti";
import { ConfigError } from "../core/errors.js";
import type { Problem } from "../core/problem.js";
import type { Verifier, VerifyResult } from "./verify.js";

/** What a custom reward is given. */
export interface RewardInput {
  completion: string;
  problem: Problem;
  /** The judge's result, with the built-in reward in `reward`. */
  result: VerifyResult;
  /** Judges something else, e.g. the completion with one line changed. */
  verify: (completion: string, problem?: Problem) => Promise<VerifyResult>;
}

/** A custom reward: a number, or a number with further figures that are logged beside it. */
export type ComputeScore = (input: RewardInput) => Score | Promise<Score>;

/** What a custom reward answers. */
export type Score = number | ({ score: number } & Record<string, number>);

/** A reward loaded from a file. */
export interface CustomReward {
  computeScore: ComputeScore;
  /** File and function, for messages. */
  label: string;
  /** Longest time one call may take. */
  timeoutMs: number;
}

/**
 * Loads a reward function from a `.ts`, `.js` or `.mjs` file.
 *
 * `compute_score`, which is veRL's default for Python files, finds `computeScore` as well.
 *
 * @throws {ConfigError} if the file is missing, does not load, or exports no such function.
 */
export async function loadCustomReward(
  path: string,
  name: string,
  timeoutMs = 30_000,
): Promise<CustomReward> {
  const file = resolve(path);
  await access(file).catch((cause: unknown) => {
    throw new ConfigError(`reward: expected a file at ${path}`, { cause });
  });
  let module: Record<string, unknown>;
  try {
    module = await createJiti(import.meta.url).import<Record<string, unknown>>(file);
  } catch (cause) {
    throw new ConfigError(`reward: ${path} does not load: ${(cause as Error).stack}`, { cause });
  }
  const isVerlDefault = name === "compute_score" && !(name in module);
  const computeScore = module[isVerlDefault ? "computeScore" : name];
  if (typeof computeScore !== "function") {
    throw new ConfigError(
      `reward: expected ${path} to export a function ${name}, got ${Object.keys(module).join(", ") || "nothing"}`,
    );
  }
  return { computeScore: computeScore as ComputeScore, label: `${path}:${name}`, timeoutMs };
}

/** Wraps a verifier so that the custom reward decides what is paid; a bad problem pays nobody. */
export function withCustomReward(verifier: Verifier, reward: CustomReward): Verifier {
  return {
    level: verifier.level,
    close: () => verifier.close(),
    verify: async (request) => {
      const result = await verifier.verify(request);
      if (result.verdict === "bad_problem") return result;
      const { completion, problem } = request;
      const score = await callReward(reward, {
        completion,
        problem,
        result,
        verify: (text, other = problem) => verifier.verify({ completion: text, problem: other }),
      });
      if (typeof score === "number") return { ...result, reward: score };
      const { score: paid, ...extras } = score;
      return { ...result, reward: paid, extras };
    },
  };
}

async function callReward(reward: CustomReward, input: RewardInput): Promise<Score> {
  const { label, timeoutMs } = reward;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new ConfigError(`reward: ${label} took longer than ${timeoutMs} ms`)),
      timeoutMs,
    );
  });
  let score: Score;
  try {
    score = await Promise.race([Promise.resolve(input).then(reward.computeScore), late]);
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const stack = cause instanceof Error ? cause.stack : String(cause);
    throw new ConfigError(`reward: ${label} threw: ${stack}`, { cause });
  } finally {
    clearTimeout(timer);
  }
  const values = typeof score === "object" && score !== null ? Object.values(score) : [score];
  const hasScore = typeof score === "number" || typeof score?.score === "number";
  if (!hasScore || !values.every(Number.isFinite)) {
    throw new ConfigError(
      `reward: expected ${label} to answer a finite number or { score, … } of finite numbers, got ${JSON.stringify(score)}`,
    );
  }
  return score;
}
