/**
 * Chat templates: messages → the text a chat model was trained to read.
 *
 * The template is the model's own Jinja program. Rendered text holds its special tokens as text, so
 * it is tokenized without adding any: a template that writes the start token itself must not get a
 * second one.
 */
import { Template } from "@huggingface/jinja";
import { CheckpointError, ConfigError } from "../core/errors.js";
import type { ChatMessage } from "../core/problem.js";

/** What a template sees besides messages. */
export interface ChatTemplateContext {
  addGenerationPrompt: boolean;
  bosToken?: string;
  eosToken?: string;
  /** Further variables, e.g. `tools` or `enable_thinking`. */
  variables?: Readonly<Record<string, unknown>>;
}

/** A compiled template. */
export interface ChatTemplate {
  /** @throws {ConfigError} if the template refuses the messages. */
  render(messages: readonly ChatMessage[], context: ChatTemplateContext): string;
}

/**
 * Compiles a template.
 * @throws {CheckpointError} if it is not valid Jinja.
 */
export function compileChatTemplate(source: string): ChatTemplate {
  let template: Template;
  try {
    template = new Template(source);
  } catch (error) {
    throw new CheckpointError(`the chat template does not parse: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return {
    render: (messages, { addGenerationPrompt, bosToken, eosToken, variables }) =>
      renderTemplate(template, {
        messages: messages.map(withParsedArguments),
        add_generation_prompt: addGenerationPrompt,
        bos_token: bosToken ?? "",
        eos_token: eosToken ?? "",
        ...variables,
      }),
  };
}

function renderTemplate(template: Template, context: Record<string, unknown>): string {
  try {
    return template.render(context);
  } catch (error) {
    throw new ConfigError(`the chat template refuses the messages: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Renders a template with variables as they are. */
export function renderJinja(source: string, context: Readonly<Record<string, unknown>>): string {
  return renderTemplate(new Template(source), { ...context });
}

/** Templates walk over a tool call's arguments as a record, but messages often carry JSON text. */
function withParsedArguments(message: unknown): unknown {
  const { tool_calls: calls, ...rest } = Object(message) as { tool_calls?: unknown };
  if (!Array.isArray(calls)) return message;
  return { ...rest, tool_calls: calls.map(parseCall) };
}

function parseCall(call: { function?: { arguments?: unknown } }): unknown {
  const text = call.function?.arguments;
  if (typeof text !== "string") return call;
  try {
    return { ...call, function: { ...call.function, arguments: JSON.parse(text) as unknown } };
  } catch {
    return call;
  }
}
