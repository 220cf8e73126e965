/**
 * Prompts: how a task is put to a model, always as a chat, and how long the result is.
 *
 * The chapter's template is the default. A template file is YAML with the same keys; what stands in
 * braces is filled in: {problem}, {entry_point}, {starter}.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { z } from "zod";
import { ConfigError } from "../core/errors.js";
import type { ChatMessage, Tests } from "../core/problem.js";
import type { Draft } from "./source.js";

const PLACEHOLDER = /\{(problem|entry_point|starter)\}/g;

const wording = z.string().refine((text) => text.includes("{problem}"), {
  error: "must hold {problem}, where the task goes",
});

/** The wordings of a template, one for each way a program is tested. */
export const promptTemplateSchema = z.strictObject({
  /** The system message; null for none. */
  system: z.string().nullable(),
  stdio: wording,
  call: wording,
  assert: wording,
  answer: wording,
});

/** A template with its name. */
export interface PromptTemplate extends z.infer<typeof promptTemplateSchema> {
  name: string;
}

const ONE_BLOCK = "Return only one Python code block, with no explanations.";

/** The chapter's template for programs; the other wordings follow it. */
export const CHAPTER_TEMPLATE: PromptTemplate = {
  name: "chapter",
  system: "You are a competitive programming assistant.",
  stdio:
    "Read the problem below and write a Python solution that reads from stdin and writes to " +
    `stdout.\n${ONE_BLOCK}\n\nProblem:\n{problem}`,
  call:
    "Read the problem below and write a Python function named {entry_point}.\n" +
    `${ONE_BLOCK}\n\nProblem:\n{problem}{starter}`,
  assert:
    "Read the problem below and write Python code that solves it.\n" +
    `${ONE_BLOCK}\n\nProblem:\n{problem}{starter}`,
  answer: "{problem}\n\nThink step by step and end with a line of the form #### NUMBER.",
};

/**
 * Reads a template file.
 *
 * @throws {ConfigError} if it cannot be read or a key is missing, unknown or without {problem}.
 */
export async function loadTemplate(path: string): Promise<PromptTemplate> {
  let content: unknown;
  try {
    content = parse(await readFile(path, "utf8"));
  } catch (cause) {
    throw new ConfigError(`template ${path} cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
  const result = promptTemplateSchema.safeParse(content);
  if (result.success) return { name: path, ...result.data };
  throw new ConfigError(`template ${path}: ${z.prettifyError(result.error)}`);
}

/** Hash of a template's wordings, so that two files can be told to use the same one. */
export function hashTemplate({ name: _, ...wordings }: PromptTemplate): string {
  return createHash("sha256").update(JSON.stringify(wordings)).digest("hex");
}

/** Builds the chat prompt of a draft. */
export function buildPrompt(draft: Draft, template: PromptTemplate): ChatMessage[] {
  if (draft.prompt !== undefined) return draft.prompt;
  const fields: Record<string, string> = {
    problem: draft.statement,
    entry_point: entryPointOf(draft.tests),
    starter: draft.starter === "" ? "" : `\n\nStart from:\n\`\`\`python\n${draft.starter}\n\`\`\``,
  };
  // One pass, so that braces in a task are never taken for a place to fill in.
  const content = template[draft.tests.kind].replace(PLACEHOLDER, (_, name) => fields[name]);
  const user: ChatMessage = { role: "user", content };
  return template.system === null ? [user] : [{ role: "system", content: template.system }, user];
}

function entryPointOf(tests: Tests): string {
  return (tests.kind === "call" || tests.kind === "assert" ? tests.entryPoint : null) ?? "";
}

/** Measures prompts in tokens. */
export interface PromptMeter {
  /** Length of a prompt in tokens, chat template and generation prompt included. */
  count(messages: readonly ChatMessage[]): number;
  /** How it counts, for the manifest. */
  description: { kind: "characters"; per_token: number } | { kind: "tokenizer"; sha256: string };
}

const CHARACTERS_PER_TOKEN = 4;

/** The chapter's rule without a tokenizer: one token for every four characters of all messages. */
export const CHARACTER_METER: PromptMeter = {
  count: (messages) =>
    messages.reduce((sum, message) => sum + countCharacters(message.content), 0) /
    CHARACTERS_PER_TOKEN,
  description: { kind: "characters", per_token: CHARACTERS_PER_TOKEN },
};

/** Characters as Python counts them: code points, not UTF-16 units. */
function countCharacters(text: string): number {
  let pairs = 0;
  for (let i = 0; i < text.length; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      pairs++;
    }
  }
  return text.length - pairs;
}
