/**
 * The prompt style: how a problem is put to the model and how the program is read out of its
 * answer. The same weights score very differently by style, so a style has a name, stands in the
 * settings of an evaluation, and the published harnesses' styles are there under their names.
 */
import type { Problem } from "../core/problem.js";

/** How a program is found in a completion; see EXTRACT_RULES. */
export type ExtractRule =
  | "verifier"
  | "append"
  | "first_block_append"
  | "to_fence_append"
  | "prefilled_block"
  | "last_fences"
  | "mbpp_block";

/** What an evaluation needs to know of a style; the prompt itself stands in the problems. */
export interface Style {
  name: string;
  /** `chat` goes through the chat template; `completion` is continued as bare text. */
  kind: "chat" | "completion";
  /** Texts that end a completion. */
  stop: readonly string[];
  extract: ExtractRule;
}

/** The style of problem files: their own chat prompt, our extraction. */
export const CHAT_STYLE: Style = { name: "chat", kind: "chat", stop: [], extract: "verifier" };

/** A rule: the program to judge, or null when the rule finds none. */
type Extractor = (completion: string, problem: Problem) => string | null;

/**
 * The rules of published harnesses, for reproducing their numbers; `verifier` is not here because
 * the verifier extracts by itself. A rule's own weakness (taking the first block, say) is kept.
 */
export const EXTRACT_RULES: Record<Exclude<ExtractRule, "verifier">, Extractor> = {
  // human-eval, lm-eval humaneval: the completion goes on where the prompt ends.
  append: (completion, problem) => prefixOf(problem) + completion,
  // EvalScope humaneval: prompt, then the first block or else the whole text.
  first_block_append: (completion, problem) =>
    prefixOf(problem) + (firstBlock(completion) ?? completion),
  // lm-eval humaneval_instruct: prompt, then the text up to the closing fence.
  to_fence_append: (completion, problem) => prefixOf(problem) + toFence(completion),
  // EvalPlus, lm-eval mbpp_instruct: the prompt opened the block; it ends at the closing fence.
  prefilled_block: (completion) => toFence(completion),
  // LiveCodeBench: what stands between the last two lines that hold a fence.
  last_fences: (completion) => lastFences(completion),
  // EvalScope mbpp: the text up to [DONE], its first block, cut before tests and a main guard.
  mbpp_block: (completion) => {
    const text = completion.split("[DONE]")[0];
    const block = (firstBlock(text) ?? text).split("\nassert")[0].split('\n"""')[0];
    return block.split("if __name__ ==")[0];
  },
};

function prefixOf(problem: Problem): string {
  return problem.tests.kind === "assert" ? problem.tests.programPrefix : "";
}

function firstBlock(text: string): string | null {
  return /```\w*\n([^]*?)```/.exec(text)?.[1] ?? null;
}

function toFence(text: string): string {
  const end = text.indexOf("```");
  return end === -1 ? text : text.slice(0, end);
}

function lastFences(text: string): string | null {
  const lines = text.split("\n");
  const fences = lines.flatMap((line, index) => (line.includes("```") ? [index] : []));
  if (fences.length < 2) return null;
  return lines.slice(fences[fences.length - 2] + 1, fences[fences.length - 1]).join("\n");
}
