/**
 * Data sets of the Hugging Face hub: an id becomes local files of one pinned revision.
 *
 * A download goes on where an earlier one stopped. Files lie in a cache by data set and revision,
 * and only a whole file, of the length that the hub names, gets its name.
 */
import { existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { datasetInfo, downloadFile, listFiles, type RepoDesignation } from "@huggingface/hub";
import { ConfigError, DataError } from "../core/errors.js";
import type { OnProgress } from "../core/progress.js";
import { chooseFiles, type HubId, parseHubId } from "./hub-files.js";
import type { Split } from "./source.js";

/** How the hub is reached. */
export interface HubAccess {
  /** Folder that downloads are kept in. */
  cacheDir: string;
  /** Base URL. */
  url: string;
  token: string | null;
}

/** The files of one split of a data set. */
export interface HubFiles {
  /** The commit they are of. */
  revision: string;
  paths: string[];
}

const ROW_FILE = /\.(?:parquet|jsonl(?:\.gz)?|json)$/;

/** True for text that names a data set of the hub and no file here. */
export function isHubId(text: string): boolean {
  return parseHubId(text) !== null && !existsSync(text) && !ROW_FILE.test(text);
}

/**
 * Downloads the files of one split, unless they are in the cache.
 *
 * @throws {ConfigError} if the hub cannot be reached, refuses, or has no such data set or split, or
 * several configurations of it and none is named.
 */
export function fetchSplit(
  id: string,
  split: Split,
  access: HubAccess & { onProgress?: OnProgress },
): Promise<HubFiles> {
  return fetchChosen(id, (files, asked) => chooseFiles(files, split, asked), access);
}

/**
 * Downloads files by name, in that order, unless they are in the cache.
 *
 * @throws {ConfigError} if the hub cannot be reached, refuses, or lacks one of them.
 */
export function fetchNamed(
  id: string,
  names: readonly string[],
  access: HubAccess & { onProgress?: OnProgress },
): Promise<HubFiles> {
  const choose = <T extends { path: string }>(files: T[]): T[] =>
    names.map((name) => {
      const found = files.find(({ path }) => path === name);
      if (found !== undefined) return found;
      throw new ConfigError(`data set ${id} has no file ${name}; download it and give its path`);
    });
  return fetchChosen(id, choose, access);
}

/** A file as the hub lists it. */
interface HubFile {
  path: string;
  size: number;
}

async function fetchChosen(
  id: string,
  choose: (files: HubFile[], asked: HubId) => HubFile[],
  access: HubAccess & { onProgress?: OnProgress },
): Promise<HubFiles> {
  const asked = parseHubId(id);
  if (asked === null) throw new ConfigError(`expected a hub id like owner/name, found ${id}`);
  const { name } = asked;
  const common = {
    hubUrl: access.url,
    ...(access.token !== null && { accessToken: access.token }),
  };
  try {
    const info = await datasetInfo({
      name,
      additionalFields: ["sha"],
      ...(asked.revision !== null && { revision: asked.revision }),
      ...common,
    });
    const revision = info.sha;
    const repo: RepoDesignation = { type: "dataset", name };
    const files: HubFile[] = [];
    for await (const file of listFiles({ repo, revision, recursive: true, ...common })) {
      const { path, size, type } = file;
      if (type === "file" && ROW_FILE.test(path)) files.push({ path, size });
    }
    const wanted = choose(files, asked);
    const folder = join(access.cacheDir, name.replace("/", "--"), revision);
    const paths: string[] = [];
    for (const file of wanted) {
      const target = join(folder, file.path);
      paths.push(target);
      if (existsSync(target)) continue;
      const blob = await downloadFile({ repo, path: file.path, revision, xet: false, ...common });
      if (blob === null) throw new Error(`${file.path} is gone`);
      await download(blob, target, access.onProgress);
    }
    return { revision, paths };
  } catch (cause) {
    if (cause instanceof ConfigError || cause instanceof DataError) throw cause;
    throw new ConfigError(explain(id, access, cause as Error & { statusCode?: number }), { cause });
  }
}

/** Downloads into a partial file, from where it ends, and names it when it is whole. */
async function download(blob: Blob, target: string, onProgress?: OnProgress): Promise<void> {
  mkdirSync(dirname(target), { recursive: true });
  const partial = `${target}.partial`;
  let done = existsSync(partial) ? statSync(partial).size : 0;
  if (done > blob.size) done = 0;
  const file = await open(partial, done === 0 ? "w" : "a");
  try {
    const rest = done === blob.size ? [] : blob.slice(done).stream();
    for await (const chunk of rest as AsyncIterable<Uint8Array>) {
      await file.write(chunk);
      done += chunk.length;
      const note = basename(target);
      onProgress?.({ label: "download", done, total: blob.size, unit: "bytes", note });
    }
  } finally {
    await file.close();
  }
  if (done !== blob.size)
    throw new Error(`${basename(target)} ended at ${done} of ${blob.size} bytes`);
  renameSync(partial, target);
}

function explain(id: string, { url, token }: HubAccess, error: Error & { statusCode?: number }) {
  const { statusCode } = error;
  if (statusCode === 401 || statusCode === 403) {
    const cure = token === null ? "set HF_TOKEN" : "the token in HF_TOKEN has no access";
    return `data set ${id} is private or gated: ${cure}`;
  }
  if (statusCode === 404)
    return `data set ${id} does not exist on ${url}, nor a file of that name here`;
  const reason = (error.cause as Error | undefined)?.message ?? error.message;
  return (
    `data set ${id} cannot be fetched from ${url}: ${reason}. Without a network, download it ` +
    "elsewhere and give the path of the file; an interrupted download goes on when asked again"
  );
}
