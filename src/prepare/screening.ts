/**
 * One raw row → a problem worth training on, or the reason why it is not. The checks run in the
 * order of DROP_REASONS, cheap ones first; the first that fails is the reason.
 */
import { createHash } from "node:crypto";
import { DataError } from "../core/errors.js";
import type { Problem } from "../core/problem.js";
import { type Benchmark, type BenchmarkReport } from "./benchmarks.js";
import { contaminationDrop, ContaminationIndex } from "./contamination.js";
import { Deduper, type DedupeMode } from "./dedupe.js";
import { likenessOf } from "./likeness.js";
import { buildPrompt, type PromptMeter, type PromptTemplate } from "./prompt.js";
import { cleanTests, type RemovedTests, type TestCaps } from "./quality.js";
import type { Draft, Drop, RawRow, RowPlace, Source, Split } from "./source.js";

/** A problem that passed the checks, before it has its name. */
export interface Candidate {
  draft: Draft;
  split: string;
  index: number;
  prompt: Problem["prompt"];
  promptTokens: number;
  removed: RemovedTests;
}

/** What the checks need to know. */
export interface ScreeningOptions extends TestCaps {
  seed: number;
  maxPromptTokens: number;
  meter: PromptMeter;
  template: PromptTemplate;
  dedupe: DedupeMode;
}

/** Where a row comes from. */
export interface Origin {
  split: Split;
  source: Source;
  file: { place(line: number): RowPlace };
}

/** Screens rows one after the other; later rows are held against earlier ones. */
export class Screening {
  readonly #options: ScreeningOptions;
  readonly #deduper: Deduper;
  readonly #contamination: ContaminationIndex | null;
  readonly #reports: Map<string, BenchmarkReport>;
  readonly #ids = new Map<string, number>();

  /** Findings are counted into the reports of the benchmarks. */
  constructor(options: ScreeningOptions, benchmarks: Benchmark[]) {
    this.#options = options;
    this.#deduper = new Deduper(options.dedupe);
    const problems = benchmarks.flatMap((benchmark) => benchmark.problems);
    this.#contamination = problems.length === 0 ? null : new ContaminationIndex(problems);
    this.#reports = new Map(benchmarks.map(({ report }) => [report.name, report]));
  }

  /** Screens the row `line`, counted from 1. */
  screen(origin: Origin, line: number, row: RawRow): { candidate: Candidate } | { drop: Drop } {
    const built = this.#build(origin, line, row);
    if ("drop" in built) return built;
    const repeated = this.#compare(built.draft, origin.split, line);
    return repeated === null ? { candidate: built.candidate } : { drop: repeated };
  }

  /** The candidate of a row that was screened before, without holding it against others again. */
  rebuild(origin: Origin, line: number, row: RawRow): Candidate {
    const built = this.#build(origin, line, row);
    if ("candidate" in built) return built.candidate;
    throw new DataError(
      "the row is not what it was at the first reading; do not change the file during the work",
      origin.file.place(line),
    );
  }

  /** The name that a candidate will have, where no other has it too. */
  nameOf({ draft }: Candidate): string {
    return idOf(draft);
  }

  /** Makes the problem of a candidate; no two problems get the same id. */
  finish({ draft, split, index, prompt }: Candidate): Problem {
    const { source, tests, limits, compare, solutions, tags } = draft;
    return {
      id: this.#unique(idOf(draft)),
      source,
      prompt,
      tests,
      language: draft.language ?? "python",
      ...(limits && { limits }),
      ...(compare && { compare }),
      ...(solutions && { solutions }),
      tags: { ...tags, split, index: String(index) },
    };
  }

  #build(
    origin: Origin,
    line: number,
    row: RawRow,
  ): { draft: Draft; candidate: Candidate } | { drop: Drop } {
    const read = origin.source.read(row, origin.file.place(line));
    if ("drop" in read) return read;
    const { draft } = read;
    const { meter, template, maxPromptTokens } = this.#options;
    const clean = cleanTests(draft.tests, this.#options, () => idOf(draft));
    if ("drop" in clean) return clean;
    const prompt = buildPrompt(draft, template);
    const promptTokens = meter.count(prompt);
    if (promptTokens > maxPromptTokens) {
      return { drop: { reason: "prompt_too_long", detail: `${Math.ceil(promptTokens)} tokens` } };
    }
    const candidate: Candidate = {
      draft: { ...draft, tests: clean.tests },
      split: draft.split ?? origin.split,
      index: draft.index ?? line - 1,
      prompt,
      promptTokens,
      removed: clean.removed,
    };
    return { draft, candidate };
  }

  /** Looks for the task among earlier rows and, for training, in the benchmarks. */
  #compare(draft: Draft, split: Split, line: number): Drop | null {
    const index = split === "train" ? this.#contamination : null;
    if (this.#options.dedupe === "off" && index === null) return null;
    const likeness = likenessOf(draft);
    const duplicate = this.#deduper.check(likeness, split, line);
    if (duplicate !== null) return duplicate;
    const found = index?.find(likeness) ?? null;
    if (found === null) return null;
    const report = this.#reports.get(found.problem.benchmark);
    if (report !== undefined) report.found[found.method] = (report.found[found.method] ?? 0) + 1;
    return contaminationDrop(found);
  }

  /** An id that no earlier problem has. */
  #unique(id: string): string {
    const times = (this.#ids.get(id) ?? 0) + 1;
    this.#ids.set(id, times);
    return times === 1 ? id : `${id}#${times}`;
  }
}

/**
 * The data set's own name for a problem, else a name made of its content, which survives another
 * order, split or revision of the data set.
 */
function idOf({ id, source, statement, tests }: Draft): string {
  if (id !== null) return id;
  const hash = createHash("sha256").update(statement).update("\0").update(JSON.stringify(tests));
  return `${source}/${hash.digest("hex").slice(0, 12)}`;
}
