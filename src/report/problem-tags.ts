/** The kinds of problem that a run was trained on, for curves by kind: source, difficulty, theme. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Problem } from "../core/problem.js";
import { problemFiles } from "./run-problems.js";

/** A larger file would keep the service busy for long; its problems have no kinds here. */
const MOST_BYTES = 64 * 2 ** 20;
/** Tags in the order of interest, and how many kinds a chart can tell apart. */
const TAGS = ["difficulty", "source", "theme", "platform", "family"];
const MOST_KINDS = 12;
const MOST_TAGS = 3;

/** Tag by tag, the value of each problem; only tags with 2 to 12 values. */
export async function readProblemTags(runDir: string): Promise<Map<string, Map<string, string>>> {
  const tags = new Map(TAGS.map((tag) => [tag, new Map<string, string>()]));
  for (const file of await problemFiles(runDir)) {
    const info = await stat(file).catch(() => null);
    if (info !== null && info.size <= MOST_BYTES) await readFile(file, tags);
  }
  const isTelling = (values: Map<string, string>) => {
    const kinds = new Set(values.values()).size;
    return kinds >= 2 && kinds <= MOST_KINDS;
  };
  return new Map([...tags].filter(([, values]) => isTelling(values)).slice(0, MOST_TAGS));
}

async function readFile(file: string, tags: Map<string, Map<string, string>>): Promise<void> {
  for await (const line of createInterface({ input: createReadStream(file) })) {
    let problem: Partial<Problem>;
    try {
      problem = JSON.parse(line) as Partial<Problem>;
    } catch {
      continue;
    }
    for (const [tag, values] of tags) {
      const value = tag === "source" ? problem.source : problem.tags?.[tag];
      if (typeof problem.id === "string" && typeof value === "string")
        values.set(problem.id, value);
    }
  }
}
