/**
 * Opens the sandbox: starts the fork servers, attacks them from inside to find the level that
 * holds, and refuses to go on below the level that is asked for.
 *
 * Covered and not covered: docs/SECURITY.md.
 */
import { ConfigError } from "../../core/errors.js";
import { openPlainSandbox } from "../plain-sandbox.js";
import { type IsolationLevel, ISOLATION_LEVELS, type Sandbox } from "../sandbox.js";
import { ForkSandbox } from "./fork-sandbox.js";
import { findInterpreter, type Interpreter } from "./interpreter.js";
import { probe, type ProbeResult } from "./probe.js";
import { Workers } from "./workers.js";

/** How the sandbox is opened. */
export interface SandboxOptions {
  /** Servers that run programs, usually one per core. */
  workers: number;
  /** Refuse to open below this level. */
  requireIsolation: IsolationLevel;
  /** The interpreter's command or path; the first python3 that fits when absent. */
  python?: string;
  /** Told in one sentence each of what is weaker than it could be. */
  onWarning?: (warning: string) => void;
  /** False leaves out namespaces, or the inner layers too: for measuring what layers cost. */
  layers?: { inner: boolean; outer: boolean };
}

/**
 * Opens the sandbox of this machine. Open it before large buffers exist: starting a process costs
 * Node more time the more memory it holds.
 *
 * @throws {ConfigError} when the level that holds is below `requireIsolation`, or without Python.
 * @throws {SandboxError} when the servers do not start.
 */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { requireIsolation, onWarning = () => undefined } = options;
  if (process.platform !== "linux") {
    const reason = `the fork server needs Linux, this is ${process.platform}`;
    refuseBelow(requireIsolation, { level: "none", missing: [reason] });
    onWarning(`${reason}: programs run as plain processes under limits, which is no isolation`);
    return openPlainSandbox({
      workers: options.workers,
      ...(options.python !== undefined && { python: options.python }),
    });
  }
  const interpreter = await findInterpreter(options.python);
  const plain = await startWorkers(options, interpreter, []);
  let numpy: Workers | null = null;
  try {
    const found = await probe(plain.servers[0]);
    refuseBelow(requireIsolation, found);
    for (const sentence of found.missing) onWarning(`isolation ${found.level}: ${sentence}`);
    if (interpreter.hasNumpy) numpy = await startWorkers(options, interpreter, ["numpy"]);
    return new ForkSandbox(found.level, plain, numpy);
  } catch (error) {
    await Promise.all([plain.close(), numpy?.close()]);
    throw error;
  }
}

function startWorkers(
  options: SandboxOptions,
  interpreter: Interpreter,
  preload: string[],
): Promise<Workers> {
  const { inner, outer } = options.layers ?? { inner: true, outer: true };
  return Workers.start(options.workers, { interpreter, preload, inner, outer });
}

function refuseBelow(
  required: IsolationLevel,
  { level, missing }: Pick<ProbeResult, "level" | "missing">,
): void {
  if (ISOLATION_LEVELS.indexOf(level) >= ISOLATION_LEVELS.indexOf(required)) return;
  throw new ConfigError(
    `verifier.require_isolation asks for ${required}, but this machine reaches ${level}: ` +
      `${missing.join("; ")}. Lower the setting, or run where these layers are allowed ` +
      "(docs/SECURITY.md)",
  );
}
