/**
 * Finds the problem that a decoded prompt asks: the text of its messages stands in it, between words
 * of the model's chat template.
 */
import type { Problem } from "../core/problem.js";

/** Problems by the longest line of their prompts, which few others share. */
export class PromptIndex {
  readonly #byLine = new Map<string, Problem[]>();

  constructor(problems: Iterable<Problem>) {
    for (const problem of problems) {
      const line = longest(textsOf(problem).flatMap((text) => linesOf(text)));
      const known = this.#byLine.get(line);
      if (known === undefined) this.#byLine.set(line, [problem]);
      else known.push(problem);
    }
  }

  /** The problem of a decoded prompt; null where none fits, or two that ask the same. */
  find(prompt: string): Problem | null {
    // Tokenizers may compose characters.
    const input = prompt.normalize("NFC");
    const found = new Set<Problem>();
    for (const line of new Set(linesOf(input))) {
      for (const problem of this.#byLine.get(line) ?? []) {
        if (textsOf(problem).every((text) => input.includes(text))) found.add(problem);
      }
    }
    // One task may contain another's words: the one that says most is meant.
    const [first, second] = [...found].sort((a, b) => lengthOf(b) - lengthOf(a));
    if (first === undefined) return null;
    return second !== undefined && lengthOf(second) === lengthOf(first) ? null : first;
  }
}

const textsOf = ({ prompt }: Problem) =>
  prompt.map(({ content }) => content.normalize("NFC").trim());
const linesOf = (text: string) => text.split("\n").map((line) => line.trim());
const longest = (lines: string[]) => lines.reduce((a, b) => (b.length > a.length ? b : a), "");
const lengthOf = (problem: Problem) => textsOf(problem).join("").length;
