/** The service's own figures in Prometheus' text format. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { SandboxError } from "../core/errors.js";
import type { VerifyResult } from "../verify/verify.js";

/** Counts what the service does. */
export interface ServiceMetrics {
  /** One request answered. */
  answered(route: string, status: number, seconds: number): void;
  /** One completion judged. */
  judged(result: VerifyResult): void;
  /** Runs a job and counts it where our own machinery failed; what it throws passes through. */
  counting<T>(job: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** The exposition text. */
  text(): Promise<string>;
}

/** Makes the metrics; `load` is read whenever they are scraped. */
export function createServiceMetrics(
  load: () => { waiting: number; running: number; capacity: number },
): ServiceMetrics {
  const registers = [new Registry()];
  const requests = new Histogram({
    name: "rlvr_request_seconds",
    help: "Time from request to answer, by route and status.",
    labelNames: ["route", "status"],
    buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  });
  const verdicts = new Counter({
    name: "rlvr_verdicts_total",
    help: "Tests judged, by verdict.",
    labelNames: ["verdict"],
    registers,
  });
  const completions = new Counter({
    name: "rlvr_completions_total",
    help: "Completions judged, by their first failing verdict.",
    labelNames: ["verdict"],
    registers,
  });
  const infraErrors = new Counter({
    name: "rlvr_infra_errors_total",
    help: "Jobs that failed by our own fault.",
    registers,
  });
  const queue = new Gauge({
    name: "rlvr_queue_jobs",
    help: "Jobs in the queue, by state.",
    labelNames: ["state"],
    registers,
    collect() {
      const { waiting, running, capacity } = load();
      this.set({ state: "waiting" }, waiting);
      this.set({ state: "running" }, running);
      this.set({ state: "capacity" }, capacity);
    },
  });
  void queue;
  const memory = new Gauge({
    name: "rlvr_resident_bytes",
    help: "Resident memory of the service process.",
    registers,
    collect() {
      this.set(process.memoryUsage().rss);
    },
  });
  void memory;
  return {
    answered: (route, status, seconds) =>
      requests.observe({ route, status: String(status) }, seconds),
    judged: (result) => {
      completions.inc({ verdict: result.verdict });
      for (const test of result.tests) verdicts.inc({ verdict: test.verdict.kind });
    },
    counting: (job, signal) =>
      job().catch((error: unknown) => {
        // Of a client that has hung up the job was ended, and did not fail.
        if (error instanceof SandboxError && !signal.aborted) infraErrors.inc();
        throw error;
      }),
    text: () => registers[0].metrics(),
  };
}
