/**
 * Layers → one config: preset < file < the tutorial's environment variables < overrides. Every value
 * keeps where it came from, an unknown key is an error with the nearest right one, and so is a key
 * that the chosen engine would ignore.
 */
import { parse as parseYaml, stringify } from "yaml";
import type { z } from "zod";
import { ConfigError } from "../core/errors.js";
import { checkConfig } from "./checks.js";
import { environmentValues } from "./environment.js";
import type { Engine, KeyInfo } from "./key.js";
import { presetValues } from "./presets.js";
import { CONFIG_KEYS, type Config, configSchema } from "./schema.js";
import { type FlatValues, flatten, parseOverride, unflatten } from "./values.js";

/** Where a value came from. */
export type Provenance =
  | { kind: "default" }
  | { kind: "preset"; name: string }
  | { kind: "file"; path: string }
  | { kind: "environment"; name: string }
  | { kind: "override" };

/** What a run is made from. */
export interface ConfigSources {
  /** Name of the preset to start from; null starts from the defaults. */
  preset?: string | null;
  /** A config file: its path, for messages, and its YAML text. */
  file?: { path: string; text: string } | null;
  environment?: Readonly<Record<string, string | undefined>>;
  /** `key=value` each. */
  overrides?: readonly string[];
}

/** A config with the history of its values. */
export interface ResolvedConfig {
  config: Config;
  /** The preset it started from. */
  preset: string | null;
  /** Where the value of each dotted key came from. */
  provenance: ReadonlyMap<string, Provenance>;
}

/**
 * Resolves a config. A file may name its preset under `preset`; the caller's preset comes first.
 *
 * @throws {ConfigError} if a key is unknown, a value does not fit, keys contradict each other, or a
 * key was set that the engine would ignore.
 */
export function resolveConfig(sources: ConfigSources): ResolvedConfig {
  const { preset: named, values: fileValues } = readFile(sources.file ?? null);
  const preset = sources.preset ?? named;
  const flat: FlatValues = new Map();
  const provenance = new Map<string, Provenance>();
  const lay = (values: Iterable<[string, unknown]>, from: (path: string) => Provenance) => {
    for (const [path, value] of values) {
      flat.set(path, value);
      provenance.set(path, from(path));
    }
  };
  if (preset !== null) lay(presetValues(preset), () => ({ kind: "preset", name: preset }));
  lay(fileValues, () => ({ kind: "file", path: sources.file?.path ?? "" }));
  const { values, variables } = environmentValues(sources.environment ?? {});
  lay(values, (path) => ({ kind: "environment", name: variables.get(path) ?? "" }));
  lay((sources.overrides ?? []).map(parseOverride), () => ({ kind: "override" }));
  dropPresetSteps(flat, provenance);
  const config = parseConfig(unflatten(flat), provenance);
  refuseIgnored(config.engine, flat, provenance);
  checkConfig(config);
  for (const { path } of CONFIG_KEYS) {
    if (!provenance.has(path)) provenance.set(path, { kind: "default" });
  }
  return { config, preset, provenance };
}

/** Whoever asks for epochs does not want a preset's count of steps, which would win. */
function dropPresetSteps(flat: FlatValues, provenance: Map<string, Provenance>): void {
  const [steps, epochs] = ["trainer.total_training_steps", "trainer.total_epochs"];
  const asked = provenance.get(epochs)?.kind ?? "preset";
  if (asked === "preset" || provenance.get(steps)?.kind !== "preset") return;
  flat.delete(steps);
  provenance.delete(steps);
}

function readFile(file: { path: string; text: string } | null): {
  preset: string | null;
  values: FlatValues;
} {
  if (file === null) return { preset: null, values: new Map() };
  let content: unknown;
  try {
    content = parseYaml(file.text, { logLevel: "error" });
  } catch (cause) {
    throw new ConfigError(`${file.path}: not readable as YAML: ${(cause as Error).message}`);
  }
  if (content === null || content === undefined) return { preset: null, values: new Map() };
  if (typeof content !== "object" || Array.isArray(content)) {
    const found = Array.isArray(content) ? "a list" : `a ${typeof content}`;
    throw new ConfigError(`${file.path}: expected groups of keys, found ${found}`);
  }
  const { preset = null, ...rest } = content as Record<string, unknown>;
  if (preset !== null && typeof preset !== "string") {
    throw new ConfigError(`${file.path}: preset must be a name`);
  }
  return { preset, values: flatten(rest, file.path) };
}

