/** The code blocks of a Markdown page, and the commands in them. */

/** A fenced or indented block. */
export interface Block {
  /** Counted from 1: the block's first line of code. */
  line: number;
  /** The fence's word, lower case; empty for an indented block and a bare fence. */
  language: string;
  text: string;
}

/** Blocks whose text a reader would type into a shell; an untagged block counts as one. */
const SHELL = new Set(["", "sh", "bash", "shell", "console"]);

/** Finds every block of a page. */
export function blocksOf(page: string): Block[] {
  const lines = page.split("\n");
  const blocks: Block[] = [];
  for (let i = 0; i < lines.length; i++) {
    const fence = /^ *(```+|~~~+) *(\S*)/.exec(lines[i]);
    if (fence !== null) {
      const end = lines.findIndex((text, at) => at > i && text.trimStart().startsWith(fence[1]));
      const text = lines.slice(i + 1, end).join("\n");
      blocks.push({ line: i + 2, language: fence[2].toLowerCase(), text });
      i = end;
    } else if (isIndented(lines[i]) && (i === 0 || lines[i - 1].trim() === "")) {
      let end = i;
      while (end < lines.length && (isIndented(lines[end]) || lines[end].trim() === "")) end++;
      const text = lines.slice(i, end).map((line) => line.slice(4));
      blocks.push({ line: i + 1, language: "", text: text.join("\n").trimEnd() });
      i = end - 1;
    }
  }
  return blocks;
}

const isIndented = (line: string) => /^ {4,}\S/.test(line);

/** The commands of a block, without comments; none where it is no shell block. */
export function commandsOf({ language, text }: Block): string[] {
  if (!SHELL.has(language)) return [];
  const lines = text.split("\n");
  const isSession = lines.some((line) => line.startsWith("$ "));
  const typed = isSession ? lines.filter((line) => line.startsWith("$ ")) : lines;
  const commands: string[] = [];
  let open = "";
  for (const line of typed) {
    open += (open === "" ? "" : "\n") + (isSession ? line.slice(2) : line);
    if (isUnfinished(open)) continue;
    const command = withoutComment(open);
    if (command !== "") commands.push(command);
    open = "";
  }
  if (open !== "") throw new Error(`a command has no end: ${open}`);
  return commands;
}

/** Whether a quote is open at the end, or the last line goes on. */
function isUnfinished(command: string): boolean {
  return command.endsWith("\\") || quoteAt(command) !== null;
}

/** The quote that is open at the end of a text; comments may hold any. */
function quoteAt(text: string): string | null {
  let quote: string | null = null;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === "\\" && quote !== "'") i++;
    else if (quote === null && isComment(text, i)) i = endOfLine(text, i);
    else if (quote === null && (char === "'" || char === '"')) quote = char;
    else if (char === quote) quote = null;
  }
  return quote;
}

const isComment = (text: string, i: number) =>
  text[i] === "#" && (i === 0 || /\s/.test(text[i - 1]));

function endOfLine(text: string, i: number): number {
  const end = text.indexOf("\n", i);
  return end === -1 ? text.length : end;
}

function withoutComment(command: string): string {
  for (let i = 0; i < command.length; i++) {
    if (isComment(command, i) && quoteAt(command.slice(0, i)) === null) {
      return (command.slice(0, i) + command.slice(endOfLine(command, i))).trim();
    }
  }
  return command.trim();
}

/** The code spans of a page's running text. */
export function spansOf(page: string): string[] {
  const prose = page.replace(/^ *(```+)[^]*?^ *\1 *$/gm, "").replace(/^ {4}.*$/gm, "");
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span);
}
