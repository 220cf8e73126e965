/**
 * How a key of the config is declared: its type and default through zod, and beside them the facts
 * that help, docs, errors and the engines need. Everything else is derived from these declarations.
 */
import { z } from "zod";

/** The engines that carry out a run. */
export const ENGINES = ["embedded", "verl"] as const;
/** What carries out a run: this process, or veRL on Ray. */
export type Engine = (typeof ENGINES)[number];

/** What is known of a key beside its type. */
export interface KeyFacts {
  /** One sentence. */
  doc: string;
  /** What a number counts, e.g. `prompts`. */
  unit?: string;
  /** Engines that use the key; setting it for another one is refused. Absent means both. */
  engines?: readonly Engine[];
  /** The values the embedded engine can honour, where it honours only some. */
  embeddedOnly?: readonly unknown[];
}

/** A key with its place in the config. */
export interface KeyInfo extends KeyFacts {
  /** Dotted, e.g. `actor_rollout_ref.actor.optim.lr`. */
  path: string;
  type: z.ZodType;
  default: unknown;
}

const facts = z.registry<KeyFacts>();

/** Declares a key: its type (with the default) and its facts. */
export function key<T extends z.ZodType>(type: T, about: KeyFacts): T {
  // A copy: keys that are declared with one type object would share the facts of the last of them.
  const own = type.clone() as T;
  facts.add(own, about);
  return own;
}

/** Declares a group of keys; a group left out of a file gets its keys' defaults. */
export function group<T extends z.ZodRawShape>(shape: T) {
  return z.strictObject(shape).prefault({} as never);
}

/** Keys that only veRL uses. */
export const VERL: readonly Engine[] = ["verl"];
/** Keys that only the embedded engine uses. */
export const EMBEDDED: readonly Engine[] = ["embedded"];

/** Lists every key of a schema made with `group` and `key`, in order of declaration. */
export function listKeys(schema: z.ZodType, prefix = ""): KeyInfo[] {
  const object = schema instanceof z.ZodPrefault ? (schema.unwrap() as z.ZodType) : schema;
  if (object instanceof z.ZodObject && !facts.has(schema)) {
    return Object.entries(object.shape as Record<string, z.ZodType>).flatMap(([name, child]) =>
      listKeys(child, prefix === "" ? name : `${prefix}.${name}`),
    );
  }
  const about = facts.get(schema);
  if (about === undefined) throw new Error(`key ${prefix} is declared without its facts`);
  return [{ ...about, path: prefix, type: schema, default: schema.parse(undefined) }];
}
