/** Finds the level of isolation that really holds, by attacking the sandbox from inside. */
import { readFileSync } from "node:fs";
import { SandboxError } from "../../core/errors.js";
import type { IsolationLevel } from "../sandbox.js";
import type { ServerConnection } from "./connection.js";
import { pythonPlan, runProgram } from "./program-run.js";

const ATTACKS = new URL("../../../python/sandbox/attacks.py", import.meta.url);
const PROBE_LIMITS = {
  cpuMs: 10_000,
  wallMs: 30_000,
  memoryBytes: 256 * 2 ** 20,
  outputBytes: 2 ** 16,
};
/** A program of every server's own net and process ids is what the outer layers are for. */
const OUTER_NAMESPACES = ["net", "pid"];

/** What the attacks showed. */
export interface ProbeResult {
  level: IsolationLevel;
  /** Attacks that went through, by kind; empty when the inner layers held. */
  wentThrough: Record<string, string[]>;
  /** One sentence each on what is missing and why. */
  missing: string[];
}

/**
 * Runs the attacks as a program of the server.
 *
 * @throws {SandboxError} when they could not be run.
 */
export async function probe(server: ServerConnection): Promise<ProbeResult> {
  const facts = Buffer.from(JSON.stringify({ name: server.report.pid }));
  const job = {
    language: "python",
    source: readFileSync(ATTACKS, "utf8"),
    stdins: [facts],
    limits: PROBE_LIMITS,
  };
  const [outcome] = await runProgram(server, job, pythonPlan(job));
  const text = Buffer.from(outcome.stdout).toString();
  if (outcome.end.kind !== "exited" || text === "") {
    throw new SandboxError(
      `sandbox: the probe of its isolation ended with ${JSON.stringify(outcome.end)}: ${outcome.stderr}`,
    );
  }
  return judge(JSON.parse(text) as Record<string, string[]>, server);
}

function judge(wentThrough: Record<string, string[]>, server: ServerConnection): ProbeResult {
  const { landlock, seccomp, machine, uid, uid_reason, namespaces, namespaces_reason } =
    server.report;
  const missing = [
    ...(seccomp
      ? []
      : [`no seccomp filter: left out, or no table of the system calls of ${machine}`]),
    ...(landlock > 0
      ? []
      : ["no Landlock: left out, or the kernel is older than 5.13 or has it switched off"]),
    ...Object.entries(wentThrough).map(
      ([kind, attacks]) => `${kind.replaceAll("_", " ")}: ${attacks.join(", ")} went through`,
    ),
    ...(namespaces_reason === "" ? [] : [`no namespaces: ${namespaces_reason}`]),
    ...(uid !== null || uid_reason === "" ? [] : [`no user of its own: ${uid_reason}`]),
  ];
  const innerHeld = Object.keys(wentThrough).length === 0 && seccomp && landlock > 0;
  const outerHeld =
    OUTER_NAMESPACES.every((name) => namespaces.includes(name)) && uid_reason === "";
  const level = !innerHeld ? "none" : outerHeld ? "full" : "basic";
  return { level, wentThrough, missing };
}
