/** Every data set this room knows, and how one is chosen for a file. */
import { ConfigError, DataError } from "../../core/errors.js";
import type { RawRow, Source } from "../source.js";
import { apps, taco } from "./apps.js";
import { acecode, kodcode } from "./asserts.js";
import { codecontests } from "./codecontests.js";
import { eurus } from "./eurus.js";
import { gsm8k } from "./gsm8k.js";
import { humaneval } from "./humaneval.js";
import { livecodebench } from "./livecodebench.js";
import { mbpp } from "./mbpp.js";
import { problem } from "./problem.js";

/** The data sets; where several fit a file, the first one is taken. */
export const SOURCES: readonly Source[] = [
  eurus,
  problem,
  apps,
  taco,
  codecontests,
  livecodebench,
  humaneval,
  mbpp,
  kodcode,
  acecode,
  gsm8k,
];

/**
 * Finds a data set by its name.
 *
 * @throws {ConfigError} if there is none.
 */
export function sourceNamed(name: string): Source {
  const source = SOURCES.find((candidate) => candidate.name === name);
  if (source !== undefined) return source;
  const known = SOURCES.map((candidate) => candidate.name).join(", ");
  throw new ConfigError(`source must be one of ${known} or auto, got ${name}`);
}

/**
 * Recognises the data set of a file by its first row.
 *
 * @throws {DataError} if no data set has such columns.
 */
export function detectSource(row: RawRow, path: string): Source {
  const source = SOURCES.find(
    ({ columns, recognises }) =>
      columns.every((column) => column in row) && (recognises?.(row) ?? true),
  );
  if (source !== undefined) return source;
  const known = SOURCES.map(({ name, columns }) => `${name} (${columns.join(", ")})`).join("; ");
  const found = Object.keys(row).join(", ") || "none";
  throw new DataError(
    `its columns are of no known data set: found ${found}; known are ${known}; name one with --source`,
    { path },
  );
}
