/**
 * A bounded queue that is fair between clients: each client's jobs keep their order, and clients
 * take turns, so that one trainer's batch of thousands does not starve another's single request.
 */

/** Thrown to a caller whose job found no room, ran out of time, or was given up. */
export class QueueRefusal extends Error {
  override readonly name = "QueueRefusal";
  /** `full`: no room; `deadline`: not started in time; `closed`: shutting down; `aborted`: caller left. */
  readonly reason: "full" | "deadline" | "closed" | "aborted";

  constructor(reason: QueueRefusal["reason"]) {
    super(`the job was refused: ${reason}`);
    this.reason = reason;
  }
}

/** A longer timer of Node's ends at once; nobody waits for 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Sizes of a queue. */
export interface FairQueueOptions {
  /** Jobs that run at once. */
  concurrency: number;
  /** Jobs that may wait, of all clients together. */
  capacity: number;
}

/** One job as its caller describes it. */
export interface QueueJob<T> {
  /** Whose turn it counts as. */
  client: string;
  run: () => Promise<T>;
  /** Longest wait before the job starts, in milliseconds; null waits for ever. */
  deadlineMs: number | null;
  signal?: AbortSignal;
}

interface Waiting {
  start: () => void;
  refuse: (reason: QueueRefusal["reason"]) => void;
}

/** The queue; see the head of this file. */
export class FairQueue {
  readonly #options: FairQueueOptions;
  /** Waiting jobs by client; the order of the map is the order of turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  #size = 0;
  #running = 0;
  #isClosed = false;
  #idle: (() => void)[] = [];

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** Jobs that wait, and jobs that run. */
  get load(): { waiting: number; running: number; capacity: number } {
    return { waiting: this.#size, running: this.#running, capacity: this.#options.capacity };
  }

  /** Jobs that an idle queue takes at once: more of them never fit. */
  get most(): number {
    return this.#options.capacity + this.#options.concurrency;
  }

  /** True when so many jobs fit that none of them would be refused as `full`. */
  hasRoomFor(jobs: number): boolean {
    const free = this.#options.capacity - this.#size;
    return !this.#isClosed && jobs <= free + this.#options.concurrency - this.#running;
  }

  /**
   * Runs a job when its client's turn comes.
   *
   * @throws {QueueRefusal} when it never started. What `run` throws passes through.
   */
  async add<T>(job: QueueJob<T>): Promise<T> {
    if (this.#isClosed) throw new QueueRefusal("closed");
    if (job.signal?.aborted) throw new QueueRefusal("aborted");
    if (this.#running >= this.#options.concurrency) await this.#wait(job);
    else this.#running++;
    try {
      return await job.run();
    } finally {
      this.#running--;
      this.#startNext();
    }
  }

  /** Refuses new jobs and waits for those that run or wait already. */
  async drain(): Promise<void> {
    this.#isClosed = true;
    if (this.#running + this.#size > 0) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  #wait({ client, deadlineMs, signal }: QueueJob<unknown>): Promise<void> {
    if (this.#size >= this.#options.capacity) throw new QueueRefusal("full");
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        this.#size--;
      };
      const entry: Waiting = {
        start: () => {
          leave();
          this.#running++;
          resolve();
        },
        refuse: (reason) => {
          leave();
          this.#remove(client, entry);
          reject(new QueueRefusal(reason));
          this.#announceIdle();
        },
      };
      const onAbort = () => entry.refuse("aborted");
      const timer =
        deadlineMs === null
          ? undefined
          : setTimeout(() => entry.refuse("deadline"), Math.min(deadlineMs, LONGEST_TIMER_MS));
      signal?.addEventListener("abort", onAbort);
      const line = this.#waiting.get(client);
      if (line === undefined) this.#waiting.set(client, [entry]);
      else line.push(entry);
      this.#size++;
    });
  }

  #remove(client: string, entry: Waiting): void {
    const line = this.#waiting.get(client);
    if (line === undefined) return;
    const rest = line.filter((other) => other !== entry);
    if (rest.length === 0) this.#waiting.delete(client);
    else this.#waiting.set(client, rest);
  }

  #startNext(): void {
    const first = this.#waiting.entries().next();
    if (first.done) {
      this.#announceIdle();
      return;
    }
    const [client, line] = first.value;
    // The client goes to the end of the turns, whether or not it has more jobs.
    this.#waiting.delete(client);
    const entry = line.shift() as Waiting;
    if (line.length > 0) this.#waiting.set(client, line);
    entry.start();
  }

  #announceIdle(): void {
    if (this.#running + this.#size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
