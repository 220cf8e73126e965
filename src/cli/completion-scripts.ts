/**
 * Completion scripts for bash, zsh and fish from the words of each command. A script holds all its
 * words, so that completing starts no process.
 */
/** What a shell can complete of one command. */
export interface CommandWords {
  name: string;
  summary: string;
  flags: FlagWords[];
  /** Words for arguments; a shell offers files beside them. */
  words: readonly string[];
  /** Values by flag or key. */
  values: Readonly<Record<string, readonly string[]>>;
}

/** One flag. */
export interface FlagWords {
  /** With its dashes, e.g. `--out`. */
  name: string;
  about: string;
  takesValue: boolean;
}

/** Writes the script for bash 4 and later. */
export function bashScript(commands: readonly CommandWords[]): string {
  return `# Completes rlvr in bash: source <(rlvr completion bash)
_rlvr_words() {
  case $1 in
    "") echo ${quote(commands.map(({ name }) => name).join(" "))} ;;
${cases(commands, ({ flags, words }) => [...flags.map(({ name }) => name), ...words])}
  esac
}
_rlvr_values() {
  case $1 in
${valueCases(commands)}
    *) return 1 ;;
  esac
}
_rlvr() {
  local cur=\${COMP_WORDS[COMP_CWORD]} key= command= i words
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} != -* ]]; then command=\${COMP_WORDS[i]}; break; fi
  done
  # Bash makes = a word of its own: KEY, =, VALUE.
  if [[ $cur == = ]]; then key=\${COMP_WORDS[COMP_CWORD - 1]} cur=
  elif ((COMP_CWORD > 1)) && [[ \${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then key=\${COMP_WORDS[COMP_CWORD - 2]}
  elif ((COMP_CWORD > 1)); then key=\${COMP_WORDS[COMP_CWORD - 1]}
  fi
  if words=$(_rlvr_values "$command $key"); then
    if [[ -n $words ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur"))
    else compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); fi
    return
  fi
  COMPREPLY=($(compgen -W "$(_rlvr_words "$command")" -- "$cur"))
  if [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  if [[ -n $command && $cur != -* && \${#COMPREPLY[@]} == 0 ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -F _rlvr rlvr
`;
}

/** Writes the script for zsh: a function file, or a text to be sourced. */
export function zshScript(commands: readonly CommandWords[]): string {
  const described = (name: string, about: string) =>
    quote(`${name.replaceAll(":", "\\:")}:${about}`);
  const arms = commands.map(({ name, flags, words }) => {
    const rows = flags.map((flag) => described(flag.name, flag.about));
    return `    ${name}) flags=(${rows.join(" ")}) others=(${words.map(quote).join(" ")}) ;;`;
  });
  return `#compdef rlvr
# Completes rlvr in zsh: put it in a folder of $fpath as _rlvr, or source it after compinit.
_rlvr_values() {
  case $1 in
${valueCases(commands)}
    *) return 1 ;;
  esac
}
_rlvr() {
  local command= i key found
  local -a flags others listed
  for ((i = 2; i < CURRENT; i++)); do
    if [[ $words[i] != -* ]]; then command=$words[i]; break; fi
  done
  if [[ -z $command ]]; then
    listed=(${commands.map(({ name, summary }) => described(name, summary)).join(" ")})
    _describe command listed
    return
  fi
  if [[ $PREFIX == *=* ]]; then key=\${PREFIX%%=*}; compset -P '*='; else key=$words[CURRENT-1]; fi
  if found=$(_rlvr_values "$command $key"); then
    if [[ -n $found ]]; then compadd -- \${=found}; else _files; fi
    return
  fi
  case $command in
${arms.join("\n")}
  esac
  if [[ $PREFIX == -* ]]; then _describe option flags; return; fi
  (( $#others )) && compadd -S '' -- $others
  _files
}
if [[ $funcstack[1] == _rlvr ]]; then _rlvr "$@"; else compdef _rlvr rlvr; fi
`;
}

/** Writes the script for fish. */
export function fishScript(commands: readonly CommandWords[]): string {
  const lines = ["# Completes rlvr in fish: rlvr completion fish | source"];
  for (const { name, summary, flags, words, values } of commands) {
    lines.push(`complete -c rlvr -n __fish_use_subcommand -f -a ${name} -d ${fishQuote(summary)}`);
    const seen = `-n '__fish_seen_subcommand_from ${name}'`;
    for (const flag of flags) {
      const choices = values[flag.name] ?? [];
      const value = choices.length > 0 ? ` -x -a ${fishQuote(choices.join(" "))}` : " -r";
      const about = `-d ${fishQuote(flag.about)}`;
      lines.push(
        `complete -c rlvr ${seen} -l ${flag.name.slice(2)}${flag.takesValue ? value : ""} ${about}`,
      );
    }
    const others = words.flatMap((word) => {
      const choices = word.endsWith("=") ? (values[word.slice(0, -1)] ?? []) : [];
      return choices.length > 0 ? choices.map((choice) => word + choice) : [word];
    });
    if (others.length > 0) {
      lines.push(`complete -c rlvr ${seen} -a ${fishQuote(others.join(" "))}`);
    }
  }
  return lines.join("\n") + "\n";
}

function cases(
  commands: readonly CommandWords[],
  wordsOf: (command: CommandWords) => readonly string[],
): string {
  return commands
    .map((command) => `    ${command.name}) echo ${quote(wordsOf(command).join(" "))} ;;`)
    .join("\n");
}

/** Arms for `COMMAND KEY`; those of flags whose value is free echo nothing. */
function valueCases(commands: readonly CommandWords[]): string {
  return commands
    .flatMap(({ name, flags, values }) => {
      const free = flags.filter((flag) => flag.takesValue && !(flag.name in values));
      return [
        ...Object.entries(values).map(([key, words]) => [key, words.join(" ")] as const),
        ...free.map((flag) => [flag.name, ""] as const),
      ].map(([key, words]) => `    ${quote(`${name} ${key}`)}) echo ${quote(words)} ;;`);
    })
    .join("\n");
}

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const fishQuote = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
