/**
 * A set of fork servers started alike: hands each job to the least busy one, lets the rest wait in
 * order, and starts a new server where one died.
 */
import { SandboxError } from "../../core/errors.js";
import { ServerConnection, type ServerSettings } from "./connection.js";

/** One job runs while the next already lies in the server, so that it never waits for Node. */
const JOBS_PER_SERVER = 2;
/** Starts that may fail one after the other before the set gives up. */
const MOST_FAILED_STARTS = 3;

interface Waiter {
  resolve: (server: ServerConnection) => void;
  reject: (error: Error) => void;
}

/** Servers of equal settings. */
export class Workers {
  readonly #settings: ServerSettings;
  readonly #servers = new Set<ServerConnection>();
  /** Jobs that hold a place, by server. */
  readonly #places = new Map<ServerConnection, number>();
  #waiting: Waiter[] = [];
  #failedStarts = 0;
  #closed: SandboxError | null = null;
  readonly #starting = new Set<Promise<void>>();

  private constructor(settings: ServerSettings) {
    this.#settings = settings;
  }

  /**
   * Starts `count` servers.
   *
   * @throws {SandboxError} when one does not start.
   */
  static async start(count: number, settings: ServerSettings): Promise<Workers> {
    const workers = new Workers(settings);
    const starts = Array.from({ length: count }, () => ServerConnection.start(settings));
    const results = await Promise.allSettled(starts);
    for (const result of results) if (result.status === "fulfilled") workers.#add(result.value);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) {
      await workers.close();
      throw failed.reason;
    }
    return workers;
  }

  /** The servers that are up. */
  get servers(): readonly ServerConnection[] {
    return [...this.#servers];
  }

  /** The server with the fewest jobs, whether or not it has a place free. */
  async leastBusy(): Promise<ServerConnection> {
    if (this.#servers.size === 0) await Promise.all(this.#starting);
    if (this.#closed !== null) throw this.#closed;
    const [first, ...rest] = this.#servers;
    return rest.reduce((best, server) => (server.load < best.load ? server : best), first);
  }

  /**
   * Runs `work` with a server that has a place, waiting in line for one.
   *
   * @throws {SandboxError} when the set is closed or has given up; the signal's reason on abort.
   */
  async withServer<T>(
    work: (server: ServerConnection) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    signal?.throwIfAborted();
    const server = this.#free() ?? (await this.#wait(signal));
    // A waiter's place was taken for it when it was woken.
    try {
      return await work(server);
    } finally {
      this.#release(server);
    }
  }

  /** Ends every server. */
  async close(): Promise<void> {
    this.#giveUp(new SandboxError("the sandbox is closed"));
    await Promise.all(this.#starting);
    await Promise.all(this.servers.map((server) => server.close()));
  }

  #free(): ServerConnection | null {
    if (this.#closed !== null) throw this.#closed;
    let best: ServerConnection | null = null;
    let fewest = JOBS_PER_SERVER;
    for (const [server, jobs] of this.#places) {
      if (jobs < fewest) [best, fewest] = [server, jobs];
    }
    if (best !== null) this.#places.set(best, fewest + 1);
    return best;
  }

  #wait(signal?: AbortSignal): Promise<ServerConnection> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(signal?.reason as Error);
      };
      const settled = <A>(settle: (value: A) => void) => {
        return (value: A) => {
          signal?.removeEventListener("abort", onAbort);
          settle(value);
        };
      };
      const waiter = { resolve: settled(resolve), reject: settled(reject) };
      signal?.addEventListener("abort", onAbort);
      this.#waiting.push(waiter);
    });
  }

  #release(server: ServerConnection): void {
    const jobs = this.#places.get(server);
    if (jobs !== undefined) this.#places.set(server, jobs - 1);
    this.#wake();
  }

  #wake(): void {
    while (this.#waiting.length > 0 && this.#closed === null) {
      const server = this.#free();
      if (server === null) return;
      this.#waiting.shift()?.resolve(server);
    }
  }

  #add(server: ServerConnection): void {
    this.#servers.add(server);
    this.#places.set(server, 0);
    this.#failedStarts = 0;
    server.onClose = () => {
      this.#servers.delete(server);
      this.#places.delete(server);
      if (this.#closed === null) this.#replace();
    };
    this.#wake();
  }

  #replace(): void {
    const start = ServerConnection.start(this.#settings).then(
      async (server) => {
        if (this.#closed === null) this.#add(server);
        else await server.close();
      },
      (error: SandboxError) => {
        if (this.#closed !== null) return;
        this.#failedStarts++;
        if (this.#failedStarts < MOST_FAILED_STARTS) this.#replace();
        else if (this.#servers.size === 0) this.#giveUp(error);
      },
    );
    this.#starting.add(start);
    void start.then(() => this.#starting.delete(start));
  }

  #giveUp(error: SandboxError): void {
    this.#closed ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#closed);
  }
}
