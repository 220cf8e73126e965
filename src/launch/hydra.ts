/**
 * Hydra's override grammar, as far as it is written here: `key=value`, `+key=value` for a key that
 * the target does not have, values quoted so that they come out as they went in.
 *
 * Source: hydra-core 1.3, "Extended Override syntax".
 */

/** One override of the target's configuration. */
export interface Override {
  /** The target's own name for the key. */
  key: string;
  value: OverrideValue;
  /** True to add a key that the target's defaults lack. */
  isAdded: boolean;
}

/** Values that an override may hold. */
export type OverrideValue =
  null | boolean | number | string | OverrideValue[] | { [key: string]: OverrideValue };

/** Writes an override as one command-line word, before any quoting for a shell. */
export function formatOverride({ key, value, isAdded }: Override): string {
  return `${isAdded ? "+" : ""}${key}=${formatValue(value)}`;
}

// Unquoted words may hold these; anything else, and anything that reads as another type, is quoted.
const PLAIN_WORD = /^[A-Za-z_/][\w/.@%+-]*$/;
const READS_AS_OTHER = /^(true|false|null|none|nan|inf|[+-]?(inf|nan))$/i;

function formatValue(value: OverrideValue): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return `[${value.map(formatValue).join(",")}]`;
  if (typeof value === "object") {
    const items = Object.entries(value).map(([key, item]) => `${key}:${formatValue(item)}`);
    return `{${items.join(",")}}`;
  }
  if (PLAIN_WORD.test(value) && !READS_AS_OTHER.test(value)) return value;
  // In quotes, a backslash counts only before a quote; `${` would be an interpolation.
  const escaped = value.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1");
  return `"${escaped.replaceAll("${", "\\${")}"`;
}

/** Quotes a word for a POSIX shell. */
export function quoteForShell(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Lists the dotted names of all keys of a configuration, groups included. */
export function listConfigKeys(config: unknown, prefix = ""): string[] {
  if (typeof config !== "object" || config === null || Array.isArray(config)) return [];
  return Object.entries(config).flatMap(([name, value]) => {
    const path = prefix === "" ? name : `${prefix}.${name}`;
    return [path, ...listConfigKeys(value, path)];
  });
}
