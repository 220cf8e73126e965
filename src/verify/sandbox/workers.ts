/**
 * A set of fork servers started alike: hands each job to the least busy one, lets the rest wait in
 * order, and starts a new server where one died.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { SandboxError } from "../../core/errors.js";
import { ServerConnection, type ServerSettings } from "./connection.js";

/** One job runs while the next already lies in the server, so that it never waits for Node. */
const JOBS_PER_SERVER = 2;
/**
 * Before each start of a replacement, after ever more failed ones. A machine that is short of memory
 * or processes for a minute must not end a run of days; one that has lost its interpreter may.
 */
const PAUSES_MS = [0, 250, 1000, 4000, 15_000, 30_000];

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
  #closed: SandboxError | null = null;
  readonly #starting = new Set<Promise<void>>();
  /** Ends pauses between starts. */
  readonly #ending = new AbortController();

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

  /**
   * The server with the fewest jobs, whether or not it has a place free; waits for one to start
   * where none is up.
   *
   * @throws {SandboxError} when the set is closed or has given up.
   */
  async leastBusy(): Promise<ServerConnection> {
    while (this.#servers.size === 0 && this.#closed === null) await Promise.race(this.#starting);
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
    server.onClose = () => {
      this.#servers.delete(server);
      this.#places.delete(server);
      if (this.#closed !== null) return;
      const start = this.#replace();
      this.#starting.add(start);
      void start.then(() => this.#starting.delete(start));
    };
    this.#wake();
  }

  /** Starts a server in the place of one that died. */
  async #replace(): Promise<void> {
    for (let failed = 0; ; failed++) {
      const pauseMs = PAUSES_MS[Math.min(failed, PAUSES_MS.length - 1)];
      // Only the end of the set cuts a pause short.
      await sleep(pauseMs, undefined, { signal: this.#ending.signal }).catch(() => undefined);
      if (this.#closed !== null) return;
      const server = await this.#start(failed + 1 >= PAUSES_MS.length);
      if (server === null) continue;
      if (this.#closed === null) this.#add(server);
      else await server.close();
      return;
    }
  }

  /** Null when it fails; after the last try the set gives up, unless other servers are up. */
  async #start(isLast: boolean): Promise<ServerConnection | null> {
    try {
      return await ServerConnection.start(this.#settings);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      if (isLast && this.#servers.size === 0) this.#giveUp(error);
      return null;
    }
  }

  #giveUp(error: SandboxError): void {
    this.#closed ??= error;
    this.#ending.abort();
    for (const { reject } of this.#waiting.splice(0)) reject(this.#closed);
  }
}
