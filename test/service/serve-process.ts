/** `rlvr serve` as its own process, the way users run it, and the problems that tests send it. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Problem } from "../../src/core/problem.js";

/** Path of a file of the project. */
export const inProject = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** A running service. */
export interface ServeProcess {
  url: string;
  pid: number;
  /** Sends a signal and waits for the end; answers the exit code, null when killed. */
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts the command from source and waits for the address it prints. */
export async function serve(...args: string[]): Promise<ServeProcess> {
  const words = ["--import", "tsx", inProject("src/cli/main.ts"), "serve", "--port", "0", ...args];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return {
    url: await addressOf(child),
    pid: child.pid as number,
    stop: async (signal) => {
      child.kill(signal);
      return ended;
    },
  };
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const address = /serving on (\S+)/.exec(said)?.[1];
      if (address !== undefined) resolve(address);
    });
    child.once("exit", (code) => reject(new Error(`serve ended with ${code}: ${said}`)));
  });
}

/** Processes started by `pid`, with theirs. */
export function descendants(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // Ended while we looked.
    }
  }
  const walk = (of: number): number[] =>
    (children.get(of) ?? []).flatMap((child) => [child, ...walk(child)]);
  return walk(pid);
}

/** Processes with `text` in their command line. */
export function processesNaming(text: string): number[] {
  const isNaming = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && isNaming(name))
    .map(Number);
}

/** Adds two numbers; three tests. */
export const ADD: Problem = {
  id: "add",
  source: "apps",
  prompt: [{ role: "user", content: "Print the sum of two numbers." }],
  language: "python",
  tests: {
    kind: "stdio",
    cases: [
      { input: "1 2\n", output: "3\n" },
      { input: "5 6\n", output: "11\n" },
      { input: "-1 1\n", output: "0\n" },
    ],
  },
};

const block = (code: string) => "Here.\n```python\n" + code + "\n```\n";

/**
 * The i-th of a row of completions for ADD with its pass rate, every one another program: right,
 * right in one test of three, wrong, failing, no program.
 */
export function completionOf(i: number): { completion: string; passRate: number } {
  const kinds: [string, number][] = [
    [block(`# ${i}\nprint(sum(map(int, input().split())))`), 1],
    [block(`# ${i}\ninput()\nprint(3)`), 1 / 3],
    [block(`# ${i}\nprint("x")`), 0],
    [block(`# ${i}\nraise ValueError(${i})`), 0],
    ["I do not know.", 0],
  ];
  const [completion, passRate] = kinds[i % kinds.length];
  return { completion, passRate };
}

/** A right completion that keeps the processor busy for so many milliseconds per test. */
export function slowCompletion(i: number, ms: number): string {
  const wait = `import time\nend = time.process_time() + ${ms / 1000}\nwhile time.process_time() < end: pass`;
  return block(`# ${i}\n${wait}\nprint(sum(map(int, input().split())))`);
}
