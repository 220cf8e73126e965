/** `rlvr completion`: a script that completes commands, flags, their values and config keys. */
import { Argument, type Command } from "commander";
import { bashScript, type CommandWords, fishScript, zshScript } from "./completion-scripts.js";
import { addExamples, suggestionsFor } from "./help.js";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** Defines the command. */
export function define(command: Command): void {
  command
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(SCRIPTS)))
    .option("--json", "print the words that the script completes, as JSON")
    .action((shell: keyof typeof SCRIPTS, { json }: { json?: true }) => {
      const commands = (command.parent?.commands ?? []).map(wordsOf);
      const names = commands.map(({ name }) => name);
      commands.push({
        name: "help",
        summary: "Explain a command.",
        flags: [],
        words: names,
        values: {},
      });
      process.stdout.write(json ? `${JSON.stringify(commands)}\n` : SCRIPTS[shell](commands));
    });
  addExamples(command, [
    ["source <(rlvr completion bash)", "in this shell; in ~/.bashrc for every shell"],
    ["rlvr completion zsh > ~/.zfunc/_rlvr", "a folder of $fpath"],
    ["rlvr completion fish > ~/.config/fish/completions/rlvr.fish", "found by fish itself"],
  ]);
}

function wordsOf(command: Command): CommandWords {
  const { words = [], values = {} } = suggestionsFor(command);
  const flags = command.options.map(({ long, description, required, optional }) => ({
    name: long ?? "",
    about: description,
    takesValue: required || optional,
  }));
  const choices = command.options.flatMap(({ long, argChoices }) =>
    argChoices === undefined ? [] : [[long ?? "", argChoices] as const],
  );
  return {
    name: command.name(),
    summary: command.description(),
    flags: [...flags, { name: "--help", about: "explain the command", takesValue: false }],
    words: [...words, ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)],
    values: { ...values, ...Object.fromEntries(choices) },
  };
}
