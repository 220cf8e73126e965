/** The sandbox on fork servers: picks the servers a program needs and runs it there. */
import type {
  IsolationLevel,
  ProgramJob,
  ProgramOutcome,
  Sandbox,
  Session,
  SessionJob,
} from "../sandbox.js";
import { Languages, runCommand } from "./command-run.js";
import { pythonPlan, runProgram } from "./program-run.js";
import { ProgramStore } from "./program-store.js";
import { ServerSession } from "./session.js";
import type { Workers } from "./workers.js";

/** Programs that load numpy or what builds on it: too slow to import within a limit. */
const USES_NUMPY = /^\s*(?:import|from)\s+(?:numpy|scipy|pandas)\b/m;

/** Runs programs on one or two sets of servers. */
export class ForkSandbox implements Sandbox {
  readonly level: IsolationLevel;
  readonly #plain: Workers;
  /** Servers that have numpy loaded; null where it is not installed. */
  readonly #numpy: Workers | null;
  readonly #languages = new Languages();
  /** Made for the first program that is compiled. */
  #store: Promise<ProgramStore> | null = null;

  constructor(level: IsolationLevel, plain: Workers, numpy: Workers | null) {
    this.level = level;
    this.#plain = plain;
    this.#numpy = numpy;
  }

  async run(job: ProgramJob): Promise<ProgramOutcome[]> {
    if (job.language !== "python") {
      const language = await this.#languages.get(job.language);
      this.#store ??= ProgramStore.open();
      const store = await this.#store;
      return this.#plain.withServer(
        (server) => runCommand(server, job, language, store),
        job.signal,
      );
    }
    return this.#for(job.source).withServer(
      (server) => runProgram(server, job, pythonPlan(job)),
      job.signal,
    );
  }

  async openSession(job: SessionJob): Promise<Session> {
    job.signal?.throwIfAborted();
    return new ServerSession(await this.#for(job.source).leastBusy(), job);
  }

  async close(): Promise<void> {
    await Promise.all([this.#plain.close(), this.#numpy?.close()]);
    await (await this.#store)?.close();
  }

  #for(source: string): Workers {
    return this.#numpy !== null && USES_NUMPY.test(source) ? this.#numpy : this.#plain;
  }
}
