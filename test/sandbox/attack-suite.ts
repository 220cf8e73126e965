/**
 * Runs every attack in a sandbox of its own and prints what went wrong as JSON: a process of its
 * own, so that the same suite runs as root, as an ordinary user and in a container's cage.
 */
import { readdirSync, readFileSync } from "node:fs";
import { ConfigError } from "../../src/core/errors.js";
import { openSandbox } from "../../src/verify/sandbox/open.js";
import type { IsolationLevel, Sandbox } from "../../src/verify/sandbox.js";
import { type Attack, ATTACKS, DAEMON_MARK } from "./attacks.js";
import { endOf, runAll, runOne } from "./programs.js";

/** What the suite says of itself. */
export interface SuiteReport {
  level: IsolationLevel;
  uid: number;
  attacks: number;
  /** One sentence per failure; none when all is well. */
  failures: string[];
}

const LIMITS = { cpuMs: 700, wallMs: 2100, memoryBytes: 128 * 2 ** 20, outputBytes: 2 ** 20 };
const INPUTS = ["1 2\n", "3 4\n"];

async function main(): Promise<void> {
  const wanted = process.argv[2] ?? "";
  const sandbox = await openSandbox({ workers: 2, requireIsolation: "basic" });
  const failures: string[] = [];
  const attacks = ATTACKS.filter(({ name }) => name.includes(wanted));
  await checkNext(sandbox);
  const before = await settled(() => true);
  for (const attack of attacks) {
    try {
      failures.push(...(await tryAttack(sandbox, attack)).map((what) => `${attack.name}: ${what}`));
    } catch (error) {
      // Without a user of their own, nothing bounds the processes of root's programs.
      if (error instanceof ConfigError && attack.language === "bash" && isBareRoot(sandbox))
        continue;
      failures.push(`${attack.name}: ${(error as Error).message}`);
    }
  }
  const isSame = ([what, count]: [string, number]) => count === before[what];
  const after = await settled((now) => Object.entries(now).every(isSame));
  for (const [what, count] of Object.entries(after)) {
    if (count !== before[what]) failures.push(`${what}: ${before[what]} before, ${count} after`);
  }
  await sandbox.close();
  const report = {
    level: sandbox.level,
    uid: process.getuid?.(),
    attacks: attacks.length,
    failures,
  };
  console.log(JSON.stringify(report));
}

const isBareRoot = (sandbox: Sandbox) => process.getuid?.() === 0 && sandbox.level === "basic";

async function tryAttack(sandbox: Sandbox, attack: Attack): Promise<string[]> {
  const { source, end, language = "python" } = attack;
  const isGreedy = !end.test("exited 0");
  // Greedy programs take their whole limit: once is enough.
  const inputs = isGreedy ? INPUTS.slice(0, 1) : INPUTS;
  const neighbour = checkNext(sandbox);
  const outcomes = await runAll(sandbox, source, inputs, { limits: LIMITS, language });
  await neighbour;
  await checkNext(sandbox);
  const ended = endOf(outcomes[0]);
  return [
    ...(end.test(ended) ? [] : [`ended with ${ended}: ${outcomes[0].stderr.slice(-200)}`]),
    ...(outcomes.some(({ stdout }) => stdout.includes("WON")) ? ["got what it tried"] : []),
    ...outcomes
      .filter(({ peakBytes }) => language === "python" && peakBytes > 4 * LIMITS.memoryBytes)
      .map(({ peakBytes }) => `took ${peakBytes} bytes`),
  ];
}

/** The next programs on all servers have to be right. */
async function checkNext(sandbox: Sandbox): Promise<void> {
  const right = Array.from({ length: 2 }, () =>
    runOne(sandbox, "print(sum(map(int, input().split())))", "20 22\n"),
  );
  for (const { stdout } of await Promise.all(right)) {
    if (stdout !== "42\n") throw new Error(`the next program printed ${JSON.stringify(stdout)}`);
  }
}

/**
 * What is left over once nothing changes any more: a server answers before it has buried a process
 * and forked the next.
 */
async function settled(
  isEnough: (now: Record<string, number>) => boolean,
): Promise<Record<string, number>> {
  let last = leftovers();
  for (let same = 0, round = 0; round < 100 && (same < 5 || !isEnough(last)); round++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const now = leftovers();
    same = JSON.stringify(now) === JSON.stringify(last) ? same + 1 : 0;
    last = now;
  }
  return last;
}

/** What the attacks try to leave; other tests have folders of their own beside it. */
const isNote = (name: string) => /^rlvr(-note|-link|-bash|-\d+)?$/.test(name);

/** What could be left over: processes below this one or marked, files of others in shared places. */
function leftovers(): Record<string, number> {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const parents = new Map(pids.map((pid) => [pid, statusOf(pid, "PPid")]));
  const isBelow = (pid: string): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === String(process.pid) || isBelow(parent));
  };
  return {
    processes: pids.filter(isBelow).length,
    daemons: pids.filter((pid) => textOf(`/proc/${pid}/cmdline`).includes(DAEMON_MARK)).length,
    descriptors: readdirSync("/proc/self/fd").length,
    "notes in /tmp": readdirSync("/tmp").filter(isNote).length,
    "notes in /dev/shm": readdirSync("/dev/shm").filter(isNote).length,
  };
}

function statusOf(pid: string, field: string): string | undefined {
  return new RegExp(`^${field}:\\s*(\\S+)`, "m").exec(textOf(`/proc/${pid}/status`))?.[1];
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

await main();
