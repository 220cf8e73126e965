/** `rlvr doctor`: what this machine offers, room by room, and what to do about what is missing. */
import type { Command } from "commander";
import { checkVerl } from "./doctor-verl.js";
import { type Examination, examineSandbox } from "../verify/sandbox/examine.js";

/** One line of the report. */
interface Finding {
  /** `ok`: all is there; `weaker`: it runs with less; `missing`: something does not run. */
  state: "ok" | "weaker" | "missing";
  what: string;
  detail: string;
}

/** What a room has examined: the facts for `--json`, and the lines for people. */
interface Check {
  facts: unknown;
  findings: Finding[];
}

/** The rooms that have something to examine. */
const CHECKS: Record<string, () => Promise<Check>> = { sandbox: checkSandbox };
const MARKS = { ok: "✓", weaker: "!", missing: "✗" };

/** Defines the command. */
export function define(command: Command): void {
  command
    .argument("[words...]", "engine=verl, with a config file or key=value, examines a launch of it")
    .option("--json", "print the facts as JSON")
    .action(examine);
}

async function examine(words: string[], options: { json?: true }): Promise<void> {
  const facts: Record<string, unknown> = {};
  const checks = words.length === 0 ? CHECKS : { ...CHECKS, verl: () => checkVerl(words) };
  for (const [room, check] of Object.entries(checks)) {
    const { facts: found, findings } = await check();
    facts[room] = found;
    if (!options.json) process.stdout.write(`${room}\n${findings.map(lineOf).join("")}`);
  }
  if (options.json) process.stdout.write(`${JSON.stringify(facts)}\n`);
}

const lineOf = ({ state, what, detail }: Finding) => `  ${MARKS[state]} ${what}: ${detail}\n`;

async function checkSandbox(): Promise<Check> {
  const found = await examineSandbox();
  const { interpreter, languages } = found;
  const { version, executable, hasNumpy } = interpreter;
  const findings: Finding[] = [
    {
      state: found.level === "none" ? "missing" : found.level === "basic" ? "weaker" : "ok",
      what: "isolation",
      detail: `${found.level}${found.server === null ? "" : ` (${layersOf(found)})`}`,
    },
    ...found.missing.map((detail) => ({ state: "weaker" as const, what: "weaker", detail })),
    { state: "ok", what: "python", detail: `${version} at ${executable}` },
    hasNumpy
      ? { state: "ok", what: "numpy", detail: "kept warm in servers of its own" }
      : { state: "weaker", what: "numpy", detail: "not installed; programs that import it fail" },
    // Python, the first of them, has its own line above.
    ...Object.entries(languages)
      .slice(1)
      .map(([name, tool]): Finding => {
        if (tool === null) return { state: "missing", what: name, detail: "no compiler on PATH" };
        return { state: "ok", what: name, detail: tool };
      }),
  ];
  return { facts: found, findings };
}

function layersOf({ server }: Examination): string {
  if (server === null) return "";
  const { seccomp, landlock, uid, namespaces } = server;
  return [
    seccomp ? "seccomp" : "no seccomp",
    landlock > 0 ? `Landlock ${landlock}` : "no Landlock",
    uid === null ? "the caller's user" : "a user of its own",
    namespaces.length > 0 ? `namespaces ${namespaces.join(", ")}` : "no namespaces",
  ].join("; ");
}
