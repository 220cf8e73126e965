/** Problem files as the parquet files that veRL reads. */
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { ConfigError, DataError } from "../core/errors.js";
import { type Problem, problemSchema } from "../core/problem.js";
import { readJsonl } from "../formats/jsonl.js";
import { openParquet } from "../formats/parquet.js";
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
 * @throws {DataError} if a line is no problem.
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
    for (const path of files) {
      for await (const { value, line } of readJsonl(path)) {
        const parsed = problemSchema.safeParse(value);
        if (!parsed.success) {
          const [{ path: at, message }] = parsed.error.issues;
          throw new DataError(`not a problem: ${at.join(".")}: ${message}`, { path, line });
        }
        problems.set(parsed.data.id, parsed.data);
        writer.write(toVerlRow(parsed.data));
      }
    }
    const rows = writer.rowCount;
    await writer.finish();
    return { path: out, rows, problems };
  } finally {
    await writer.close();
  }
}
