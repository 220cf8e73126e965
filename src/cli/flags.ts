/** Flags that do not go together. */
import type { Command } from "commander";
import { ConfigError } from "../core/errors.js";

/**
 * Refuses flags that were given and have no part here, so that none does nothing in silence.
 *
 * `idle` says by option name what a flag would need, e.g. `{ out: "--audit" }`; null where it has it.
 *
 * @throws {ConfigError} naming the flag.
 */
export function refuseIdle(command: Command, idle: Readonly<Record<string, string | null>>): void {
  for (const option of command.options) {
    const name = option.attributeName();
    const needed = idle[name] ?? null;
    if (needed === null || command.getOptionValueSource(name) !== "cli") continue;
    throw new ConfigError(`${option.long} has no part here: it goes with ${needed}`);
  }
}

/** Refuses `--resume --dry-run`, where the second flag would be the value of the first. */
export function refuseSwallowedFlags(command: Command): void {
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (option.required && typeof value === "string" && value.startsWith("--")) {
      throw new ConfigError(`${option.long}: expected a value, found the flag ${value}`);
    }
  }
}
