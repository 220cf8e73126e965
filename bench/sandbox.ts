/**
 * The sandbox's speed beside the tutorial's loop (`subprocess.run` per test) and beside the floor
 * (fork and run of an equally warm interpreter), all on the same programs, taking turns.
 *
 * `--rounds N` sets how often each cell is measured; every round runs ten programs.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { findInterpreter } from "../src/verify/sandbox/interpreter.js";
import { openSandbox, type SandboxOptions } from "../src/verify/sandbox/open.js";
import type { Sandbox } from "../src/verify/sandbox.js";

const PROGRAMS_PER_ROUND = 10;
const TESTS = [1, 10, 50];
const LIMITS = {
  cpuMs: 2000,
  wallMs: 6000,
  memoryBytes: 256 * 2 ** 20,
  outputBytes: 2 ** 20,
};
/** A short program of the kind that problems ask for. */
const SOURCE = `
import sys

def main():
    data = list(map(int, sys.stdin.read().split()))
    n, values = data[0], data[1:]
    best = total = 0
    for value in values[:n]:
        total = max(0, total + value)
        best = max(best, total)
    print(best, sum(values))

main()
`;

interface Batch {
  inputs: string[][];
  expected: string[][];
}

/** Programs that differ in their inputs only; `round` makes each batch another. */
function batchOf(tests: number, round: number): Batch {
  const inputs: string[][] = [];
  const expected: string[][] = [];
  for (let program = 0; program < PROGRAMS_PER_ROUND; program++) {
    const values = Array.from({ length: tests }, (_, test) =>
      Array.from(
        { length: 20 },
        (_, i) => ((i * 7919 + test * 104_729 + program + round) % 41) - 20,
      ),
    );
    inputs.push(values.map((row) => `${row.length}\n${row.join(" ")}\n`));
    expected.push(values.map((row) => `${bestRun(row)} ${row.reduce((sum, x) => sum + x, 0)}`));
  }
  return { inputs, expected };
}

function bestRun(row: number[]): number {
  let [best, total] = [0, 0];
  for (const value of row) best = Math.max(best, (total = Math.max(0, total + value)));
  return best;
}

/** Seconds that a sandbox takes for a batch. */
async function measure(sandbox: Sandbox, { inputs, expected }: Batch): Promise<number> {
  const started = performance.now();
  const runs = inputs.map(async (stdins, program) => {
    const isSuccess = (test: number, { stdout }: { stdout: Uint8Array }) =>
      Buffer.from(stdout).toString().trim() === expected[program][test];
    const outcomes = await sandbox.run({
      language: "python",
      source: SOURCE,
      stdins: stdins.map((text) => Buffer.from(text)),
      limits: LIMITS,
      isSuccess,
    });
    if (outcomes.length !== stdins.length || !outcomes.every((o, i) => isSuccess(i, o))) {
      throw new Error(`the sandbox judged wrongly: ${JSON.stringify(outcomes[0])}`);
    }
  });
  await Promise.all(runs);
  return (performance.now() - started) / 1000;
}

/** The process of the baselines. */
class Baselines {
  readonly #process: ChildProcess;
  readonly #lines: Interface;

  constructor(python: string) {
    const script = fileURLToPath(new URL("sandbox-baselines.py", import.meta.url));
    this.#process = spawn(python, [script], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#process.stdout as NodeJS.ReadableStream });
  }

  async measure(loop: "spawn" | "floor", workers: number, batch: Batch): Promise<number> {
    const answer = once(this.#lines, "line");
    const request = JSON.stringify({ loop, workers, source: SOURCE, ...batch });
    this.#process.stdin?.write(`${request}\n`);
    return Number((await answer)[0]);
  }

  close(): void {
    this.#process.stdin?.end();
  }
}

const median = (values: number[]) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** Runs the bench; see the keys at its end. */
export async function run(args: string[]): Promise<Record<string, number>> {
  const { values } = parseArgs({ args, options: { rounds: { type: "string", default: "20" } } });
  const rounds = Number(values.rounds);
  const { executable } = await findInterpreter();
  const open = (workers: number, layers?: SandboxOptions["layers"]) =>
    openSandbox({
      workers,
      requireIsolation: layers === undefined ? "basic" : "none",
      ...(layers && { layers }),
    });
  const ours = { 1: await open(1), 2: await open(2) };
  const bare = await open(2, { inner: false, outer: false });
  const baselines = new Baselines(executable);
  console.log(`python ${executable}, isolation ${ours[2].level}, ${rounds} rounds`);
  const seconds: Record<string, number[]> = {};
  const take = (cell: string, value: number) => (seconds[cell] ??= []).push(value);
  let nodeCpuMs = 0;
  for (const tests of TESTS) await measure(ours[2], batchOf(tests, -1));
  for (let round = 0; round < rounds; round++) {
    for (const tests of TESTS) {
      const batch = batchOf(tests, round);
      for (const workers of [1, 2] as const) {
        const before = process.cpuUsage();
        take(`ours ${workers} ${tests}`, await measure(ours[workers], batch));
        const used = process.cpuUsage(before);
        if (tests === 10 && workers === 2) nodeCpuMs += (used.user + used.system) / 1000;
        take(`spawn ${workers} ${tests}`, await baselines.measure("spawn", workers, batch));
      }
      take(`floor 2 ${tests}`, await baselines.measure("floor", 2, batch));
      take(`bare 2 ${tests}`, await measure(bare, batch));
    }
  }
  baselines.close();
  await Promise.all([ours[1].close(), ours[2].close(), bare.close()]);
  return figuresOf(seconds, nodeCpuMs / (rounds * PROGRAMS_PER_ROUND * 10));
}

function figuresOf(
  seconds: Record<string, number[]>,
  nodeCpuMsK10: number,
): Record<string, number> {
  const figures: Record<string, number> = {};
  const round2 = (value: number) => Math.round(value * 1000) / 1000;
  /** Median over the rounds of one cell's time to another's. */
  const ratio = (over: string, under: string) =>
    round2(median(seconds[over].map((value, i) => value / seconds[under][i])));
  for (const [cell, values] of Object.entries(seconds)) {
    const tests = Number(cell.split(" ")[2]);
    const rate = (PROGRAMS_PER_ROUND * tests) / median(values);
    console.log(`${cell.padEnd(12)} ${rate.toFixed(0).padStart(7)} tests/s`);
    figures[`tests_per_s_${cell.replaceAll(" ", "_")}`] = Math.round(rate);
  }
  for (const tests of TESTS) {
    figures[`ratio_k${tests}`] = ratio(`spawn 2 ${tests}`, `ours 2 ${tests}`);
    figures[`ratio_k${tests}_one_worker`] = ratio(`spawn 1 ${tests}`, `ours 1 ${tests}`);
    figures[`ratio_to_floor_k${tests}`] = ratio(`floor 2 ${tests}`, `ours 2 ${tests}`);
    figures[`layers_share_k${tests}`] = round2(1 - ratio(`bare 2 ${tests}`, `ours 2 ${tests}`));
  }
  figures.ratio_to_floor = figures.ratio_to_floor_k10;
  figures.layers_share = figures.layers_share_k10;
  figures.node_cpu_ms_k10 = round2(nodeCpuMsK10);
  return figures;
}
