/** What the values of flags may be: each parser answers the value or says what it expected. */
import { InvalidArgumentError } from "commander";

// More digits than this are no longer exact in a JavaScript number.
const WHOLE = /^\d{1,15}$/;
const DECIMAL = /^(\d{1,15}(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i;
const LAST_PORT = 65_535;

/** A whole number, 0 among them. */
export function whole(text: string): number {
  if (WHOLE.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a whole number");
}

/** A whole number from 1 on. */
export function positive(text: string): number {
  if (WHOLE.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError("expected a positive whole number");
}

/** A whole number of either sign. */
export function integer(text: string): number {
  if (WHOLE.test(text.replace(/^-/, ""))) return Number(text);
  throw new InvalidArgumentError("expected a whole number, of either sign");
}

/** A positive whole number, or `all`. */
export const orAll = (text: string) => (text === "all" ? text : positive(text));

/** A number that is not negative, e.g. `0.7` or `1e-6`. */
export function amount(text: string): number {
  if (DECIMAL.test(text) && Number.isFinite(Number(text))) return Number(text);
  throw new InvalidArgumentError("expected a number that is not negative");
}

/** A number above 0, e.g. `0.5`. */
export function aboveZero(text: string): number {
  if (DECIMAL.test(text) && Number.isFinite(Number(text)) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError("expected a number above 0");
}

/** A TCP port; 0 leaves the choice to the system. */
export function port(text: string): number {
  if (WHOLE.test(text) && Number(text) <= LAST_PORT) return Number(text);
  throw new InvalidArgumentError(`expected a port, 0 to ${LAST_PORT}`);
}

/** Two rates, `low,high`. */
export function band(text: string): [number, number] {
  const parts = text.split(",");
  const [low, high] = parts.map((part) => (DECIMAL.test(part) ? Number(part) : NaN));
  if (parts.length === 2 && low <= high && high <= 1) return [low, high];
  throw new InvalidArgumentError("expected two rates, e.g. 0.2,0.8");
}

/** A JSON object. */
export function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Said below, as for JSON of another type.
  }
  throw new InvalidArgumentError('expected a JSON object, e.g. {"repeat_penalty": 1}');
}
