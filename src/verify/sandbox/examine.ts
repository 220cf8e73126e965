/** Finds out what this machine offers the sandbox, for `rlvr doctor`. */
import type { IsolationLevel } from "../sandbox.js";
import { ServerConnection } from "./connection.js";
import { findInterpreter, type Interpreter } from "./interpreter.js";
import { LANGUAGES } from "./languages.js";
import { probe } from "./probe.js";
import type { ServerReport } from "./wire.js";

/** What was found. */
export interface Examination {
  level: IsolationLevel;
  /** One sentence each on what is missing and why. */
  missing: string[];
  interpreter: Interpreter;
  /** Null where the fork server cannot run at all. */
  server: ServerReport | null;
  /** Versions of the languages' tools by language; null where they are absent. */
  languages: Record<string, string | null>;
}

/**
 * Starts one server, attacks it from inside, and looks for compilers.
 *
 * @throws {ConfigError} without a Python that fits.
 * @throws {SandboxError} when the server does not start.
 */
export async function examineSandbox(python?: string): Promise<Examination> {
  const interpreter = await findInterpreter(python);
  const languages: Record<string, string | null> = { python: interpreter.version };
  for (const [name, detect] of Object.entries(LANGUAGES)) {
    languages[name] = (await detect())?.stamp.split("\n")[0] ?? null;
  }
  if (process.platform !== "linux") {
    const missing = [`the fork server needs Linux, this is ${process.platform}`];
    return { level: "none", missing, interpreter, server: null, languages };
  }
  const server = await ServerConnection.start({
    interpreter,
    preload: [],
    inner: true,
    outer: true,
  });
  try {
    const { level, missing } = await probe(server);
    return { level, missing, interpreter, server: server.report, languages };
  } finally {
    await server.close();
  }
}
