/**
 * The benchmark: raw rows of a public data set to problems, with the prompt styles it is asked in.
 * Each benchmark is one file beside this one; adding one touches that file and the table.
 */
import type { z } from "zod";
import { ConfigError, DataError } from "../../core/errors.js";
import type { ChatMessage, Problem } from "../../core/problem.js";
import type { Row } from "../rows.js";
import type { Style } from "../style.js";

/** A style together with the way it puts a row. */
export interface BenchmarkStyle<R> extends Omit<Style, "name"> {
  /** One line for `--help` and the docs. */
  about: string;
  /** The messages, or for a completion style one message with the bare text. */
  render(row: R, rows: readonly R[]): ChatMessage[];
  /** How outputs are compared where the harness has a rule of its own. */
  compare?: Problem["compare"];
}

/** What narrows a benchmark. */
export interface BenchmarkOptions {
  style: string;
  /** Part of the data set, e.g. `test`; null takes the benchmark's usual one. */
  split: string | null;
  /** First and last day (YYYY-MM-DD) of dated problems; null leaves that side open. */
  from: string | null;
  to: string | null;
  /** Release of LiveCodeBench, e.g. `v5`; null takes every problem in the file. */
  release: string | null;
}

/** What decides which files of the hub are read. */
export type HubOptions = Partial<Record<"split" | "release", string>>;

/** A benchmark as the rest of the room sees it. */
export interface Benchmark {
  name: string;
  /** Other names it is known by, EvalScope's among them. */
  aliases: readonly string[];
  about: string;
  /** The data set on the Hugging Face hub, where it has one. */
  hub: { repo: string; filesOf(options: HubOptions): readonly string[] } | null;
  maxTokens: number;
  styles: readonly { name: string; about: string }[];
  /** Says what of the data set was taken, e.g. a date window; null when it has no such choice. */
  windowOf(options: BenchmarkOptions): string | null;
  /** The style's settings. */
  styleOf(name: string): Style;
  /** Turns rows into problems, prompts in the asked style. */
  toProblems(rows: readonly Row[], path: string, options: BenchmarkOptions): Problem[];
}

/** What a benchmark file states. */
export interface BenchmarkDefinition<R> {
  name: string;
  aliases?: readonly string[];
  about: string;
  hub: Benchmark["hub"];
  maxTokens: number;
  /** Shape of a raw row; keys it does not name are passed over. */
  row: z.ZodType<R>;
  /** The first is the default. */
  styles: Record<string, BenchmarkStyle<R>>;
  isTaken?(row: R, options: BenchmarkOptions, index: number): boolean;
  windowOf?(options: BenchmarkOptions): string | null;
  /** The problem without its prompt; `index` counts the rows of the file from 0. */
  toProblem(row: R, index: number): Omit<Problem, "prompt" | "language">;
}

/** Builds a benchmark from its definition. */
export function defineBenchmark<R>(definition: BenchmarkDefinition<R>): Benchmark {
  const { styles } = definition;
  const find = (name: string) => {
    const style = styles[name];
    if (style !== undefined) return style;
    const known = Object.keys(styles).join(", ");
    throw new ConfigError(`${definition.name} has the styles ${known}, not ${name}`);
  };
  return {
    name: definition.name,
    aliases: definition.aliases ?? [],
    about: definition.about,
    hub: definition.hub,
    maxTokens: definition.maxTokens,
    styles: Object.entries(styles).map(([name, { about }]) => ({ name, about })),
    windowOf: definition.windowOf ?? (() => null),
    styleOf: (name) => {
      const { kind, stop, extract } = find(name);
      return { name, kind, stop, extract };
    },
    toProblems: (rows, path, options) => {
      const style = find(options.style);
      const parsed = rows.map((row, index) => parseRow(definition, row, { path, line: index + 1 }));
      return parsed.flatMap((row, index) => {
        if (definition.isTaken?.(row, options, index) === false) return [];
        const problem: Problem = {
          ...definition.toProblem(row, index),
          language: "python",
          prompt: style.render(row, parsed),
          ...(style.compare === undefined ? {} : { compare: style.compare }),
        };
        return [problem];
      });
    },
  };
}

function parseRow<R>(
  { name, row: schema }: BenchmarkDefinition<R>,
  row: Row,
  at: { path: string; line: number },
): R {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue.path.join(".") || "the row";
  throw new DataError(`not a row of ${name}: ${field}: ${issue.message}`, at);
}

/** One user message. */
export function userMessage(content: string): ChatMessage[] {
  return [{ role: "user", content }];
}
