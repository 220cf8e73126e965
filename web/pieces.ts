/**
 * Tokens as people read them. A byte-level tokenizer writes each byte of a token as one printable
 * character (a space as Ġ, a line end as Ċ); a SentencePiece one writes spaces as ▁.
 *
 * Source: `bytes_to_unicode` of GPT-2's encoder.py.
 */

const BYTES = byteOfCharacter();

/** Undoes the tokenizer's spelling. A piece that ends inside a character shows a replacement sign. */
export function readPieces(pieces: readonly string[]): string[] {
  const isByteLevel =
    pieces.some((piece) => /[ĠĊ]/.test(piece)) &&
    pieces.every((piece) => [...piece].every((character) => BYTES.has(character)));
  if (isByteLevel) {
    const decoder = new TextDecoder();
    return pieces.map((piece) =>
      decoder.decode(Uint8Array.from([...piece], (character) => BYTES.get(character) as number)),
    );
  }
  return pieces.map((piece) => piece.replaceAll("▁", " "));
}

/** Printable bytes stand for themselves; the others for the characters from U+0100 on, in order. */
function byteOfCharacter(): Map<string, number> {
  const bytes = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const isItself = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    bytes.set(String.fromCodePoint(isItself ? byte : next++), byte);
  }
  return bytes;
}
