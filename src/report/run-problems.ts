/**
 * The problem that a rollout answers, found by its id in the problem files that the run was
 * trained and validated on.
 */
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { parse } from "yaml";
import { type Problem, problemSchema } from "../core/problem.js";
import { runPaths } from "../core/run.js";

/** Finds a problem; null when its file is not here or does not hold it. */
export async function findProblem(runDir: string, id: string): Promise<Problem | null> {
  const needle = JSON.stringify(id);
  for (const file of await problemFiles(runDir)) {
    const found = await findInFile(file, id, needle).catch(() => null);
    if (found !== null) return found;
  }
  return null;
}

/** The problem files of a run's config; those that it names and that are not here, too. */
export async function problemFiles(runDir: string): Promise<string[]> {
  const text = await readFile(runPaths(runDir).config, "utf8").catch(() => "");
  const config = parse(text) as { data?: Record<string, unknown> } | null;
  return ["train_files", "val_files"]
    .flatMap((key) => config?.data?.[key] ?? [])
    .filter((file): file is string => typeof file === "string" && file.endsWith(".jsonl"));
}

async function findInFile(file: string, id: string, needle: string): Promise<Problem | null> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity });
  for await (const line of lines) {
    // Most lines are told apart without parsing them.
    if (!line.includes(needle)) continue;
    const problem = problemSchema.safeParse(JSON.parse(line));
    if (problem.success && problem.data.id === id) return problem.data;
  }
  return null;
}
