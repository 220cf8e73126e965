/**
 * A tiny run in a process of its own, that kills itself the hard way where it is told to.
 *
 *     child.ts FIXTURE OUT KILL [OVERRIDE…]
 *
 * KILL is `never`, `metrics:STEP` (when a step's metrics were written), `rollouts:STEP` (before
 * them), `partial:STEP` (while that step's checkpoint is being written), or `abort:STEP` (asked to stop).
 */
import { existsSync, readdirSync } from "node:fs";
import { runPaths } from "../../src/core/run.js";
import { train } from "../../src/train/train.js";
import { ArithmeticVerifier, tinyRun } from "./fixture.js";

const [fixture, out, kill, ...overrides] = process.argv.slice(2);
const [where, at] = kill.split(":");
const die = () => process.kill(process.pid, "SIGKILL");
const stop = new AbortController();

/** Looks for the moment again and again, between the writes of the run. */
function watch(isThere: () => boolean): void {
  setImmediate(() => (isThere() ? die() : watch(isThere)));
}

const step = String(at).padStart(6, "0");
const { checkpoints, rollouts } = runPaths(out);
const holds = (dir: string, test: (name: string) => boolean) =>
  existsSync(dir) && readdirSync(dir).some(test);
if (where === "partial") {
  watch(() => holds(checkpoints, (name) => name.startsWith(`.step_${step}.partial`)));
}
if (where === "rollouts") watch(() => holds(rollouts, (name) => name === `step_${step}.jsonl`));

const summary = await train(tinyRun(fixture, out, overrides), {
  verifier: new ArithmeticVerifier(),
  signal: stop.signal,
  onEvent: (event) => {
    if (event.kind !== "metrics" || event.record.phase !== "train") return;
    if (where === "metrics" && event.record.step === Number(at)) die();
    if (where === "abort" && event.record.step === Number(at)) stop.abort();
  },
});
console.log(JSON.stringify(summary));
