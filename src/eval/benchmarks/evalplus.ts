/**
 * What EvalPlus' prompts for HumanEval and MBPP have in common. The wording is the harness's own, as
 * it must be for its numbers to come out again.
 */
import type { ChatMessage } from "../../core/problem.js";
import { userMessage } from "./benchmark.js";

/** Where EvalPlus cuts every completion. */
export const EVALPLUS_STOP = [
  "<|endoftext|>",
  "<|endofmask|>",
  "</s>",
  "\nif __name__",
  "\ndef main(",
  "\nprint(",
];

/** The style for instruct models but for its messages: the answer stands in a begun code block. */
export const EVALPLUS_CHAT = {
  about: "EvalPlus chat: begins the assistant's answer (needs prefill)",
  kind: "chat",
  stop: ["\n```", ...EVALPLUS_STOP],
  extract: "prefilled_block",
} as const;

/** The messages for a task, the last of which begins the answer. */
export function evalplusMessages(task: string): ChatMessage[] {
  return [
    ...userMessage(
      "Please provide a self-contained Python script that solves the following problem in a " +
        `markdown code block:\n\`\`\`\n${task}\n\`\`\`\n`,
    ),
    {
      role: "assistant",
      content:
        "Below is a Python script with a self-contained function that solves the problem and " +
        "passes corresponding tests:\n```python\n",
    },
  ];
}
