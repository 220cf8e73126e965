/** From the words and flags of `rlvr train` to its config. */
import { existsSync } from "node:fs";
import { type ResolvedConfig, resolveConfig } from "../config/resolve.js";
import { ConfigError } from "../core/errors.js";
import { runDirectory } from "../train/train.js";
import { readConfigFile } from "./config-file.js";

/** The flags as commander hands them over. */
export interface TrainFlags {
  preset?: string;
  out?: string;
  resume?: string;
  force?: true;
  eval: boolean;
  dryRun?: true;
  writeScript?: string;
  json?: true;
}

/**
 * Resolves the config.
 *
 * @throws {ConfigError} as `resolveConfig`, or if there are two config files or one is missing.
 */
export async function readTrainConfig(
  words: readonly string[],
  flags: TrainFlags,
  environment: NodeJS.ProcessEnv,
): Promise<ResolvedConfig> {
  const preset = words.find((word) => word.startsWith("preset="));
  if (preset !== undefined) {
    throw new ConfigError(`${preset}: expected a config key; write --${preset.replace("=", " ")}`);
  }
  const files = words.filter((word) => !word.includes("="));
  if (files.length > 1) {
    throw new ConfigError(`expected one config file, found ${files.join(" and ")}`);
  }
  const file =
    files.length === 0
      ? null
      : { path: files[0], text: await readConfigFile(files[0], "a config file or KEY=VALUE") };
  const overrides = [...words.filter((word) => word.includes("=")), ...flagOverrides(flags)];
  const from = { preset: flags.preset ?? (file === null ? "starter" : null), file, environment };
  const resolved = resolveConfig({ ...from, overrides });
  const isFresh = flags.resume === "never" && resolved.config.trainer.default_local_dir === null;
  if (!isFresh) return resolved;
  const dir = freshDirectory(runDirectory(resolved).dir);
  overrides.push(`trainer.default_local_dir=${dir}`);
  return resolveConfig({ ...from, overrides });
}

function flagOverrides({ out, resume }: TrainFlags): string[] {
  const overrides = out === undefined ? [] : [`trainer.default_local_dir=${JSON.stringify(out)}`];
  if (resume === undefined) return overrides;
  if (resume === "auto") return [...overrides, "trainer.resume_mode=auto"];
  if (resume === "never") return [...overrides, "trainer.resume_mode=disable"];
  return [
    ...overrides,
    "trainer.resume_mode=resume_path",
    `trainer.resume_from_path=${JSON.stringify(resume)}`,
  ];
}

/** The directory itself, or the first of -2, -3, … that is not there yet. */
function freshDirectory(dir: string): string {
  for (let n = 1; ; n++) {
    const candidate = n === 1 ? dir : `${dir}-${n}`;
    if (!existsSync(candidate)) return candidate;
  }
}
