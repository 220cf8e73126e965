/**
 * Problem files: one Problem (core/problem.ts) a line. Every room reads them here, so that a line
 * that is none is told in the same words everywhere.
 */
import type { z } from "zod";
import { DataError } from "../core/errors.js";
import { type Problem, problemSchema } from "../core/problem.js";
import { readJsonl } from "./jsonl.js";

/** A problem and where it stands. */
export interface PlacedProblem {
  problem: Problem;
  path: string;
  /** Counted from 1. */
  line: number;
}

/**
 * Reads problem files one behind the other.
 *
 * @throws {DataError} if a file cannot be read, a line is no problem, an id occurs twice in the
 * files, or there is no problem at all.
 */
export async function* readProblemFiles(paths: readonly string[]): AsyncGenerator<PlacedProblem> {
  const seen = new Map<string, string>();
  for (const path of paths) {
    if (path.endsWith(".parquet")) {
      const cure = "`rlvr prepare` writes the JSONL beside it";
      throw new DataError(`expected problems as JSONL, found a parquet file; ${cure}`, { path });
    }
    for await (const { line, value } of readJsonl(path)) {
      const problem = parseProblem(value, { path, line });
      const earlier = seen.get(problem.id);
      if (earlier !== undefined) {
        const message = `id: expected one that no other problem has, found ${problem.id} of ${earlier}`;
        throw new DataError(`${message}; take one of the two out or rename it`, { path, line });
      }
      seen.set(problem.id, `${path}:${line}`);
      yield { problem, path, line };
    }
  }
  if (seen.size > 0 || paths.length === 0) return;
  throw new DataError("expected problems, found none; `rlvr prepare` makes them of a data set", {
    path: paths[0],
  });
}

/**
 * Checks one record of a problem file.
 *
 * @throws {DataError} if it is no problem; the message names the key, what was expected there and
 * what was found.
 */
export function parseProblem(value: unknown, at: { path: string; line: number }): Problem {
  const parsed = problemSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const cure = "`rlvr prepare` turns data sets into problems";
  throw new DataError(`not a problem: ${describe(parsed.error.issues[0], value)}; ${cure}`, at);
}

function describe(issue: z.core.$ZodIssue, record: unknown): string {
  if (issue.code === "unrecognized_keys") {
    return `${[...issue.path, issue.keys[0]].join(".")}: expected no key of this name`;
  }
  // zod says "Invalid input: expected string, received number", and of some kinds not what it found.
  const expected = /expected .*?(?=, received |$)/i.exec(issue.message)?.[0] ?? issue.message;
  const key = issue.path.join(".") || "the record";
  const found = describeFound(valueAt(record, issue.path));
  return `${key}: ${expected.replace(/^E/, "e")}, found ${found}`;
}

function valueAt(record: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value, key) => (Object(value) as Record<PropertyKey, unknown>)[key], record);
}

const MOST_CHARACTERS = 60;

function describeFound(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value);
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
}
