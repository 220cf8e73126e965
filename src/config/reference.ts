/** The reference of the config as Markdown, written from the schema: docs/CONFIG.md is its output. */
import { z } from "zod";
import { ENVIRONMENT_KEYS } from "./environment.js";
import type { KeyInfo } from "./key.js";
import { PRESETS } from "./presets.js";
import { CONFIG_KEYS } from "./schema.js";

/** Writes the whole reference. */
export function describeConfig(): string {
  const groups = groupBy(CONFIG_KEYS, ({ path }) => path.split(".").slice(0, -1).join("."));
  const tables = [...groups].map(([name, keys]) => {
    const rows = keys.map((key) => `| ${describeKey(key).join(" | ")} |`);
    return [
      `## ${name === "" ? "Top level" : `\`${name}\``}`,
      "",
      "| key | type | default | engine | meaning |",
      "|---|---|---|---|---|",
      ...rows,
      "",
    ].join("\n");
  });
  const presets = Object.entries(PRESETS).map(
    ([name, { summary }]) => `| \`${name}\` | ${summary} |`,
  );
  const variables = Object.entries(ENVIRONMENT_KEYS).map(
    ([name, [path]]) => `| \`${name}\` | \`${path}\` |`,
  );
  return [
    INTRODUCTION,
    ...["## Presets", "", "| name | what it is |", "|---|---|", ...presets, ""],
    ...["## Environment variables", "", "| variable | key |", "|---|---|", ...variables, ""],
    ...tables,
  ].join("\n");
}

const INTRODUCTION = `# Config

Keys are veRL 0.9's wherever veRL has the thing. A value comes from, each before the next: the
default, the preset, the config file, the tutorial's environment variables, overrides of the form
\`key=value\`. \`rlvr train --dry-run\` prints every value with where it came from.

An unknown key is an error that names the nearest right one; so is a key that the chosen engine
would not use. A file may name the preset it starts from under \`preset\`.

This page is written from the schema (\`src/config\`).
`;

function describeKey(key: KeyInfo): string[] {
  const name = key.path.split(".").at(-1) ?? key.path;
  const only = key.embeddedOnly === undefined ? "" : ` (embedded: ${list(key.embeddedOnly)})`;
  return [
    `\`${name}\``,
    `${describeType(key.type)}${key.unit === undefined ? "" : `, ${key.unit}`}`,
    `\`${JSON.stringify(key.default)}\``,
    key.engines === undefined ? "both" : key.engines.join(", "),
    `${key.doc}${only}`.replaceAll("|", "\\|"),
  ];
}

const list = (values: readonly unknown[]) =>
  values.map((value) => `\`${String(value)}\``).join(", ");

/** The JSON Schema of a key in a few words. */
function describeType(type: z.ZodType): string {
  return describeSchema(z.toJSONSchema(type, { io: "input" }) as JsonSchema);
}

interface JsonSchema {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  prefixItems?: JsonSchema[];
}

function describeSchema(schema: JsonSchema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(describeSchema).join(" or ");
  if (schema.enum !== undefined)
    return schema.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.prefixItems !== undefined)
    return `[${schema.prefixItems.map(describeSchema).join(", ")}]`;
  if (schema.type === "array") return `list of ${describeSchema(schema.items ?? {})}`;
  return schema.type ?? "any";
}

/** Items by key, as Map.groupBy, which Node 20 does not have. */
function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}
