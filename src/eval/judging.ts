/**
 * The judging side of an evaluation: completions are judged a bounded number at a time, while
 * others are still being written, and each result reaches the file as it comes.
 */
import { SandboxError } from "../core/errors.js";
import type { EvalSample } from "../core/evaluation.js";
import type { Problem } from "../core/problem.js";
import type { OnProgress } from "../core/progress.js";
import { appendLine } from "../core/run.js";
import type { Verifier } from "../verify/verify.js";
import type { CompleterReport, Completion, CompletionRequest } from "./completer.js";
import { judgeSample } from "./judge-sample.js";
import type { Style } from "./style.js";

/** One sample to be made and judged. */
export interface Task {
  problem: Problem;
  request: CompletionRequest;
  /** Hash of what produces the completion. */
  key: string;
  /** Hash of what judges it. */
  judge: string;
}

/** What judging needs of an evaluation. */
export interface JudgingInput {
  verifier: Verifier;
  settings: { name: string; style: Style; judgeConcurrency: number };
  onProgress?: OnProgress;
  signal?: AbortSignal;
}

/** The judging side: a bounded number of completions at a time, results appended as they come. */
export class Judging {
  readonly tasks: readonly Task[];
  readonly judged: Map<number, EvalSample>;
  readonly #input: JudgingInput;
  readonly #path: string | null;
  readonly #waiting: { index: number; completion: Completion; settle: () => void }[] = [];
  readonly #running = new Set<Promise<void>>();
  #correct = 0;
  #sandboxErrors = 0;
  #failure: unknown = null;

  constructor(
    input: JudgingInput,
    tasks: readonly Task[],
    judged: Map<number, EvalSample>,
    path: string | null,
  ) {
    this.#input = input;
    this.tasks = tasks;
    this.judged = judged;
    this.#path = path;
    for (const sample of judged.values()) if (sample.verdict === "accepted") this.#correct++;
    this.#tell();
  }

  /** Queues a completion; resolves when it is judged or could not be, and never rejects. */
  judge(index: number, completion: Completion): Promise<void> {
    return new Promise((settle) => {
      this.#waiting.push({ index, completion, settle });
      this.#pump();
    });
  }

  /** Waits until everything queued is judged; throws what was not a sandbox's failure. */
  async finished(): Promise<void> {
    while (this.#running.size > 0) await Promise.race(this.#running);
    if (this.#failure !== null) throw this.#failure;
  }

  /** Adds the sandbox's failures to the completer's. */
  faultsWith({ faults }: CompleterReport): Record<string, number> {
    return this.#sandboxErrors === 0 ? faults : { ...faults, sandbox: this.#sandboxErrors };
  }

  #pump(): void {
    if (this.#failure !== null) for (const { settle } of this.#waiting.splice(0)) settle();
    while (this.#running.size < this.#input.settings.judgeConcurrency) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      const promise = this.#judgeOne(next.index, next.completion)
        .catch((error: unknown) => {
          if (error instanceof SandboxError) this.#sandboxErrors++;
          else this.#failure ??= error;
        })
        .finally(() => {
          this.#running.delete(promise);
          next.settle();
          this.#pump();
        });
      this.#running.add(promise);
    }
  }

  async #judgeOne(index: number, completion: Completion): Promise<void> {
    const { problem, request, key, judge } = this.tasks[index];
    const { verifier, settings, signal } = this.#input;
    const verdict = await judgeSample({
      verifier,
      problem,
      completion,
      style: settings.style,
      signal,
    });
    const sample: EvalSample = {
      problemId: problem.id,
      sample: request.sample,
      key,
      judge,
      ...(request.sample === 0 ? { prompt: problem.prompt } : {}),
      completion: completion.text,
      finish: completion.finish,
      promptTokens: completion.promptTokens,
      completionTokens: completion.completionTokens,
      ...verdict,
      tags: { ...problem.tags, source: problem.source },
    };
    this.judged.set(index, sample);
    if (sample.verdict === "accepted") this.#correct++;
    if (this.#path !== null) appendLine(this.#path, sample);
    this.#tell();
  }

  #tell(): void {
    const done = this.judged.size;
    this.#input.onProgress?.({
      label: `evaluate ${this.#input.settings.name}`,
      done,
      total: this.tasks.length,
      unit: "samples",
      ...(done === 0 ? {} : { note: `right ${((100 * this.#correct) / done).toFixed(1)} %` }),
    });
  }
}
