/** The words that a shell completes for a config: its keys, and the values of those that have few. */
import { z } from "zod";
import { PRESETS } from "../config/presets.js";
import { CONFIG_KEYS } from "../config/schema.js";
import type { Suggestions } from "./help.js";

/** Keys as `key=`, values by key, and the presets. */
export function configSuggestions(): Suggestions {
  const values = CONFIG_KEYS.map(({ path, type }) => [path, valuesOf(type)] as const);
  return {
    words: CONFIG_KEYS.map(({ path }) => `${path}=`),
    values: {
      "--preset": Object.keys(PRESETS),
      "--resume": ["auto", "never"],
      ...Object.fromEntries(values.filter(([, words]) => words.length > 0)),
    },
  };
}

/** Every value of a choice or a switch; none for numbers, texts and lists. */
function valuesOf(type: z.ZodType): string[] {
  if (
    type instanceof z.ZodDefault ||
    type instanceof z.ZodPrefault ||
    type instanceof z.ZodNullable ||
    type instanceof z.ZodOptional
  ) {
    return valuesOf(type.unwrap() as z.ZodType);
  }
  if (type instanceof z.ZodBoolean) return ["true", "false"];
  if (type instanceof z.ZodEnum) return type.options.map(String);
  return [];
}
