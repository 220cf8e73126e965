/**
 * The service beside the library it wraps, on the same programs: throughput when both are
 * saturated (taking turns), a thousand requests at once, and arrivals at twice the capacity.
 *
 * `--seconds N` is how long the overload lasts (60), `--round N` how long each of eight turns (2 s). The
 * overhead is the median over neighbouring turns, so that other load on the machine counts little.
 * Every answer is held against the known pass rate. A request counts as lost when it is neither
 * judged nor refused with 429 or 504 and a Retry-After.
 */
import { spawn } from "node:child_process";
import { Agent, request } from "node:http";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Problem } from "../src/core/problem.js";
import { createVerifier, type Verifier } from "../src/verify/verify.js";

const TESTS = 10;
const WORKERS = availableParallelism();
/** Judgements under way at once while saturated. */
const IN_FLIGHT = 32;
const ROUNDS = 8;

const problem: Problem = {
  id: "sum",
  source: "bench",
  prompt: [{ role: "user", content: "Print the sum." }],
  language: "python",
  tests: {
    kind: "stdio",
    cases: Array.from({ length: TESTS }, (_, i) => ({
      input: `${Array.from({ length: 200 }, (_, k) => k * i).join(" ")}\n`,
      output: `${19_900 * i}\n`,
    })),
  },
};

let made = 0;

/** A completion no one has judged before, with its pass rate. */
function fresh(): { completion: string; passRate: number } {
  const i = made++;
  const bodies: [string, number][] = [
    ["print(sum(map(int, input().split())))", 1],
    ["print(19900)", 1 / TESTS],
    ["values = [int(v) for v in input().split()]\nprint(sum(sorted(values)))", 1],
    ["raise SystemExit(1)", 0],
  ];
  const [body, passRate] = bodies[i % bodies.length];
  return { completion: "```python\n# " + i + "\n" + body + "\n```", passRate };
}

const isWrong = (found: number, expected: number) => Math.abs(found - expected) > 1e-9;

/** Runs a saturated verifier for some seconds; answers tests per second and wrong verdicts. */
async function saturate(verifier: Verifier, seconds: number) {
  const start = performance.now();
  const end = start + seconds * 1000;
  let [judged, wrong] = [0, 0];
  const client = async () => {
    while (performance.now() < end) {
      const { completion, passRate } = fresh();
      const result = await verifier.verify({ completion, problem });
      judged++;
      if (isWrong(result.passRate, passRate)) wrong++;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, client));
  return { rate: (judged * TESTS * 1000) / (performance.now() - start), wrong };
}

async function startServe(...args: string[]) {
  const main = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
  const words = [main, "serve", "--port", "0", "--workers", String(WORKERS), ...args];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const url = await new Promise<string>((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const address = /serving on (\S+)/.exec(said)?.[1];
      if (address !== undefined) resolve(address);
    });
    void ended.then(() => reject(new Error(`serve ended: ${said}`)));
  });
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  return { url, stop };
}

type Outcome = "judged" | "wrong" | "refused" | "lost";

/** Sends one request as it is, with no second try. */
function sendOnce(url: string, agent: Agent): Promise<{ outcome: Outcome; ms: number }> {
  const { completion, passRate } = fresh();
  const start = performance.now();
  return new Promise((resolve) => {
    const done = (outcome: Outcome) => resolve({ outcome, ms: performance.now() - start });
    const sent = request(`${url}/verify`, { method: "POST", agent }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("error", () => done("lost"));
      response.on("end", () => {
        const { statusCode, headers } = response;
        const isRefusal = statusCode === 429 || statusCode === 504;
        if (isRefusal && headers["retry-after"] !== undefined) return done("refused");
        if (statusCode !== 200) return done("lost");
        const result = JSON.parse(text) as { passRate: number };
        return done(isWrong(result.passRate, passRate) ? "wrong" : "judged");
      });
    });
    sent.on("error", () => done("lost"));
    sent.end(JSON.stringify({ problem, completion }));
  });
}

class Tally {
  readonly counts: Record<Outcome, number> = { judged: 0, wrong: 0, refused: 0, lost: 0 };
  readonly latencies: number[] = [];

