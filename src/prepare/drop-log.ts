/**
 * The log of rows that were left out: a line for each, or for a run of neighbours with the same
 * reason, and the counts for the manifest.
 *
 *     {"split":"train","row":12,"reason":"duplicate","detail":"row 3"}
 *     {"split":"train","row":13,"to":40,"reason":"not_code"}
 */
import { createJsonl } from "../formats/jsonl.js";
import type { ManifestOutput } from "./manifest.js";
import { DROP_REASONS, type Drop, type DropReason, type Split } from "./source.js";

interface Run {
  split: Split;
  row: number;
  to: number;
  reason: DropReason;
  detail: string | undefined;
}

/** Writes the log. */
export class DropLog {
  readonly #file: ReturnType<typeof createJsonl>;
  readonly #counts = new Map<string, number>();
  #run: Run | null = null;
  #lines = 0;

  constructor(path: string) {
    this.#file = createJsonl(path);
  }

  /** Notes that a row, counted from 1, was left out. */
  add(split: Split, row: number, { reason, detail }: Drop): void {
    const key = `${split} ${reason}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    const run = this.#run;
    const isNext = run !== null && run.split === split && run.to === row - 1;
    if (isNext && run.reason === reason && run.detail === detail) run.to = row;
    else {
      this.#flush();
      this.#run = { split, row, to: row, reason, detail };
    }
  }

  /** Rows left out of a split, by reason; reasons stand in their fixed order. */
  counts(split: Split): Partial<Record<DropReason, number>> {
    const reasons = Object.keys(DROP_REASONS) as DropReason[];
    const found = reasons.map(
      (reason) => [reason, this.#counts.get(`${split} ${reason}`)] as const,
    );
    return Object.fromEntries(found.filter(([, count]) => count !== undefined));
  }

  /** Writes what is held and closes the file. */
  finish(): ManifestOutput {
    this.#flush();
    const { output } = this.#file;
    output.flush();
    output.close();
    const { byteLength: bytes } = output;
    return { name: "dropped.jsonl", rows: this.#lines, bytes, sha256: output.digest() };
  }

  /** Closes the file, whole or not. */
  close(): void {
    this.#file.output.close();
  }

  #flush(): void {
    if (this.#run === null) return;
    const { split, row, to, reason, detail } = this.#run;
    this.#file.write({ split, row, ...(to > row ? { to } : {}), reason, detail });
    this.#lines++;
    this.#run = null;
  }
}
