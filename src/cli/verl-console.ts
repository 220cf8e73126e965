/** What a launched run looks like on the console. */
import type { LaunchEvent, LaunchSummary } from "../launch/launch.js";
import { describeRecord } from "./train-console.js";

/** Prints an event; veRL's own lines stay in the log. */
export function describeVerlEvent(event: LaunchEvent, isQuiet: boolean): void {
  const say = (text: string) => void process.stderr.write(`${text}\n`);
  switch (event.kind) {
    case "started":
      say(
        `veRL started (${event.job})${event.resumedFrom === null ? "" : `, going on after step ${event.resumedFrom}`}`,
      );
      return;
    case "record":
      (isQuiet ? process.stderr : process.stdout).write(`${describeRecord(event.record)}\n`);
      return;
    case "health": {
      const { severity, step, title, evidence, advice } = event.event;
      say(`${severity}: step ${step}: ${title} (${evidence}). ${advice}`);
      return;
    }
    case "notice":
      say(`note: ${event.message}`);
      return;
    case "line":
      return;
  }
}

/** Says how a launched run ended, and what to do next. */
export function describeVerlSummary(summary: LaunchSummary): string {
  const { status, end, lastStep, checkpoints, failure, tail, dir } = summary;
  const steps = lastStep === null ? "before any step" : `after step ${lastStep}`;
  const newest = checkpoints.at(-1);
  const next =
    newest === undefined
      ? "no checkpoint was saved"
      : `next: rlvr merge ${newest} --out ${dir}/model`;
  if (status === "finished") return `finished ${steps}\n${next}`;
  const lines = [`${status} ${steps} (${end.reason}); veRL's lines are in ${dir}/logs`];
  if (failure !== null) lines.push(`${failure.what}: ${failure.cure}`);
  else if (status === "failed") lines.push(...tail.slice(-10).map((line) => `  ${line}`));
  if (newest !== undefined) lines.push("the same command goes on from the newest checkpoint", next);
  return lines.join("\n");
}
