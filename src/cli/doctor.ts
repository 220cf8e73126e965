/** `rlvr doctor`: what this machine offers, what would work here, and what to do about the rest. */
import type { Command } from "commander";
import { ConfigError } from "../core/errors.js";
import { type Examination, examineSandbox } from "../verify/sandbox/examine.js";
import { configSuggestions } from "./config-words.js";
import { type Check, conclude, describeFindings, examined, type Finding } from "./doctor-report.js";
import { checkTraining } from "./doctor-training.js";
import { checkVerl } from "./doctor-verl.js";
import { addExamples, suggest } from "./help.js";

/** Defines the command. */
export function define(command: Command): void {
  command
    .argument("[words...]", "engine=verl, with a config file or key=value, examines a launch of it")
    .option("--json", "print the facts as JSON")
    .action(examine);
  suggest(command, configSuggestions);
  addExamples(command, [
    ["rlvr doctor", "isolation, training here, veRL, languages"],
    ['rlvr doctor engine=verl launch.python="$HOME/verl/bin/python"', "would a launch start?"],
    ["rlvr doctor engine=verl run.yaml --json", "the same of one config, as facts"],
  ]);
}

async function examine(words: string[], options: { json?: true }): Promise<void> {
  const sandbox = examineSandbox();
  if (words.includes("engine=embedded")) {
    throw new ConfigError(
      "doctor: expected engine=verl, found engine=embedded; training here is examined without words",
    );
  }
  const verl = () => checkVerl(["engine=verl", ...words]);
  const rooms: [room: string, check: () => Promise<Check>][] = [
    ["sandbox", async () => checkSandbox(await sandbox)],
    ["languages", async () => checkLanguages(await sandbox)],
    ["training", checkTraining],
    ["verl", verl],
  ];
  const checks: Record<string, Check> = {};
  for (const [room, check] of rooms) {
    // What was asked for by name fails as itself; the general look goes on.
    checks[room] =
      room === "verl" && words.length > 0 ? await check() : await examined(room, check);
    if (!options.json) process.stdout.write(describeFindings(room, checks[room].findings));
  }
  const works = conclude(checks);
  if (!options.json) {
    process.stdout.write(describeFindings("what would work here", works));
    return;
  }
  const facts = Object.entries(checks).map(([room, { facts: found }]) => [room, found] as const);
  process.stdout.write(`${JSON.stringify({ ...Object.fromEntries(facts), works })}\n`);
}

function checkSandbox(found: Examination): Check {
  const { version, executable, hasNumpy } = found.interpreter;
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
  ];
  return { facts: found, findings };
}

function checkLanguages({ languages }: Examination): Check {
  const findings = Object.entries(languages).map(([what, tool]): Finding => {
    if (tool === null) return { state: "missing", what, detail: "no compiler on PATH" };
    return { state: "ok", what, detail: tool };
  });
  return { facts: languages, findings };
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
