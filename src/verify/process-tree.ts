/**
 * What a process and its descendants use, and how all of them are ended, by reading /proc.
 *
 * Descendants are found through their parents while the parents live, through the process group,
 * and in the end through a mark in their environment, which survives double forks and new
 * sessions. Not covered: a program that clears its environment, leaves the group and outlives its
 * parent between two looks. Where there is no /proc, only the group is ended.
 */
import { readdirSync, readFileSync } from "node:fs";

/** What the processes of a tree use together. */
export interface TreeUse {
  cpuMs: number;
  residentBytes: number;
}

interface Stat {
  pid: number;
  /** Start time in clock ticks; together with the pid it names a process for good. */
  started: string;
  group: number;
  cpuTicks: number;
  residentPages: number;
}

// Linux fixes USER_HZ at 100 on the architectures Node runs on.
const TICK_MS = 10;
const PAGE_BYTES = 4096;

/** Follows one process and what it starts. */
export class ProcessTree {
  private readonly root: number;
  private readonly mark: string;
  private readonly seen = new Map<number, string>();
  private gone = 0;
  private readonly ticks = new Map<number, number>();

  /** `mark` is the text `NAME=value` that stands in the environment of the root process. */
  constructor(root: number, mark: string) {
    this.root = root;
    this.mark = mark;
  }

  /** Looks at every process of the tree that can be seen. */
  look(): TreeUse {
    let residentPages = 0;
    const living = new Set<number>();
    for (const pid of this.descendants()) {
      const stat = readStat(pid);
      if (stat === null) continue;
      this.seen.set(pid, stat.started);
      living.add(pid);
      this.ticks.set(pid, stat.cpuTicks);
      residentPages += stat.residentPages;
    }
    for (const [pid, ticks] of this.ticks) {
      if (living.has(pid)) continue;
      // What a dead child used stands in its parent's sum only once the parent has waited for it.
      this.gone += pid === this.root ? 0 : ticks;
      this.ticks.delete(pid);
    }
    const running = [...this.ticks.values()].reduce((sum, ticks) => sum + ticks, 0);
    return { cpuMs: (running + this.gone) * TICK_MS, residentBytes: residentPages * PAGE_BYTES };
  }

  /** Kills everything that belongs to the tree and waits until it is gone. */
  async end(): Promise<void> {
    signal(-this.root);
    const deadline = Date.now() + 2000;
    for (let pause = 1; ; pause = Math.min(pause * 2, 20)) {
      const left = this.survivors();
      if (left.length === 0 || Date.now() > deadline) return;
      left.forEach((pid) => signal(pid));
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  private descendants(): number[] {
    const found = [this.root, ...this.seen.keys()].filter((pid, i, all) => all.indexOf(pid) === i);
    for (let i = 0; i < found.length; i++) {
      for (const child of childrenOf(found[i])) {
        if (!found.includes(child)) found.push(child);
      }
    }
    return found.filter((pid) => {
      const started = this.seen.get(pid);
      return started === undefined || readStat(pid)?.started === started;
    });
  }

  private survivors(): number[] {
    return listProcesses().filter((pid) => {
      const stat = readStat(pid);
      if (stat === null) return false;
      if (stat.group === this.root || this.seen.get(pid) === stat.started) return true;
      return environmentOf(pid).includes(this.mark);
    });
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

function listProcesses(): number[] {
  return readNames("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Processes that this one has started and that still run. */
export function childrenOf(pid: number): number[] {
  return readNames(`/proc/${pid}/task`).flatMap((task) =>
    readText(`/proc/${pid}/task/${task}/children`).split(" ").filter(Boolean).map(Number),
  );
}

/** Null for a process that has ended, also when nobody has collected its exit code yet. */
function readStat(pid: number): Stat | null {
  const text = readText(`/proc/${pid}/stat`);
  // The name in brackets may hold blanks and brackets itself.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  if (fields.length < 22 || fields[0] === "Z" || fields[0] === "X") return null;
  return {
    pid,
    started: fields[19],
    group: Number(fields[2]),
    cpuTicks: [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0),
    residentPages: Number(fields[21]),
  };
}

function environmentOf(pid: number): string[] {
  return readText(`/proc/${pid}/environ`).split("\0");
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function readNames(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