function parseConfig(nested: unknown, provenance: ReadonlyMap<string, Provenance>): Config {
  const parsed = configSchema.safeParse(nested);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => {
    const path = issue.path.join(".");
    const from = provenance.get(path) ?? provenance.get(issue.path.slice(0, -1).join("."));
    const where = from === undefined ? "" : ` (from ${describeProvenance(from)})`;
    return `${path}: ${describeIssue(issue)}${where}`;
  });
  throw new ConfigError(lines.join("\n"));
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const message = issue.message.replace(/^Invalid (input|option): /, "");
  return message.charAt(0).toLowerCase() + message.slice(1);
}

/** Says where a value came from, e.g. `environment variable MODEL_PATH`. */
export function describeProvenance(from: Provenance): string {
  switch (from.kind) {
    case "default":
      return "default";
    case "preset":
      return `preset ${from.name}`;
    case "file":
      return from.path;
    case "environment":
      return `environment variable ${from.name}`;
    case "override":
      return "override";
  }
}

/** A preset's values may serve the other engine; what the user set may not be ignored. */
function refuseIgnored(
  engine: Engine,
  flat: FlatValues,
  provenance: ReadonlyMap<string, Provenance>,
): void {
  const lines: string[] = [];
  for (const key of CONFIG_KEYS) {
    const from = provenance.get(key.path);
    if (from === undefined) continue;
    const reason = reasonIgnored(key, engine, flat.get(key.path));
    if (reason === null || (from.kind === "preset" && !usesKey(key, engine))) continue;
    lines.push(`${key.path} (from ${describeProvenance(from)}): ${reason}`);
  }
  if (lines.length > 0) throw new ConfigError(lines.join("\n"));
}

function reasonIgnored(key: KeyInfo, engine: Engine, value: unknown): string | null {
  if (!usesKey(key, engine)) {
    const other = engine === "embedded" ? "verl" : "embedded";
    return `the ${engine} engine does not use this key; leave it out or set engine=${other}`;
  }
  if (engine === "verl" || key.embeddedOnly === undefined) return null;
  if (key.embeddedOnly.includes(value)) return null;
  const allowed = key.embeddedOnly.map((option) => JSON.stringify(option)).join(", ");
  return `the embedded engine takes only ${allowed}, found ${JSON.stringify(value)}; engine=verl takes others`;
}

/** True when the engine uses the key. */
export function usesKey(key: KeyInfo, engine: Engine): boolean {
  return key.engines === undefined || key.engines.includes(engine);
}

/** The value of a dotted key. */
export function valueAt(config: Config, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], config);
}

/**
 * Writes the config as YAML, each value with where it came from: `config.resolved.yaml`. Keys that
 * the engine does not use are left out, so that the file is itself a config that can be run again.
 */
export function formatConfig({ config, preset, provenance }: ResolvedConfig): string {
  const used: FlatValues = new Map(
    CONFIG_KEYS.filter((key) => usesKey(key, config.engine)).map(({ path }) => [
      path,
      valueAt(config, path),
    ]),
  );
  const yaml = stringify(unflatten(used), { indent: 2, lineWidth: 0 });
  const path: string[] = [];
  const lines = yaml
    .trimEnd()
    .split("\n")
    .map((line) => {
      const match = /^( *)([A-Za-z_][\w]*):(.*)$/.exec(line);
      if (match === null) return line;
      path.length = match[1].length / 2;
      path.push(match[2]);
      const from = provenance.get(path.join("."));
      if (from === undefined || from.kind === "default") return line;
      return `${line} # ${describeProvenance(from)}`;
    });
  return [...(preset === null ? [] : [`# preset: ${preset}`]), ...lines, ""].join("\n");
}
