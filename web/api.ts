/** Everything the dashboard asks of the service. Types come from the rooms that answer. */
import type { Problem } from "../src/core/problem.js";
import type { Rollout } from "../src/core/rollout.js";
import type { HealthEvent, MetricsRecord } from "../src/core/run.js";
import type { Outcomes } from "../src/report/outcomes.js";
import type { RunEvaluation, ShownPair } from "../src/report/run-evaluations.js";
import type { PhaseMark } from "../src/report/phases.js";
import type { SeriesAnswer } from "../src/report/metrics-table.js";
import type { RolloutPage } from "../src/report/rollout-table.js";
import type { RunSummary } from "../src/report/run-store.js";
import type { VerifyResult } from "../src/verify/verify.js";

/** A run with what its first screen needs. */
export interface RunDetail extends RunSummary {
  /** Where the run is on the service's machine. */
  dir: string;
  /** True while the whole of a long run is still being read, and its curves are of a sample. */
  isSample: boolean;
  health: HealthEvent[];
  /** Grows when the run's metrics were replaced, as a resume does. */
  generation: number;
  train: { names: string[]; span: { first: number; last: number; records: number } | null };
  val: { names: string[]; span: { first: number; last: number; records: number } | null };
  latest: { train: Record<string, number>; val: Record<string, number> };
}

/** Series of a run with the phases found in its curves; `isSample` as in a RunDetail. */
export type RunSeries = SeriesAnswer & { phases: PhaseMark[]; isSample: boolean };

/** How a run's rollouts came out; times are those of the steps. */
export type RunOutcomes = Outcomes & { times: number[]; kindTimes: number[] };

/** A refusal of the service, in its own words. */
export class ServiceError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const TOKEN_KEY = "rlvr-token";

/** Takes the token out of the address, where `rlvr serve` puts it, and keeps it for this tab. */
export function adoptToken(): void {
  const match = /[#&?]token=([\w-]+)/.exec(location.hash);
  if (match === null) return;
  sessionStorage.setItem(TOKEN_KEY, match[1]);
  history.replaceState(null, "", location.pathname + location.hash.replace(match[0], "") || "#/");
}

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const token = sessionStorage.getItem(TOKEN_KEY);
  const headers = new Headers(init.headers);
  if (token !== null) headers.set("authorization", `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch {
    throw new ServiceError(0, "the service does not answer");
  }
  if (response.ok) return response;
  const body = (await response.json().catch(() => null)) as { message?: string } | null;
  throw new ServiceError(response.status, body?.message ?? response.statusText);
}

const get = async <T>(path: string): Promise<T> => (await (await ask(path)).json()) as T;
const runPath = (run: string) => `./api/runs/${encodeURIComponent(run)}`;

/** Builds a query string of the given values; absent ones are left out. */
export function queryOf(values: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined && value !== "") query.set(key, String(value));
  }
  return query.toString();
}

/** The service's routes. */
export const api = {
  runs: () => get<{ runs: RunSummary[] }>("./api/runs"),
  run: (run: string) => get<RunDetail>(runPath(run)),
  series: (run: string, query: Record<string, string | number | undefined>) =>
    get<RunSeries>(`${runPath(run)}/series?${queryOf(query)}`),
  outcomes: (run: string, query: Record<string, string | number | undefined>) =>
    get<RunOutcomes>(`${runPath(run)}/outcomes?${queryOf(query)}`),
  rollouts: (run: string, query: Record<string, string | number | undefined>) =>
    get<RolloutPage>(`${runPath(run)}/rollouts?${queryOf(query)}`),
  rolloutsOf: (run: string, query: Record<string, string | number | undefined>) =>
    get<{ rollouts: Rollout[]; dir: string }>(`${runPath(run)}/rollout?${queryOf(query)}`),
  problem: (run: string, id: string) =>
    get<{ problem: Problem | null }>(`${runPath(run)}/problem?${queryOf({ id })}`),
  evaluations: (run: string) =>
    get<{ evaluations: RunEvaluation[]; problems: string[] }>(`${runPath(run)}/evaluations`),
  pairs: (run: string, names: { before: string; after: string }) =>
    get<{ pairs: ShownPair[] }>(`${runPath(run)}/pairs?${queryOf(names)}`),
  text: async (run: string, what: "config" | "log") =>
    (await ask(`${runPath(run)}/${what}`)).text(),
  verify: async (problem: Problem, completion: string) =>
    (await (
      await ask("./verify", { method: "POST", body: JSON.stringify({ problem, completion }) })
    ).json()) as VerifyResult,
};

/** What arrives on a run's stream. */
export interface RunStreamHandlers {
  onMetrics: (records: MetricsRecord[]) => void;
  onHealth: (events: HealthEvent[]) => void;
  onStatus: (status: RunSummary["status"]) => void;
  /** What was known of the run may no longer hold: ask anew. */
  onReset: () => void;
  /** True while the service answers. */
  onConnection: (isConnected: boolean) => void;
}

/**
 * Follows a run; reconnects by itself, which is a reset: nobody knows what happened meanwhile.
 * Returns a function that stops it.
 *
 * The stream is read with fetch, because EventSource cannot send the token.
 */
export function followRun(
  run: string,
  seen: { train: number; val: number; health: number; generation: number },
  handlers: RunStreamHandlers,
): () => void {
  const stop = new AbortController();
  const handle: Record<string, (data: string) => void> = {
    metrics: (data) => {
      const records = JSON.parse(data) as MetricsRecord[];
      for (const { phase } of records) seen[phase]++;
      handlers.onMetrics(records);
    },
    health: (data) => {
      const events = JSON.parse(data) as HealthEvent[];
      seen.health += events.length;
      handlers.onHealth(events);
    },
    status: (data) => handlers.onStatus(data as RunSummary["status"]),
    reset: () => handlers.onReset(),
  };
  const follow = async () => {
    for (let turn = 0; !stop.signal.aborted; turn++) {
      try {
        const response = await ask(`${runPath(run)}/stream?${queryOf(seen)}`, {
          signal: stop.signal,
        });
        handlers.onConnection(true);
        if (turn > 0) handlers.onReset();
        await readEvents(response, (event, data) => handle[event]?.(data));
      } catch {
        // Whatever ended the stream, the next turn tries again.
      }
      if (stop.signal.aborted) return;
      handlers.onConnection(false);
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    }
  };
  void follow();
  return () => stop.abort();
}

const RECONNECT_MS = 1500;

/** Reads server-sent events until the stream ends. */
async function readEvents(
  response: Response,
  onEvent: (event: string, data: string) => void,
): Promise<void> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() as string;
    for (const block of blocks) {
      const field = (name: string) =>
        block
          .split("\n")
          .filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).replace(/^ /, ""))
          .join("\n");
      onEvent(field("event"), field("data"));
    }
  }
}
