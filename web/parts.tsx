/** Small pieces that several pages draw. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { RunSummary } from "../src/report/run-store.js";
import type { Loaded } from "./load.js";

/** Draws loading and error states, and the content once there is data. */
export function Content<T>({
  loaded,
  children,
}: {
  loaded: Loaded<T>;
  children: (data: T) => ComponentChildren;
}) {
  const { data, error, isLoading, reload } = loaded;
  return (
    <>
      {error !== null && (
        <p class="state error" role="alert">
          {error} <button onClick={reload}>Try again</button>
        </p>
      )}
      {data === null && isLoading && (
        <p class="state" role="status">
          Loading…
        </p>
      )}
      {data !== null && children(data)}
    </>
  );
}

const STATUS_SIGNS: Record<RunSummary["status"], string> = {
  running: "●",
  finished: "✓",
  failed: "✗",
  interrupted: "◼",
  stale: "◌",
  unreadable: "?",
};

/** A run's status as sign and word. */
export function Status({ status }: { status: RunSummary["status"] }) {
  return (
    <span class={`status status-${status}`}>
      <span aria-hidden="true">{STATUS_SIGNS[status]}</span> {status}
    </span>
  );
}

/** A curve of a few points, without axes. */
export function Sparkline({ values, label }: { values: (number | null)[]; label: string }) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return <span class="muted">–</span>;
  const top = Math.max(...known, 1e-9);
  const points = values
    .map((value, i) => `${(i / (values.length - 1)) * 100},${24 - ((value ?? 0) / top) * 22}`)
    .join(" ");
  return (
    <svg
      class="sparkline"
      viewBox="0 0 100 26"
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <polyline points={points} />
    </svg>
  );
}

/** The run's name and the tabs of its pages. */
export function RunHeader({
  run,
  page,
  children,
}: {
  run: string;
  page: string;
  children?: ComponentChildren;
}) {
  const tabs = [
    ["run", "Curves", ""],
    ["rollouts", "Rollouts", "/rollouts"],
    ["evaluation", "Evaluation", "/evaluation"],
  ];
  return (
    <header class="page-header">
      <h1>{run}</h1>
      {children}
      <ul class="tabs">
        {tabs.map(([name, label, suffix]) => (
          <li key={name}>
            <a
              href={`#/run/${encodeURIComponent(run)}${suffix}`}
              aria-current={page === name ? "page" : undefined}
            >
              {label}
            </a>
          </li>
        ))}
      </ul>
    </header>
  );
}

/** Copies a text, and says so; where the browser lends no clipboard, the text stands there selected. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isShown, setIsShown] = useState(false);
  const copy = async (button: HTMLButtonElement) => {
    try {
      // Pages over plain HTTP from another machine have no clipboard: writing to it throws here.
      await navigator.clipboard.writeText(text);
    } catch {
      setIsShown(true);
      return;
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = label), 1200);
  };
  return (
    <>
      <button onClick={(event) => void copy(event.currentTarget)} title={text}>
        {label}
      </button>
      {isShown && (
        <input class="copied" aria-label={label} readOnly value={text} ref={selectWhole} />
      )}
    </>
  );
}

function selectWhole(field: HTMLInputElement | null): void {
  field?.focus();
  field?.select();
}
