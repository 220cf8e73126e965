/** What `rlvr doctor` finds, and how it is said. */
import { RlvrError } from "../core/errors.js";
import { paint, type Style } from "./color.js";

/** One line of the report. */
export interface Finding {
  /** `ok`: all is there; `weaker`: it runs with less; `missing`: something does not run. */
  state: "ok" | "weaker" | "missing";
  what: string;
  detail: string;
}

/** What a room has examined: the facts for `--json`, and the lines for people. */
export interface Check {
  facts: unknown;
  findings: Finding[];
}

const MARKS: Record<Finding["state"], readonly [mark: string, style: Style]> = {
  ok: ["✓", "green"],
  weaker: ["!", "yellow"],
  missing: ["✗", "red"],
};

/** Says a room's findings. */
export function describeFindings(room: string, findings: readonly Finding[]): string {
  const lines = findings.map(({ state, what, detail }) => {
    const [mark, style] = MARKS[state];
    return `  ${paint(style, mark, process.stdout)} ${what}: ${detail}\n`;
  });
  return `${paint("bold", room, process.stdout)}\n${lines.join("")}`;
}

/** A check whose expected failure is a finding as well, so that the other rooms are still told. */
export async function examined(room: string, check: () => Promise<Check>): Promise<Check> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof RlvrError)) throw error;
    const { message } = error;
    return {
      facts: { error: message },
      findings: [{ state: "missing", what: room, detail: message }],
    };
  }
}

/** Says what would work, from what was found. */
export function conclude(checks: Readonly<Record<string, Check>>): Finding[] {
  const commands: readonly [room: string, command: string, good: string][] = [
    ["sandbox", "rlvr verify, eval, serve", "programs can be judged"],
    ["training", "rlvr train", "trains here, on the processor"],
    ["verl", "rlvr train engine=verl", "could be started"],
  ];
  return commands.map(([room, what, good]) => {
    const named = (wanted: Finding["state"]) => {
      const those = checks[room].findings.filter(({ state }) => state === wanted);
      return [...new Set(those.map((finding) => finding.what))].join(", ");
    };
    const [missing, weaker] = [named("missing"), named("weaker")];
    if (missing !== "") return { state: "missing", what, detail: `no: ${missing} missing` };
    if (weaker !== "") return { state: "weaker", what, detail: `${good}; see above: ${weaker}` };
    return { state: "ok", what, detail: good };
  });
}
