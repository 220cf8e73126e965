/**
 * Which files of a hub data set are a split of it, told by their names: `data/train-00000.parquet`,
 * `full/test.jsonl`, `main/train/0000.parquet`. Folders besides `data` and those of splits name a
 * configuration, which is another form of the data set and never mixed with the others.
 */
import { basename, dirname } from "node:path";
import { ConfigError } from "../core/errors.js";
import type { Split } from "./source.js";

/** A data set as it is asked for: `owner/name`, `owner/name:configuration`, each with `@revision`. */
export interface HubId {
  name: string;
  config: string | null;
  revision: string | null;
}

const ID = /^([\w.-]+\/[\w.-]+)(?::([\w./-]+))?(?:@([\w./-]+))?$/;

/** Parses the id of a hub data set; null for text that is none. */
export function parseHubId(text: string): HubId | null {
  const [, name, config, revision] = ID.exec(text) ?? [];
  return name === undefined ? null : { name, config: config ?? null, revision: revision ?? null };
}

// How the files of a split are named, by habit.
const NAMES = {
  train: /(?:^|[^a-z])train(?:[^a-z]|$)/i,
  validation: /(?:^|[^a-z])(?:validation|valid|val|dev)(?:[^a-z]|$)/i,
  test: /(?:^|[^a-z])test(?:[^a-z]|$)/i,
};
type SplitName = keyof typeof NAMES;
const SPLITS = Object.keys(NAMES) as SplitName[];

/** Where a split is looked for: a test set stands for validation only where there is no other. */
const WANTED: Record<Split, readonly SplitName[]> = {
  train: ["train"],
  validation: ["validation", "test"],
};

/** Configurations that are meant where none is named. */
const USUAL = ["default", "main"];

/**
 * Chooses the files of one split: of the configuration that is asked for, else of `default`, `main`
 * or the only one.
 *
 * @throws {ConfigError} if no file can be told to be of the split, or the configuration is not clear.
 */
export function chooseFiles<T extends { path: string }>(files: T[], split: Split, id: HubId): T[] {
  const { name, config: asked } = id;
  const wanted = files.filter(({ path }) => WANTED[split].includes(splitOf(path)!));
  if (wanted.length === 0) {
    const found = files.map(({ path }) => path).join(", ") || "none";
    throw new ConfigError(
      `data set ${name} has no ${split} file that can be told by its name; its files of rows: ${found}. ` +
        "Download the right one and give its path",
    );
  }
  const configs = [...new Set(wanted.map(({ path }) => configOf(path)))].sort();
  const usual = USUAL.find((config) => configs.includes(config));
  const config = asked ?? usual ?? (configs.length === 1 ? configs[0] : null);
  if (config === null || !configs.includes(config)) {
    const fault = asked === null ? "expected one configuration" : `no configuration ${asked}`;
    throw new ConfigError(
      `data set ${name}: ${fault} with a ${split} file, found ${configs.join(", ")}; ` +
        `name one, e.g. ${name}:${configs[0]}`,
    );
  }
  const own = wanted.filter(({ path }) => configOf(path) === config);
  const first = WANTED[split].find((label) => own.some(({ path }) => splitOf(path) === label));
  const named = own.filter(({ path }) => splitOf(path) === first);
  const ending = named.some(({ path }) => path.endsWith(".parquet")) ? ".parquet" : "";
  const chosen = named.filter(({ path }) => path.endsWith(ending));
  return chosen.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The split that the name of a file tells, else that of its folder. */
function splitOf(path: string): SplitName | null {
  for (const text of [basename(path), dirname(path)]) {
    const found = SPLITS.find((split) => NAMES[split].test(text));
    if (found !== undefined) return found;
  }
  return null;
}

function configOf(path: string): string {
  const isSplit = (folder: string) => /^(?:train|validation|valid|val|dev|test)$/i.test(folder);
  const folders = path.split("/").slice(0, -1);
  const own = folders.filter((folder) => folder !== "data" && !isSplit(folder));
  return own.join("/") || "default";
}
