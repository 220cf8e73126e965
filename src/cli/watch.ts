/** `rlvr watch`: a run's health and curves in the terminal. */
import type { Command } from "commander";
import { DataError } from "../core/errors.js";
import { readRunInfo } from "../core/run.js";
import { openRun, runStatus } from "../report/run-store.js";
import { renderTerminal } from "../report/terminal-view.js";
import { addExamples } from "./help.js";

const EVERY_MS = 2000;
const PLAIN_WIDTH = 100;
/** Leaves the screen as it was: the view is drawn on the terminal's second screen. */
const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?1049l\u001b[?25h";
const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

interface Flags {
  once?: true;
  json?: true;
}

/** Defines the command. */
export function define(command: Command): void {
  command
    .argument("<run>", "run directory")
    .option("--once", "print the state once, as is done where the output is no terminal")
    .option("--json", "print the state once, as JSON")
    .action(watch);
  addExamples(command, [
    ["rlvr watch runs/starter", "drawn anew until the run ends"],
    ["rlvr watch runs/starter --json | jq .metrics.train", "each metric's newest value"],
  ]);
}

async function watch(dir: string, { once, json }: Flags): Promise<void> {
  const run = openRun(dir);
  const look = async () => {
    await run.refresh();
    const [problem] = run.unreadable();
    if (problem !== undefined) throw problem;
    const info = await readRunInfo(dir).catch(() => null);
    if (info === null && run.metrics.span("train") === null) {
      throw new DataError("expected a run directory with run.json or metrics.jsonl", { path: dir });
    }
    const status = info === null ? null : await runStatus(dir, info);
    return { info, status, metrics: run.metrics, health: run.health };
  };
  if (json === true) {
    const { info, status, metrics, health } = await look();
    const step = metrics.span("train")?.last ?? 0;
    const newest = { train: metrics.latest("train"), val: metrics.latest("val") };
    process.stdout.write(
      `${JSON.stringify({ run: info, status, step, metrics: newest, health })}\n`,
    );
    return;
  }
  const draw = async (width: number) => {
    const state = await look();
    return { lines: renderTerminal(state, width), status: state.status };
  };
  if (once === true || !process.stdout.isTTY) {
    const { lines } = await draw(process.stdout.isTTY ? process.stdout.columns : PLAIN_WIDTH);
    process.stdout.write(lines.join("\n") + "\n");
    return;
  }
  await follow(draw);
}

/** Draws until the run has ended or Ctrl-C; the last state stays on the screen. */
async function follow(
  draw: (width: number) => Promise<{ lines: string[]; status: string | null }>,
): Promise<void> {
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  let last: string[] = [];
  process.stdout.write(ENTER);
  try {
    while (!stop.signal.aborted) {
      const { lines, status } = await draw(process.stdout.columns);
      last = lines;
      const shown = fit(lines, process.stdout.rows - 1);
      process.stdout.write(
        HOME + shown.map((line) => `${line}${CLEAR_LINE}\n`).join("") + CLEAR_BELOW,
      );
      if (status !== null && status !== "running") break;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, EVERY_MS);
        stop.signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), {
          once: true,
        });
      });
    }
  } finally {
    process.stdout.write(LEAVE);
  }
  process.stdout.write(last.join("\n") + "\n");
}

/** As many lines as the window has, the last of which says that there would be more. */
function fit(lines: string[], rows: number): string[] {
  if (lines.length <= rows) return lines;
  const left = lines.length - rows + 1;
  return [...lines.slice(0, rows - 1), `… ${left} more lines in a taller window, or with --once`];
}
