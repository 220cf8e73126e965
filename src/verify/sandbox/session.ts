/** A session: messages to and from one Python process, in order, until either side ends it. */
import { SandboxError } from "../../core/errors.js";
import type { Session, SessionEvent, SessionJob } from "../sandbox.js";
import { limitsHeader, type ServerConnection } from "./connection.js";

interface Reader {
  resolve: (event: SessionEvent) => void;
  reject: (error: Error) => void;
}

/** A session on a server. */
export class ServerSession implements Session {
  /** Resolves once nothing is left of the process. */
  readonly ended: Promise<void>;
  readonly #server: ServerConnection;
  readonly #id: number;
  readonly #events: SessionEvent[] = [];
  readonly #readers: Reader[] = [];
  #failure: Error | null = null;

  /** Opens it and sends the program. */
  constructor(server: ServerConnection, job: SessionJob) {
    this.#server = server;
    let markEnded = () => undefined as void;
    this.ended = new Promise((resolve) => (markEnded = resolve));
    const onAbort = () => this.#abort(job.signal?.reason as Error);
    const finish = (error: Error) => {
      job.signal?.removeEventListener("abort", onAbort);
      this.#fail(error);
      markEnded();
    };
    const header = { op: "session", role: job.role, ...limitsHeader(job.limits) };
    this.#id = server.submit(header, [], {
      onOutcome: (_, outcome) => this.#put({ kind: "ended", outcome }),
      onMessage: (message) => this.#put({ kind: "message", message }),
      onDone: () => finish(new SandboxError("the session was closed")),
      onFailure: finish,
    });
    job.signal?.addEventListener("abort", onAbort);
    if (job.signal?.aborted) onAbort();
    this.send(JSON.stringify(["load", job.source, job.prelude ?? false]));
  }

  send(message: string, budget: "fresh" | "running" = "fresh"): void {
    this.#server.send(this.#id, `${message}\n`, budget === "running");
  }

  receive(): Promise<SessionEvent> {
    const event = this.#events.shift();
    if (event !== undefined) {
      // The end stays: whoever asks again hears it again.
      if (event.kind === "ended") this.#events.unshift(event);
      return Promise.resolve(event);
    }
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
  }

  close(): Promise<void> {
    this.#server.cancel(this.#id);
    return this.ended;
  }

  #put(event: SessionEvent): void {
    const reader = this.#readers.shift();
    if (reader !== undefined) reader.resolve(event);
    if (reader === undefined || event.kind === "ended") this.#events.push(event);
  }

  #abort(reason: Error): void {
    this.#fail(reason);
    this.#server.cancel(this.#id);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#readers.splice(0)) reject(this.#failure);
  }
}
