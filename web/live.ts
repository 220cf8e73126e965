/** A run as it goes on: its status, step and health from the stream, as state of a page. */
import { useEffect, useState } from "preact/hooks";
import type { HealthEvent, MetricsRecord } from "../src/core/run.js";
import { followRun, type RunDetail } from "./api.js";

/** What moves while a run trains. */
export interface Live {
  status: RunDetail["status"];
  step: number;
  health: HealthEvent[];
  /** True while the service answers. */
  isConnected: boolean;
}

/**
 * Follows the run's stream. `onNews` hears that there is something new to draw, `onTurn` that the
 * run began or ended, which changes more than its curves; it has to stay the same function.
 */
export function useLive(detail: RunDetail, onNews: () => void, onTurn: () => void): Live {
  const [status, setStatus] = useState(detail.status);
  const [isConnected, setIsConnected] = useState(true);
  const [health, setHealth] = useState(detail.health);
  const [step, setStep] = useState(detail.step);
  useEffect(() => {
    setStatus(detail.status);
    setHealth(detail.health);
    setStep(detail.step);
    // How much has been seen of a sample is no place to go on from.
    if (detail.isSample) return undefined;
    const seen = {
      train: detail.train.span?.records ?? 0,
      val: detail.val.span?.records ?? 0,
      health: detail.health.length,
    };
    const onMetrics = (records: MetricsRecord[]) => {
      onNews();
      setStep((step) => Math.max(step, ...records.map((record) => record.step)));
    };
    return followRun(detail.name, seen, {
      onMetrics,
      onStatus: (now) => {
        setStatus(now);
        if (now !== detail.status) onTurn();
      },
      onConnection: setIsConnected,
      onHealth: (events) => setHealth((old) => [...old, ...events]),
    });
  }, [detail]);
  return { status, step, health, isConnected };
}
