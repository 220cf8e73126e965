/** What every command's `--help` ends with, and the words that a shell completes for it. */
import type { Command } from "commander";

/** Words that a shell offers beside the command's own flags and choices. */
export interface Suggestions {
  /** For arguments, e.g. the keys of a config. */
  words?: readonly string[];
  /** Values by flag or key, e.g. `--preset` or `algorithm.adv_estimator`. */
  values?: Readonly<Record<string, readonly string[]>>;
}

const SUGGESTIONS = new WeakMap<Command, () => Suggestions>();

/** Adds examples to a command's help, each a command line and what it is for. */
export function addExamples(command: Command, examples: readonly [line: string, what: string][]) {
  const width = Math.max(...examples.map(([line]) => line.length));
  const lines = examples.map(([line, what]) => `  ${line.padEnd(width)}  # ${what}`);
  command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}

/** Sets what a shell completes for a command; asked for only when a script is written. */
export function suggest(command: Command, suggestions: () => Suggestions): void {
  SUGGESTIONS.set(command, suggestions);
}

/** What a shell completes for a command. */
export function suggestionsFor(command: Command): Suggestions {
  return SUGGESTIONS.get(command)?.() ?? {};
}
