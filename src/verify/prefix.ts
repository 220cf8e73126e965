/**
 * Programs that continue a given beginning, as HumanEval's do: a base model goes on where the
 * prompt's function stops, a chat model writes the function anew.
 */
import { definesName } from "./extract.js";

/**
 * Joins what the prompt began and what the completion added.
 *
 * A program that holds the beginning stays as it is. One that defines the entry point itself gets
 * the beginning in front, for its imports and helpers. Anything else is a function body: it starts
 * on a line of its own, and is indented when it starts at the margin (official HumanEval joins
 * verbatim, and such a body is then a syntax error).
 */
export function joinPrefix(prefix: string, program: string, entryPoint: string | null): string {
  if (prefix.trim() === "" || program.startsWith(prefix.trimEnd())) return program;
  const beginning = prefix.endsWith("\n") ? prefix : `${prefix}\n`;
  if (entryPoint !== null && definesName(program, entryPoint)) return `${beginning}\n${program}`;
  return beginning + indented(program);
}

/** Cuts a completion at the first stop text; stop texts are plain text, never patterns. */
export function truncateAtStops(completion: string, stops: readonly string[]): string {
  const found = stops.map((stop) => completion.indexOf(stop)).filter((at) => at !== -1);
  return found.length === 0 ? completion : completion.slice(0, Math.min(...found));
}

/** Indents a body by four blanks when its first line of code stands at the margin. */
function indented(body: string): string {
  const lines = body.split("\n");
  const first = lines.find((line) => line.trim() !== "");
  if (first === undefined || /^\s/.test(first)) return body;
  return lines.map((line) => (line.trim() === "" ? line : `    ${line}`)).join("\n");
}
