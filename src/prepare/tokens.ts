/**
 * Prompt lengths as the model will see them: its own tokenizer over its own chat template, with the
 * generation prompt, as veRL's length filter counts.
 */
import { createHash } from "node:crypto";
import { loadTokenizer } from "../model/tokenizer.js";
import type { PromptMeter } from "./prompt.js";

/**
 * Opens the tokenizer of a model directory (tokenizer.json, tokenizer_config.json).
 *
 * @throws {CheckpointError} if the directory has no tokenizer that can be read.
 */
export async function tokenizerMeter(dir: string): Promise<PromptMeter> {
  const tokenizer = await loadTokenizer(dir);
  const hash = createHash("sha256");
  for (const [name, text] of tokenizer.files) hash.update(`${name}\0${text}\0`);
  return {
    count: (messages) =>
      tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true }).length,
    description: { kind: "tokenizer", sha256: hash.digest("hex") },
  };
}
