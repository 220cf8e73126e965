/** What every route of the service works with. */
import type { JudgingSettings } from "../config/settings.js";
import type { Sandbox } from "../verify/sandbox.js";
import type { Verifier } from "../verify/verify.js";
import type { FairQueue } from "./fair-queue.js";
import type { ServiceMetrics } from "./metrics.js";

/** Settings of a service. */
export interface ServiceOptions {
  /** Bearer token that every route but /healthz asks for; null asks for none. */
  token: string | null;
  /** Token that the dashboard's pages send; null keeps browsers from running code. */
  pageToken: string | null;
  /** Largest request body, in bytes. */
  maxBodyBytes: number;
  /** Jobs in hand at once: more than sandbox workers, so that none of them waits for Node. */
  concurrency: number;
  /** Jobs that may wait; one more is refused. */
  queueCapacity: number;
  /** Wait for a free sandbox after which a request is refused, unless it says otherwise. */
  deadlineMs: number;
  /** What /healthz says of how the verifier judges; it says nothing when absent. */
  settings?: JudgingSettings;
  /** Longest time a request may take to arrive; 60 s when absent. */
  bodyTimeoutMs?: number;
}

/** One running service's parts. */
export interface ServiceContext {
  verifier: Verifier;
  sandbox: Sandbox;
  queue: FairQueue;
  metrics: ServiceMetrics;
  options: ServiceOptions;
  /** True once the service finishes what it has and takes nothing new. */
  isDraining: () => boolean;
}
