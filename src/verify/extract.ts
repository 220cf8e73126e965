/**
 * Completion → program.
 *
 * The rules, in order: end-of-text tokens go; everything up to the last `</think>` goes, and an
 * unclosed `<think>` means that no answer was given; fenced blocks are found by the CommonMark
 * rules; blocks tagged with the language come before untagged ones, blocks of other languages do
 * not count; of the blocks left, the last that defines the entry point, else the last. Blocks are
 * never joined. A completion that only closes a fence continues one that the prompt opened. Where the
 * prompt began the program, what stands before any fence may be its body. With no fence at all, the
 * longest run of lines that look like a program is taken, and `format` is
 * false. A fence counts only where a line starts, so that back-ticks in strings are text.
 */
import { type Fence, parseFences } from "./fences.js";
import type { Extraction } from "./verifier.js";

/** What the extractor is told of the problem. */
export interface ExtractRequest {
  completion: string;
  /** Language of the program asked for. */
  language: string;
  /** The function that the program is to define; null for whole programs. */
  entryPoint: string | null;
  /** The prompt began the program, so that a completion may go on with its body. */
  continues?: boolean;
}

/** Words of an info string that name a language, in lower case; a version may stand behind them. */
const LANGUAGE_TAGS: Record<string, readonly string[]> = {
  python: ["python", "py", "cpython", "pypy", "ipython"],
  cpp: ["cpp", "c++", "cc", "cxx", "gnu++"],
  c: ["c"],
  javascript: ["javascript", "js", "node", "nodejs", "mjs"],
  typescript: ["typescript", "ts"],
  java: ["java"],
  go: ["go", "golang"],
  rust: ["rust", "rs"],
  bash: ["bash", "sh", "shell"],
};

/** Tokens that end a text in common chat templates; a decoder may leave them standing. */
const END_TOKENS = [
  ...["im_end", "endoftext", "end_of_text", "eot_id", "eom_id", "end", "im_start", "EOT"].map(
    (name) => `<|${name}|>`,
  ),
  ...["</s>", "<eos>", "<end_of_turn>", "<｜end▁of▁sentence｜>"],
];

/** Finds the program of a completion, and tells how it was found. */
export function extractProgram(request: ExtractRequest): Extraction {
  const text = withoutEndTokens(request.completion);
  const answer = text.slice(thinkingEnd(text));
  if (answer.trim() === "") return none("empty");
  const fences = parseFences(answer);
  if (hasOpenThink(answer, fences)) return none("unclosed_think");
  const continued =
    continuation(answer, fences, request) ?? continuedFence(answer, fences, request);
  if (continued !== null) return continued;
  if (fences.length === 0) return fromPlainText(answer, request);
  return fromFences(fences, request);
}

/** From the end, one token at a time: a pattern would try every run of blanks in the text. */
function withoutEndTokens(text: string): string {
  let rest = text;
  for (;;) {
    const trimmed = rest.trimEnd();
    const token = END_TOKENS.find((end) => trimmed.endsWith(end));
    if (token === undefined) return rest === text ? text : trimmed;
    rest = trimmed.slice(0, -token.length);
  }
}

function fromFences(fences: Fence[], { language, entryPoint }: ExtractRequest): Extraction {
  const tags = LANGUAGE_TAGS[language] ?? [language];
  const tagged = fences.filter(({ info }) => tags.includes(tagOf(info).replace(/[\d.]+$/, "")));
  const untagged = fences.filter(({ info }) => tagOf(info) === "");
  if (tagged.length + untagged.length === 0) return none("wrong_language");
  const chosen = choose(tagged, untagged, entryPoint);
  if (chosen === null) return none("empty");
  const program = chosen.content;
  if (!chosen.isClosed) return { program, format: false, reason: "unclosed" };
  if (!tagged.includes(chosen)) return { program, format: false, reason: "untagged_block" };
  return { program, format: true, reason: "block" };
}

/** The last block that defines the entry point, tagged blocks first; else the last of them. */
function choose(tagged: Fence[], untagged: Fence[], entryPoint: string | null): Fence | null {
  const filled = [tagged, untagged].map((some) => some.filter(({ content }) => content.trim()));
  if (entryPoint !== null) {
    for (const some of filled) {
      const defining = some.filter(({ content }) => definesName(content, entryPoint));
      if (defining.length > 0) return defining[defining.length - 1];
    }
  }
  const blocks = filled[0].length > 0 ? filled[0] : filled[1];
  return blocks.length === 0 ? null : blocks[blocks.length - 1];
}

/** Says whether a program has a line that defines this function, class or variable. */
export function definesName(program: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = `^[ \\t]*(?:(?:async[ \\t]+)?def|class)[ \\t]+${escaped}\\b|^${escaped}[ \\t]*(?::[^=\\n]+)?=[^=]`;
  return new RegExp(pattern, "m").test(program);
}

