/** Problem files as the parquet files that veRL reads. */
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { ConfigError } from "../core/errors.js";
import type { Problem } from "../core/problem.js";
import { openParquet } from "../formats/parquet.js";
import { readProblemFiles } from "../formats/problems.js";
import { createVerlParquet, toVerlRow } from "../formats/verl-rows.js";

/** A file for veRL with what it holds. */
export interface PreparedFile {
  path: string;
  rows: number;
  /** Problems by id, for joining what veRL writes; empty for files that were parquet already. */
  problems: Map<string, Problem>;
}

/**
 * Makes one parquet file of problem files; a single parquet file is used as it is.
 *
 * @throws {ConfigError} if the files are of several kinds.
 * @throws {DataError} if a line is no problem, an id occurs twice or there is none.
 */
export async function prepareFile(files: string[], out: string): Promise<PreparedFile> {
  const parquet = files.filter((path) => path.endsWith(".parquet"));
  if (parquet.length === 1 && files.length === 1) {
    const file = await openParquet(files[0]);
    await file.close();
    return { path: files[0], rows: file.rowCount, problems: new Map() };
  }
  if (parquet.length > 0) {
    throw new ConfigError(
      `data files: expected one parquet file or problem files (.jsonl), found ${files.join(", ")}`,
    );
  }
  await mkdir(dirname(out), { recursive: true });
  const writer = createVerlParquet(out);
  const problems = new Map<string, Problem>();
  try {
    for await (const { problem } of readProblemFiles(files)) {
      problems.set(problem.id, problem);
      writer.write(toVerlRow(problem));
    }
    const rows = writer.rowCount;
    await writer.finish();
    return { path: out, rows, problems };
  } finally {
    await writer.close();
  }
}
