/**
 * The problem that a veRL row stands for.
 *
 * A group's samples share one row, and reading a ground truth without loss costs more than judging
 * some programs, so rows read lately are kept.
 */
import type { Problem } from "../core/problem.js";
import { parseGroundTruthRow } from "../formats/ground-truth.js";
import type { RewardBody } from "./schemas.js";

/** Characters of ground truths kept; the latest row stays however long it is. */
const KEPT_CHARACTERS = 64 * 2 ** 20;
/** GSM8K's ground truth is the number alone. */
const STATED_ANSWER = /^\s*-?\d[\d,]*(\.\d+)?\s*$/;

/** Reads rows and keeps those read last. */
export class RewardRows {
  readonly #kept = new Map<string, Problem | null>();
  #characters = 0;

  /** Rebuilds the problem; null when its tests, limits or rules cannot be read. */
  problemOf(body: RewardBody): Problem | null {
    const text = textOf(body.ground_truth);
    if (text === null) return null;
    const stated = body.extra_info?.["problem_id"] ?? body.extra_info?.["index"];
    const id = stated === undefined || stated === null ? null : String(stated);
    const key = JSON.stringify([body.data_source, id]) + text;
    const known = this.#kept.get(key);
    if (known !== undefined) {
      // To the end of the order, which is by last use.
      this.#kept.delete(key);
      this.#kept.set(key, known);
      return known;
    }
    const problem = readProblem(text, body.data_source, id);
    this.#keep(key, problem);
    return problem;
  }

  #keep(key: string, problem: Problem | null): void {
    this.#kept.set(key, problem);
    this.#characters += key.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#characters <= KEPT_CHARACTERS || oldest === key) return;
      this.#kept.delete(oldest);
      this.#characters -= oldest.length;
    }
  }
}

/** The ground truth as text; null where it is nested deeper than JSON can be written. */
function textOf(truth: unknown): string | null {
  if (typeof truth === "string") return truth;
  try {
    return JSON.stringify(truth) ?? null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function readProblem(text: string, source: string, id: string | null): Problem | null {
  const prompt: Problem["prompt"] = [{ role: "user", content: "" }];
  if (STATED_ANSWER.test(text)) {
    const tests = { kind: "answer" as const, answer: text.trim() };
    return { id: id ?? "row", source, prompt, language: "python", tests };
  }
  const row = parseGroundTruthRow(text, source);
  if ("bad" in row) return null;
  const { problemId, language = "python", ...rest } = row;
  return { id: id ?? problemId ?? "row", source, prompt, language, ...rest };
}
