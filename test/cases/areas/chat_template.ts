/** Area chat_template: rendered text against the reference Jinja's. */
import type { ChatMessage } from "../../../src/core/problem.js";
import { compileChatTemplate, renderJinja } from "../../../src/model/chat-template.js";
import type { Case } from "../case.js";

interface Input {
  template: string;
  context: { messages?: ChatMessage[]; add_generation_prompt?: boolean };
}

/** Renders messages as the tokenizer does, and any other context as it stands. */
export async function run({ input, expected }: Case): Promise<string | null> {
  const { template, context } = input as unknown as Input;
  const { messages, add_generation_prompt: addGenerationPrompt = false } = context;
  const text =
    messages === undefined
      ? renderJinja(template, context)
      : compileChatTemplate(template).render(messages, { addGenerationPrompt });
  const wanted = (expected as { text: string }).text;
  return text === wanted ? null : `expected ${JSON.stringify(wanted)}, got ${JSON.stringify(text)}`;
}