  add({ outcome, ms }: { outcome: Outcome; ms: number }): void {
    this.counts[outcome]++;
    if (outcome === "judged") this.latencies.push(ms);
  }

  percentile(share: number): number {
    const sorted = this.latencies.toSorted((a, b) => a - b);
    return sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
  }
}

async function residentMb(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^rlvr_resident_bytes (\S+)$/m.exec(text)?.[1]) / 2 ** 20;
}

/** Library and service in turns; the client of the service is this process, the library's too. */
async function compareSaturated(seconds: number) {
  const library = await createVerifier({ workers: WORKERS });
  const service = await startServe();
  const remote = await createVerifier({ url: service.url });
  const rates = { library: [] as number[], service: [] as number[] };
  let wrong = 0;
  await saturate(library, 1);
  await saturate(remote, 1);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, verifier] of [["library", library] as const, ["service", remote] as const]) {
      const measured = await saturate(verifier, seconds);
      rates[name].push(measured.rate);
      wrong += measured.wrong;
      console.log(`${name}: ${measured.rate.toFixed(0)} tests/s`);
    }
  }
  await Promise.all([library.close(), remote.close(), service.stop()]);
  const ratios = rates.service.map((rate, round) => rate / rates.library[round]);
  return {
    library: median(rates.library),
    service: median(rates.service),
    capacity: Math.max(...rates.service),
    overhead: 1 - median(ratios),
    wrong,
  };
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1];

async function burst(count: number): Promise<Tally> {
  const service = await startServe();
  const agent = new Agent({ maxSockets: count });
  const tally = new Tally();
  const all = Array.from({ length: count }, () => sendOnce(service.url, agent));
  for (const one of await Promise.all(all)) tally.add(one);
  await service.stop();
  return tally;
}

/** Arrivals at a fixed rate whatever comes back, against a short queue with a deadline. */
async function overload(perSecond: number, seconds: number) {
  const service = await startServe("--queue", "200", "--deadline", "5");
  const agent = new Agent({ keepAlive: true, maxSockets: 1000 });
  const tally = new Tally();
  const sent: Promise<void>[] = [];
  const memory: number[] = [];
  const start = performance.now();
  for (let due = 0; due < seconds * perSecond;) {
    const now = (performance.now() - start) / 1000;
    for (; due < Math.min(now, seconds) * perSecond; due++) {
      sent.push(sendOnce(service.url, agent).then((one) => tally.add(one)));
    }
    if (now >= ((memory.length + 1) * seconds) / 5 && memory.length < 4) {
      memory.push(await residentMb(service.url));
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await Promise.all(sent);
  memory.push(await residentMb(service.url));
  agent.destroy();
  await service.stop();
  return { tally, memory };
}

/** Runs the bench. */
export async function run(args: string[]): Promise<Record<string, number>> {
  const options = { seconds: { type: "string" }, round: { type: "string" } } as const;
  const { values } = parseArgs({ args, options });
  const seconds = Number(values.seconds ?? 60);
  const saturated = await compareSaturated(Number(values.round ?? 2));
  const thousand = await burst(1000);
  console.log("1,000 at once:", thousand.counts, `p99 ${thousand.percentile(0.99).toFixed(0)} ms`);
  const perSecond = (2 * saturated.capacity) / TESTS;
  const { tally, memory } = await overload(perSecond, seconds);
  console.log(`${perSecond.toFixed(0)} a second for ${seconds} s:`, tally.counts);
  console.log(`resident MiB: ${memory.map((mb) => mb.toFixed(0)).join(" ")}`);
  return {
    tests_per_s: saturated.service,
    library_tests_per_s: saturated.library,
    overhead_share: saturated.overhead,
    burst_p50_ms: thousand.percentile(0.5),
    burst_p99_ms: thousand.percentile(0.99),
    p50_ms: tally.percentile(0.5),
    p99_ms: tally.percentile(0.99),
    offered_per_s: perSecond,
    judged: thousand.counts.judged + tally.counts.judged,
    refused: thousand.counts.refused + tally.counts.refused,
    lost: thousand.counts.lost + tally.counts.lost,
    wrong: saturated.wrong + thousand.counts.wrong + tally.counts.wrong,
    resident_mb_first: memory[0],
    resident_mb_last: memory[memory.length - 1],
  };
}
