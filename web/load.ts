/** Loading data into a page, with the three states that every page draws. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

/** Data on its way, at hand, or refused; `data` stays while it is loaded anew. */
export interface Loaded<T> {
  data: T | null;
  error: string | null;
  isLoading: boolean;
  reload: () => void;
}

/** Loads whenever `keys` change; an answer that comes after a newer question is dropped. */
export function useLoad<T>(load: () => Promise<T>, keys: unknown[]): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, "reload">>({
    data: null,
    error: null,
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((value) => value + 1), []);
  useEffect(() => {
    let isCurrent = true;
    setState((old) => ({ ...old, isLoading: true }));
    load().then(
      (data) => isCurrent && setState({ data, error: null, isLoading: false }),
      (error: unknown) =>
        isCurrent &&
        setState((old) => ({ ...old, error: (error as Error).message, isLoading: false })),
    );
    return () => {
      isCurrent = false;
    };
  }, [...keys, turn]);
  return { ...state, reload };
}

/** Calls `act` every so often while the page is shown; null calls nothing. */
export function useInterval(act: (() => void) | null, ms: number): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") latest.current?.();
    }, ms);
    return () => clearInterval(timer);
  }, [ms]);
}

/** True while the page is shown, not in a tab behind others. */
export function useVisibility(): boolean {
  const [isVisible, setIsVisible] = useState(document.visibilityState === "visible");
  useEffect(() => {
    const onChange = () => setIsVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", onChange);
    return () => document.removeEventListener("visibilitychange", onChange);
  }, []);
  return isVisible;
}