/** The first word of an info string: `python title="a"`, `{.python}` and `Python,linenos` → python. */
function tagOf(info: string): string {
  const word = /^\{?\.?([^\s{},:;]*)/.exec(info)?.[1] ?? "";
  return word.toLowerCase();
}

/**
 * What goes on where the prompt's program stops: all of it up to a fence that closes what the prompt
 * opened. A completion that writes the whole function instead, with prose around it, is a program.
 */
function continuation(
  answer: string,
  fences: Fence[],
  { language, entryPoint, continues = false }: ExtractRequest,
): Extraction | null {
  if (!continues || language !== "python") return null;
  const isDefined = (text: string) => entryPoint !== null && definesName(text, entryPoint);
  const first = fences[0];
  const text = first === undefined ? answer : answer.slice(0, first.start);
  const isOpened = first !== undefined && (first.info !== "" || !startsBody(text));
  if (isOpened || fences.some(({ content }) => isDefined(content))) return null;
  const reason = first === undefined ? "heuristic" : "closing_fence_only";
  const whole = isDefined(text) ? programRuns(text).filter(isDefined).pop() : undefined;
  return { program: whole ?? text, format: false, reason };
}

function startsBody(text: string): boolean {
  const line = text.trimStart().split("\n", 1)[0];
  return isProgramLine(line) || /^(?:return|yield)\b/.test(line);
}

/**
 * A bare fence that closes what the prompt opened: the only fence, nothing or prose behind it, and
 * a program before it.
 */
function continuedFence(
  answer: string,
  fences: Fence[],
  { language, entryPoint }: ExtractRequest,
): Extraction | null {
  const [fence] = fences;
  if (language !== "python" || fences.length !== 1 || fence.isClosed || fence.info !== "") {
    return null;
  }
  const before = answer.slice(0, fence.start);
  if (!looksLikeProgram(before)) return null;
  const after = fence.content;
  if (after.trim() !== "" && looksLikeProgram(after)) return null;
  if (entryPoint !== null && !definesName(before, entryPoint) && definesName(after, entryPoint)) {
    return null;
  }
  return { program: before, format: false, reason: "closing_fence_only" };
}

function fromPlainText(answer: string, { language }: ExtractRequest): Extraction {
  if (language !== "python") return none("no_block");
  const program = longestProgram(answer);
  if (program === null) return none("no_block");
  return { program, format: false, reason: "heuristic" };
}

function none(reason: Extraction["reason"]): Extraction {
  return { program: null, format: false, reason };
}

/** Offset behind the last `</think>`; 0 without one. */
function thinkingEnd(text: string): number {
  const at = text.lastIndexOf("</think>");
  return at === -1 ? 0 : at + "</think>".length;
}

/** A `<think>` outside of every block: the completion stopped before its answer. */
function hasOpenThink(answer: string, fences: Fence[]): boolean {
  for (let at = answer.indexOf("<think>"); at !== -1; at = answer.indexOf("<think>", at + 1)) {
    const inBlock = fences.some(({ start, end }) => start < at && at < end);
    const quoted = /["'`]/.test(answer[at - 1] ?? "");
    if (!inBlock && !quoted) return true;
  }
  return false;
}

/**
 * Forms of a Python line that prose does not take. No two neighbouring parts match the same text and
 * a dot matches all characters, else a long line would be tried in every division.
 */
const PYTHON_LINE = [
  /^import [\w.]+(?: as \w+)?(?:, *[\w.]+(?: as \w+)?)*\s*(?:#.*)?$/s,
  /^from [\w.]+ import [\w*(]/,
  /^(?:async )?def \w+\s*\(/,
  /^class \w+\s*[:(]/,
  /^(?:if|elif|while|for|with|match|except|case)\b.*:\s*(?:\S.*)?$/s,
  /^(?:else|try|finally)\s*:/,
  /^(?:if|elif|while|for|with|assert|return)\b.*\\$/s,
  /^@[\w.]+/,
  /^(?:print|input|exit|quit|main|solve|sys\.\w+(?:\.\w+)*)\s*\(/,
  /^[\w.]+(?:\[[^\]]*\])*\s*\(.*\)\s*(?:#.*)?$/s,
  /^[A-Za-z_][\w.]*(?:\[[^\]]*\])*(?:\s*,\s*[A-Za-z_*][\w.]*(?:\[[^\]]*\])*)*\s*(?::[^=]+)?(?:[-+*/%&|^@]|\/\/|\*\*|<<|>>)?=(?!=)\s*\S/,
  /^(?:pass|break|continue|raise\b.*|assert\b.*[=<>(].*|del \w.*|global \w.*)$/s,
  /^(?:"""|'''|#|\)|\]|\})/,
];

function isProgramLine(line: string): boolean {
  return PYTHON_LINE.some((pattern) => pattern.test(line)) || isNestedStatement(line);
}

/**
 * Statements whose brackets stand in brackets, which no pattern reads: assignments to targets such as
 * `a[b[0]]`, `(a, b)` and `*a`, calls of methods, comprehensions. Reads the line once.
 */
function isNestedStatement(line: string): boolean {
  const text = line.trimEnd();
  for (let at = 0; ;) {
    const start = at + (text[at] === "*" ? 1 : 0);
    const end = atomEnd(text, start);
    if (end === null) return false;
    const rest = text.slice(end).trimStart();
    if (/^(?:[-+*/%&|^@]|\/\/|\*\*|<<|>>)?=(?!=)\s*\S/.test(rest)) return true;
    if (at === 0 && (rest === "" || rest.startsWith("#"))) {
      const atom = text.slice(0, end);
      return atom.startsWith("[") ? isComprehension(atom) : /^["'\w].*\)$/s.test(atom);
    }
    if (!/^,\s*[\w*([=]/.test(rest)) return false;
    if (/^,\s*=(?!=)/.test(rest)) return true;
    at = text.length - rest.slice(1).trimStart().length;
  }
}

function isComprehension(atom: string): boolean {
  const at = atom.indexOf(" for ");
  return at !== -1 && atom.includes(" in ", at);
}

/** End of a name, text or bracket with the attributes, subscripts and calls behind it; or null. */
function atomEnd(text: string, start: number): number | null {
  const parts = /\.?[A-Za-z_]\w*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[([{]/y;
  let at = start;
  for (let isFirst = true; at < text.length; isFirst = false) {
    parts.lastIndex = at;
    const part = parts.exec(text)?.[0];
    const isAllowed = isFirst ? !part?.startsWith(".") : /^[.([]/.test(part ?? "");
    if (part === undefined || !isAllowed) break;
    const end = "([{".includes(part) ? bracketEnd(text, at) : at + part.length;
    if (end === null) return null;
    at = end;
  }
  return at === start ? null : at;
}

/** Offset behind the bracket that closes the one here; null when it stays open in this line. */
function bracketEnd(text: string, start: number): number | null {
  let depth = 0;
  const tokens = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|#.*|[()[\]{}]/gs;
  tokens.lastIndex = start;
  for (let match = tokens.exec(text); match !== null; match = tokens.exec(text)) {
    if ("([{".includes(match[0])) depth++;
    else if (")]}".includes(match[0])) depth--;
    if (depth === 0) return tokens.lastIndex;
  }
  return null;
}

function looksLikeProgram(text: string): boolean {
  const run = longestProgram(text);
  return run !== null && run.trim() === text.trim();
}

function longestProgram(text: string): string | null {
  let best: string | null = null;
  const length = (run: string | null) => (run === null ? 0 : run.split("\n").length);
  for (const run of programRuns(text)) if (length(run) > length(best)) best = run;
  return best;
}

/**
 * Runs of lines that start with a statement and hold nothing but statements, lines indented under
 * them, lines inside brackets or long strings, and blank lines. A run of comments is none.
 */
function programRuns(text: string): string[] {
  const lines = text.split(/\r?\n/);
  const runs: string[] = [];
  for (let start = 0; start < lines.length; start++) {
    if (!isProgramLine(lines[start]) || /^[)\]}]/.test(lines[start])) continue;
    const end = runEnd(lines, start);
    const run = lines.slice(start, end);
    while (run.length > 0 && run[run.length - 1].trim() === "") run.pop();
    if (run.some((line) => !line.startsWith("#"))) runs.push(run.join("\n") + "\n");
    start = end - 1;
  }
  return runs;
}

function runEnd(lines: string[], start: number): number {
  const state = { brackets: 0, quote: "" };
  let i = start;
  for (; i < lines.length; i++) {
    const line = lines[i];
    const goesOn = i > start && /^[^#]*\\$/.test(lines[i - 1]);
    const inside = goesOn || state.quote !== "" || state.brackets > 0;
    const fits = inside || line.trim() === "" || /^[ \t]/.test(line) || isProgramLine(line);
    if (!fits) break;
    scanLine(line, state);
  }
  return i;
}

/** Follows brackets and triple-quoted strings over one line. */
function scanLine(line: string, state: { brackets: number; quote: string }): void {
  const tokens = /"""|'''|\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|#.*|[()[\]{}]/g;
  for (const [token] of line.matchAll(tokens)) {
    if (state.quote !== "") {
      if (token === state.quote) state.quote = "";
    } else if (token === '"""' || token === "'''") {
      state.quote = token;
    } else if ("([{".includes(token)) {
      state.brackets++;
    } else if (")]}".includes(token)) {
      state.brackets = Math.max(0, state.brackets - 1);
    }
  }
}

/** Writes a program as the completion that holds it and nothing else. */
export function blockOf(program: string, language = "python"): string {
  const runs = [...program.matchAll(/`{3,}/g)].map(([run]) => run.length);
  const fence = "`".repeat(Math.max(2, ...runs) + 1);
  return `${fence}${language}\n${program}${program.endsWith("\n") ? "" : "\n"}${fence}\n`;
}
