/**
 * The starter model's tokenizer: byte-level byte-pair encoding in the layout of Qwen2's
 * `tokenizer.json`, trained on our own texts.
 *
 * Texts are first cut into pieces: a word, a single digit or a run of signs, each with the blank
 * before it, and a line break with the indentation after it. Merges happen inside pieces alone. Any
 * text has tokens, since every byte has one, so programs come back exactly.
 *
 * Source: Sennrich et al. 2016, https://arxiv.org/abs/1508.07909
 */

/** Special tokens, in the order of their ids. */
export const SPECIAL_TOKENS = [
  "<|endoftext|>",
  "<|im_end|>",
  "<|system|>",
  "<|user|>",
  "<|assistant|>",
] as const;

/** Pads batches; never in a text. */
export const PAD_TOKEN = SPECIAL_TOKENS[0];
/** Ends every message, and so every answer. */
export const END_TOKEN = SPECIAL_TOKENS[1];

const PIECES = " ?\\p{L}+| ?\\p{N}| ?[^\\s\\p{L}\\p{N}]+|\\n *|\\s";

const CHAT_TEMPLATE =
  "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|im_end|>' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

/** The files of a tokenizer, by name. */
export interface TokenizerFiles {
  "tokenizer.json": object;
  "tokenizer_config.json": object;
  "special_tokens_map.json": object;
}

/**
 * Trains a tokenizer on texts until every piece that occurs `minimum` times or more is one token.
 */
export function trainTokenizer(texts: Iterable<string>, minimum: number): TokenizerFiles {
  const merges = learnMerges(countPieces(texts), minimum);
  const symbols = [...SPECIAL_TOKENS, ...BYTE_SYMBOLS, ...merges.map((pair) => pair.join(""))];
  const vocab = Object.fromEntries(symbols.map((symbol, id) => [symbol, id]));
  return {
    "tokenizer.json": {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: SPECIAL_TOKENS.map((content, id) => ({
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true,
      })),
      normalizer: null,
      pre_tokenizer: {
        type: "Sequence",
        pretokenizers: [
          { type: "Split", pattern: { Regex: PIECES }, behavior: "Isolated", invert: false },
          { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
        ],
      },
      post_processor: null,
      decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: {
        type: "BPE",
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab,
        merges,
      },
    },
    "tokenizer_config.json": {
      tokenizer_class: "PreTrainedTokenizerFast",
      model_max_length: 256,
      bos_token: null,
      eos_token: END_TOKEN,
      pad_token: PAD_TOKEN,
      unk_token: null,
      add_prefix_space: false,
      clean_up_tokenization_spaces: false,
      chat_template: CHAT_TEMPLATE,
    },
    "special_tokens_map.json": { eos_token: END_TOKEN, pad_token: PAD_TOKEN },
  };
}

/** [256] The visible character that stands for each byte, as GPT-2's encoder has it. */
const BYTE_SYMBOLS: string[] = (() => {
  const isVisible = (b: number) => (b >= 33 && b <= 126) || (b >= 161 && b !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(isVisible(b) ? b : next++));
})();

function countPieces(texts: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  const pattern = new RegExp(PIECES, "gu");
  const encoder = new TextEncoder();
  for (const text of texts) {
    for (const [piece] of text.matchAll(pattern)) {
      const symbols = [...encoder.encode(piece)].map((byte) => BYTE_SYMBOLS[byte]).join("");
      counts.set(symbols, (counts.get(symbols) ?? 0) + 1);
    }
  }
  return counts;
}

/** Merges the most frequent pair again and again; ties go to the pair first in code order. */
function learnMerges(pieces: Map<string, number>, minimum: number): [string, string][] {
  const words = [...pieces].map(([piece, count]) => ({ symbols: [...piece], count }));
  const merges: [string, string][] = [];
  for (;;) {
    const best = mostFrequentPair(words, minimum);
    if (best === null) return merges;
    merges.push(best);
    for (const word of words) word.symbols = mergePair(word.symbols, best);
  }
}

function mostFrequentPair(
  words: { symbols: string[]; count: number }[],
  minimum: number,
): [string, string] | null {
  const counts = new Map<string, number>();
  for (const { symbols, count } of words) {
    for (let i = 1; i < symbols.length; i++) {
      const pair = `${symbols[i - 1]} ${symbols[i]}`;
      counts.set(pair, (counts.get(pair) ?? 0) + count);
    }
  }
  let best: string | null = null;
  for (const [pair, count] of counts) {
    if (count < minimum) continue;
    const lead = best === null ? 1 : count - counts.get(best)!;
    if (lead > 0 || (lead === 0 && pair < best!)) best = pair;
  }
  return best === null ? null : (best.split(" ") as [string, string]);
}

function mergePair(symbols: string[], [left, right]: [string, string]): string[] {
  const merged: string[] = [];
  for (const symbol of symbols) {
    if (symbol === right && merged.at(-1) === left) merged[merged.length - 1] = left + right;
    else merged.push(symbol);
  }
  return merged;
}
