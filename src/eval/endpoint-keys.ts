/** The keys of a request that an evaluation decides by itself, and by which flag. */
import { ConfigError } from "../core/errors.js";

/**
 * Sent as a further key, each would win over what the evaluation asked for, records and caches by:
 * eight samples of temperature 0.9 that count as one greedy completion, say.
 */
const CURES: Readonly<Record<string, string>> = {
  model: "say --model",
  messages: "prompts are the benchmark's; choose a --style",
  prompt: "prompts are the benchmark's; choose a --style",
  add_generation_prompt: "say --prefill",
  continue_final_message: "say --prefill",
  max_tokens: "say --max-tokens",
  max_completion_tokens: "say --max-tokens",
  temperature: "say --temperature",
  top_p: "say --top-p",
  top_k: "say --top-k",
  seed: "say --seed",
  n: "say --n",
  best_of: "say --n",
  stop: "texts that end an answer are the style's; choose a --style",
  stream: "answers are read whole; leave it out",
};

/**
 * Checks the further keys of a request.
 *
 * @throws {ConfigError} if one of them has a flag of its own.
 */
export function checkExtraBody(extraBody: Readonly<Record<string, unknown>>): void {
  for (const key of Object.keys(extraBody)) {
    if (!Object.hasOwn(CURES, key)) continue;
    throw new ConfigError(
      `eval: expected keys in --extra-body that no flag sets, got ${key}: ${CURES[key]}`,
    );
  }
}
