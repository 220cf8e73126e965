/** How a model does on problems: one completion each, judged by the product's verifier. */
import { readFileSync } from "node:fs";
import { problemSchema } from "../src/core/problem.js";
import type { Problem } from "../src/core/problem.js";
import { randomStream } from "../src/core/random.js";
import { Sampler } from "../src/model/sample.js";
import { loadModel } from "../src/model/weights.js";
import { openSandbox } from "../src/verify/sandbox/open.js";
import { createVerifier, defaultVerifierOptions } from "../src/verify/verify.js";
import type { Verifier, VerifyResult } from "../src/verify/verify.js";
import type { Split } from "./problems.js";

/** No answer of the families is longer, in tokens. */
export const MAX_ANSWER_TOKENS = 72;

/** Completions of a model and what was made of them, in the order of the problems. */
export interface Measured {
  problems: Problem[];
  completions: string[];
  results: VerifyResult[];
  /** Share of completions with a proper code block. */
  format: number;
  /** Mean share of tests passed. */
  passRate: number;
  /** Share of completions that pass every test. */
  accepted: number;
  /** Share of completions that ended by themselves. */
  stopped: number;
}

/** Reads one of the problem files. */
export function readProblems(split: Split): Problem[] {
  return readFileSync(new URL(`./data/${split}.jsonl`, import.meta.url), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => problemSchema.parse(JSON.parse(line)));
}

/** A verifier with limits for programs of a few lines, some of which never end. */
export async function openVerifier(): Promise<Verifier> {
  const sandbox = await openSandbox({ workers: 2, requireIsolation: "none" });
  const limits = { ...defaultVerifierOptions().limits, cpuMs: 500, wallMs: 3000 };
  return createVerifier({ sandbox, limits });
}

/** Samples one completion per problem; temperature 0 is greedy. */
export async function measure(
  modelDir: string,
  problems: Problem[],
  { temperature, verifier }: { temperature: number; verifier: Verifier },
): Promise<Measured> {
  const { config, parameters, tokenizer } = await loadModel(modelDir);
  const sampler = await Sampler.create(config, parameters, { threads: 1 });
  const sampled = await sampler.generate({
    prompts: problems.map(({ prompt }) =>
      tokenizer.applyChatTemplate(prompt, { addGenerationPrompt: true }),
    ),
    maxNewTokens: MAX_ANSWER_TOKENS,
    temperature,
    stopTokenIds: tokenizer.eosTokenIds,
    uniforms: (sequence, position) => randomStream("measure", sequence, position).next(),
  });
  await sampler.dispose();
  const completions = sampled.map(({ tokens }) => tokenizer.decode(tokens));
  const results = await Promise.all(
    completions.map((completion, i) => verifier.verify({ problem: problems[i], completion })),
  );
  const share = (value: (i: number) => number) =>
    results.reduce((sum, _, i) => sum + value(i), 0) / results.length;
  return {
    problems,
    completions,
    results,
    format: share((i) => Number(results[i].extraction.format)),
    passRate: share((i) => results[i].passRate),
    accepted: share((i) => Number(results[i].verdict === "accepted")),
    stopped: share((i) => Number(sampled[i].finish === "stop")),
  };
}
