/**
 * Colour on terminals only. `NO_COLOR` turns it off everywhere and comes first; `FORCE_COLOR` turns
 * it on everywhere, as `0` or `false` off. Source: no-color.org; commander decides the same for help.
 */
import { styleText } from "node:util";

/** What a text may look like. */
export type Style = "bold" | "dim" | "red" | "yellow" | "green";

/** Paints a text for a stream, or answers it as it is where that stream shows no colour. */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream): string {
  return hasColor(stream) ? styleText(style, text, { validateStream: false }) : text;
}

/** True when text on this stream may hold colour. */
export function hasColor(
  stream: { isTTY?: boolean },
  { NO_COLOR, FORCE_COLOR, TERM }: NodeJS.ProcessEnv = process.env,
): boolean {
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
  return stream.isTTY === true && TERM !== "dumb";
}
