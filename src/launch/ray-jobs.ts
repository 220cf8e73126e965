/**
 * Ray's Jobs REST API: submit, follow, stop. The same calls as `ray job`, without Ray installed
 * here.
 *
 * Source: Ray 2.x, "Ray Jobs REST API" (POST /api/jobs/, GET /api/jobs/{id}, GET
 * /api/jobs/{id}/logs, POST /api/jobs/{id}/stop).
 */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { LaunchError } from "../core/errors.js";

const submittedSchema = z.object({ submission_id: z.string() });
const jobSchema = z.object({
  status: z.enum(["PENDING", "RUNNING", "STOPPED", "SUCCEEDED", "FAILED"]),
  message: z.string().nullish(),
  driver_exit_code: z.number().nullish(),
});
const logsSchema = z.object({ logs: z.string() });
const nodesSchema = z.object({
  data: z.object({ result: z.object({ result: z.array(z.looseObject({})) }) }),
});

/** State of a job as Ray tells it. */
export type RayJob = z.infer<typeof jobSchema>;

// A head node under load answers slowly; beyond this it is taken for gone.
const TIMEOUT_MS = 30_000;
const SUBMIT_TRIES = 60;
const SUBMIT_PAUSE_MS = 2000;

/** How long a call that changes nothing by being repeated is repeated while Ray does not answer. */
export interface RayPatience {
  /** For state and lines of a job: a head that is restarted, or a network that is away. */
  followMs: number;
  /** For stopping, where somebody waits. */
  stopMs: number;
  /** First pause between two calls; each is twice the one before, up to half a minute. */
  pauseMs: number;
}

const PATIENCE: RayPatience = { followMs: 600_000, stopMs: 60_000, pauseMs: 1000 };
const LONGEST_PAUSE_MS = 30_000;

/** Raised when the same call may succeed later. */
class PassingError extends LaunchError {}

/** A job to submit. */
export interface RayJobRequest {
  /** Shell command line. */
  entrypoint: string;
  environment: Record<string, string>;
  /** Chosen name; Ray makes one up when it is null. */
  id: string | null;
}

/** A client of one Ray head. */
export class RayJobs {
  readonly #address: string;
  readonly #token: string | null;
  readonly #patience: RayPatience;

  constructor(address: string, token: string | null, patience: RayPatience = PATIENCE) {
    this.#address = address.replace(/\/+$/, "");
    this.#token = token;
    this.#patience = patience;
  }

  /** Submits a job; answers its id. */
  async submit({ entrypoint, environment, id }: RayJobRequest): Promise<string> {
    const body = {
      entrypoint,
      runtime_env: { env_vars: environment },
      ...(id === null ? {} : { submission_id: id }),
    };
    for (let tries = 1; ; tries++) {
      try {
        return (await this.#call("POST", "/api/jobs/", submittedSchema, body)).submission_id;
      } catch (error) {
        // A head that has just started has no agent yet, and says to try again.
        if (tries === SUBMIT_TRIES || !/No available agent/.test(String(error))) throw error;
        await sleep(SUBMIT_PAUSE_MS);
      }
    }
  }

  /** The state of a job. */
  status(id: string): Promise<RayJob> {
    const ask = () => this.#call("GET", `/api/jobs/${id}`, jobSchema);
    return this.#repeat(ask, this.#patience.followMs);
  }

  /** Everything that the job has printed so far. */
  async logs(id: string): Promise<string> {
    const ask = () => this.#call("GET", `/api/jobs/${id}/logs`, logsSchema);
    return (await this.#repeat(ask, this.#patience.followMs)).logs;
  }

  /** Asks a job to stop; it may take a while to do so. */
  async stop(id: string): Promise<void> {
    const ask = () => this.#call("POST", `/api/jobs/${id}/stop`, z.looseObject({}));
    await this.#repeat(ask, this.#patience.stopMs);
  }

  /** Processors and GPUs of the live nodes. */
  async resources(): Promise<{ cpus: number; gpus: number }> {
    const answer = await this.#call("GET", "/api/v0/nodes?detail=1", nodesSchema);
    const sum = { cpus: 0, gpus: 0 };
    for (const node of answer.data.result.result) {
      if (node["state"] !== "ALIVE") continue;
      const total = (node["resources_total"] ?? {}) as Record<string, number>;
      sum.cpus += total["CPU"] ?? 0;
      sum.gpus += total["GPU"] ?? 0;
    }
    return sum;
  }

  async #repeat<T>(ask: () => Promise<T>, patienceMs: number): Promise<T> {
    const end = performance.now() + patienceMs;
    let { pauseMs } = this.#patience;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof PassingError)) throw error;
        if (performance.now() + pauseMs > end) {
          throw new LaunchError(`${error.message} (asked for ${patienceMs / 1000} s)`, {
            cause: error,
          });
        }
      }
      await sleep(pauseMs);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }

  async #call<T>(method: string, path: string, schema: z.ZodType<T>, body?: object): Promise<T> {
    const url = `${this.#address}${path}`;
    let response: { status: number; text: string };
    try {
      const text = body === undefined ? null : JSON.stringify(body);
      response = await send(url, { method, token: this.#token, body: text });
    } catch (cause) {
      throw new PassingError(
        `ray: no answer from ${url}; is the head running, with --dashboard-host reachable from here?`,
        { cause },
      );
    }
    const { status, text } = response;
    if (status === 401 || status === 403) {
      throw new LaunchError(
        `ray: ${url} answered ${status}: ${text.slice(0, 500)}; give the cluster's token in ` +
          "RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token",
      );
    }
    if (status >= 300) {
      const isPassing = status >= 500 || status === 429;
      const message = `ray: ${method} ${url} answered ${status}: ${text.slice(0, 500)}`;
      throw new (isPassing ? PassingError : LaunchError)(message);
    }
    try {
      return schema.parse(JSON.parse(text));
    } catch (cause) {
      throw new LaunchError(`ray: ${url} answered what is not Ray's Jobs API`, { cause });
    }
  }
}

/** Ray takes what `fetch` sends for a browser's and refuses it, hence the plain request. */
function send(
  url: string,
  { method, token, body }: { method: string; token: string | null; body: string | null },
) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const request = url.startsWith("https:") ? httpsRequest : httpRequest;
    const headers = {
      accept: "application/json",
      "content-type": "application/json",
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    };
    const options = { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const sent = request(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body ?? undefined);
  });
}
