/** Area tokenizer: how text is split before BPE, and how often a start token appears. */
import { createTokenizer } from "../../../src/model/tokenizer.js";
import { type Case, SkipCase } from "../case.js";

interface SplitInput {
  pattern: string;
  text: string;
}

interface StartInput {
  rendered_text: string;
  bos_token: string;
  bos_id: number;
}

/** Every split piece, and every character of the text, becomes a token of its own. */
export async function run({ input, expected }: Case): Promise<string | null> {
  if ("pattern" in input) {
    return checkPieces(input as unknown as SplitInput, (expected as { pieces: string[] }).pieces);
  }
  if ("bos_token" in input) {
    return checkStart(
      input as unknown as StartInput,
      (expected as { count_bos: number }).count_bos,
    );
  }
  throw new SkipCase("the case is neither about splitting nor about start tokens");
}

/** A vocabulary of the wanted pieces: a text split otherwise meets a piece that is not in it. */
function checkPieces({ pattern, text }: SplitInput, pieces: string[]): string | null {
  const vocab = Object.fromEntries([...new Set(pieces)].map((piece, id) => [piece, id + 1]));
  const tokenizer = createTokenizer({
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: {
      type: "Split",
      pattern: { Regex: pattern },
      behavior: "Isolated",
      invert: false,
    },
    post_processor: null,
    decoder: null,
    model: { type: "WordLevel", vocab: { "<other>": 0, ...vocab }, unk_token: "<other>" },
  });
  const found = tokenizer.encode(text).map((id) => tokenizer.pieceOf(id));
  return found.join("|") === pieces.join("|")
    ? null
    : `expected ${JSON.stringify(pieces)}, got ${JSON.stringify(found)}`;
}

/** The tokenizer's own rule puts a start token before any text. */
function checkStart(
  { rendered_text: text, bos_token: bos, bos_id: id }: StartInput,
  count: number,
) {
  const letters = [...new Set(text.replace(bos, ""))];
  const vocab = Object.fromEntries(letters.map((letter, i) => [letter, id + 1 + i]));
  const special = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const tokenizer = createTokenizer(
    {
      added_tokens: [{ id, content: bos, special: true, ...special }],
      normalizer: null,
      pre_tokenizer: {
        type: "Split",
        pattern: { Regex: String.raw`[\s\S]` },
        behavior: "Isolated",
        invert: false,
      },
      post_processor: {
        type: "TemplateProcessing",
        single: [{ SpecialToken: { id: bos, type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
        pair: [],
        special_tokens: { [bos]: { id: bos, ids: [id], tokens: [bos] } },
      },
      decoder: null,
      model: { type: "WordLevel", vocab: { [bos]: id, ...vocab }, unk_token: bos },
    },
    { bos_token: bos },
  );
  const found = tokenizer.encode(text).filter((token) => token === id).length;
  return found === count ? null : `expected ${count} start tokens, got ${found}`;
}
