/**
 * Makes pre-tokenizers of tokenizer.json split exactly as the reference implementation does.
 *
 * Two built-in steps use character classes whose meaning differs between JavaScript and the
 * reference (`\s` and the byte-order mark, `\d` and other digits). Written out as `Split` steps,
 * they go through the library's translation of patterns, which keeps the reference's meaning.
 *
 * Source: huggingface/tokenizers, pre_tokenizers/byte_level.rs and digits.rs.
 */

interface PreTokenizer {
  type?: string;
  pretokenizers?: unknown[];
  use_regex?: boolean;
  add_prefix_space?: boolean;
  individual_digits?: boolean;
}

const BYTE_LEVEL_PATTERN = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

/** The same pre-tokenizer with inexact steps replaced; null stays null. */
export function exactPreTokenizer(preTokenizer: unknown): unknown {
  const step = preTokenizer as PreTokenizer | null | undefined;
  switch (step?.type) {
    case "Sequence":
      return { ...step, pretokenizers: step.pretokenizers?.map(exactPreTokenizer) };
    case "Digits":
      return splitStep(step.individual_digits === true ? String.raw`\p{N}` : String.raw`\p{N}+`);
    case "ByteLevel":
      // A prefix space must be added before the split, which only the built-in step does.
      if (step.use_regex === false || step.add_prefix_space === true) return step;
      return {
        type: "Sequence",
        pretokenizers: [splitStep(BYTE_LEVEL_PATTERN), { ...step, use_regex: false }],
      };
    case undefined:
    default:
      return preTokenizer ?? null;
  }
}

function splitStep(pattern: string) {
  return { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false };
}
