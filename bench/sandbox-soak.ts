/**
 * Many programs in one go, right ones and hostile ones mixed: every verdict is checked, and the
 * servers' memory, descriptors, processes and temporary files are compared between an early moment
 * and the end. `--programs N` (100,000 by default).
 */
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { openSandbox } from "../src/verify/sandbox/open.js";
import type { ProgramOutcome, Sandbox } from "../src/verify/sandbox.js";

const LIMITS = { cpuMs: 1000, wallMs: 10_000, memoryBytes: 2 ** 28, outputBytes: 10_000 };
/** Programs in the sandbox's line at a time. */
const AT_ONCE = 64;
/** The early moment, as a share of all programs: caches and arenas are filled by then. */
const EARLY = 0.05;

interface Kind {
  source: string;
  /** What the outcome has to be, given the input. */
  isRight: (outcome: ProgramOutcome, input: number) => boolean;
}

const text = ({ stdout }: ProgramOutcome) => Buffer.from(stdout).toString();
const exited = ({ end }: ProgramOutcome, code: number) =>
  end.kind === "exited" && end.exitCode === code;
const refused = (statement: string): Kind => ({
  source: `import os, socket\ntry: ${statement}; print("WON")\nexcept OSError: print("refused")`,
  isRight: (outcome) => text(outcome) === "refused\n",
});
const right: Kind = {
  source: "n = int(input()); print(n * 2)",
  isRight: (outcome, input) => exited(outcome, 0) && text(outcome) === `${input * 2}\n`,
};

const KINDS: Kind[] = [
  right,
  right,
  right,
  right,
  { source: "import os; os._exit(0)", isRight: (o) => exited(o, 0) && text(o) === "" },
  { source: "raise ValueError(input())", isRight: (o, n) => o.stderr.includes(`ValueError: ${n}`) },
  { source: "print(", isRight: ({ end }) => end.kind === "compile_error" },
  { source: "print('x' * 20000)", isRight: ({ end }) => end.kind === "output_limit" },
  { source: "x = bytearray(10**11)", isRight: ({ end }) => end.kind === "memory_limit" },
  { source: "import os; os.abort()", isRight: ({ end }) => end.kind === "signaled" },
  {
    source:
      "import threading\nfor _ in range(5): threading.Thread(target=print, args=(1,)).start()",
    isRight: (outcome) => text(outcome).replaceAll("\n", "") === "11111",
  },
  refused("os.fork()"),
  refused("open('/tmp/rlvr-soak', 'w')"),
  refused("socket.socket()"),
  refused("os.kill(os.getppid(), 9)"),
];

/** What must not grow. */
interface Usage {
  processes: number;
  descriptors: number;
  tmpFiles: number;
  /** Resident memory of the servers together; the largest single one would hide a leak. */
  serverMib: number;
  nodeMib: number;
}

/** Runs the soak. */
export async function run(args: string[]): Promise<Record<string, number>> {
  const { values } = parseArgs({
    args,
    options: { programs: { type: "string", default: "100000" } },
  });
  const count = Number(values.programs);
  const sandbox = await openSandbox({ workers: 2, requireIsolation: "basic" });
  let early: Usage | null = null;
  let [next, wrong] = [0, 0];
  const started = performance.now();
  const caller = async () => {
    while (next < count) {
      const index = next++;
      if (index === Math.floor(count * EARLY)) early = usage();
      if (index % 10_000 === 0) console.log(index, JSON.stringify(usage()));
      if (!(await judge(sandbox, index))) wrong++;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
  const seconds = (performance.now() - started) / 1000;
  // Nothing runs any more: what is there now is there for good.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const late = usage();
  console.log("end", JSON.stringify(late));
  await sandbox.close();
  const before = early ?? late;
  return {
    programs: count,
    wrong_verdicts: wrong,
    programs_per_s: Math.round(count / seconds),
    processes_at_end: late.processes,
    processes_after_close: usage().processes,
    descriptors_growth: late.descriptors - before.descriptors,
    tmp_growth: late.tmpFiles - before.tmpFiles,
    server_mib_early: before.serverMib,
    server_mib_end: late.serverMib,
    node_mib_early: before.nodeMib,
    node_mib_end: late.nodeMib,
  };
}

async function judge(sandbox: Sandbox, index: number): Promise<boolean> {
  const { source, isRight } = KINDS[index % KINDS.length];
  const [outcome] = await sandbox.run({
    language: "python",
    source,
    stdins: [Buffer.from(`${index}\n`)],
    limits: LIMITS,
  });
  const result = isRight(outcome, index);
  if (!result)
    console.log(index, source, JSON.stringify(outcome.end), text(outcome), outcome.stderr);
  return result;
}

function usage(): Usage {
  const servers = new Map<number, number>();
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const status = textOf(`/proc/${name}/status`);
    parents.set(Number(name), Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]));
    servers.set(Number(name), Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1] ?? 0));
  }
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === process.pid || isBelow(parent));
  };
  const below = [...parents.keys()].filter(isBelow);
  const descriptorsOf = (pid: number | "self") => {
    try {
      return readdirSync(`/proc/${pid}/fd`).length;
    } catch {
      return 0;
    }
  };
  const isServer = (pid: number) => /^Name:\s*python/m.test(textOf(`/proc/${pid}/status`));
  const own = below.filter(
    (pid) => isServer(pid) && below.some((child) => parents.get(child) === pid),
  );
  return {
    processes: below.length,
    descriptors: descriptorsOf("self") + own.reduce((sum, pid) => sum + descriptorsOf(pid), 0),
    tmpFiles: readdirSync(tmpdir()).filter((name) => /^rlvr-soak/.test(name)).length,
    serverMib: Math.round(own.reduce((sum, pid) => sum + (servers.get(pid) ?? 0), 0) / 102.4) / 10,
    nodeMib: Math.round(process.memoryUsage().rss / 2 ** 20),
  };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
