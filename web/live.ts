/** A run as it goes on: its status, step and health from the stream, as state of a page. */
import { useEffect, useState } from "preact/hooks";
import type { HealthEvent, MetricsRecord } from "../src/core/run.js";
import { followRun, type RunDetail } from "./api.js";
import { useInterval, useVisibility } from "./load.js";

/** Between two looks at a run that has ended: it may be resumed. */
const LOOK_MS = 10_000;
const ENDED: RunDetail["status"][] = ["finished", "failed", "interrupted"];

/** What moves while a run trains. */
export interface Live {
  status: RunDetail["status"];
  step: number;
  health: HealthEvent[];
  /** True while the service answers. */
  isConnected: boolean;
}

/**
 * Follows the run's stream while the run goes on and the page is seen: a browser has six
 * connections to the service, for all its tabs together. `onNews` hears that there is something new
 * to draw, `onTurn` that the run may have begun, ended or been replaced, which changes more than its
 * curves; it has to stay the same function.
 */
export function useLive(detail: RunDetail, onNews: () => void, onTurn: () => void): Live {
  const [status, setStatus] = useState(detail.status);
  const [isConnected, setIsConnected] = useState(true);
  const [health, setHealth] = useState(detail.health);
  const [step, setStep] = useState(detail.step);
  const isVisible = useVisibility();
  const isEnded = ENDED.includes(detail.status);
  useInterval(isEnded ? onTurn : null, LOOK_MS);
  useEffect(() => {
    setStatus(detail.status);
    setHealth(detail.health);
    setStep(detail.step);
    setIsConnected(true);
    // How much has been seen of a sample is no place to go on from.
    if (detail.isSample || isEnded || !isVisible) return undefined;
    const seen = {
      train: detail.train.span?.records ?? 0,
      val: detail.val.span?.records ?? 0,
      health: detail.health.length,
      generation: detail.generation,
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
      onReset: onTurn,
      onConnection: setIsConnected,
      onHealth: (events) => setHealth((old) => [...old, ...events]),
    });
  }, [detail, isVisible]);
  return { status, step, health, isConnected };
}
