/**
 * Programs that try to cheat or escape, each with the verdict it must get. After each one the next
 * program must be judged right; at the end no process, descriptor or file may be left.
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigError } from "../../src/core/errors.js";
import { blockOf } from "../../src/verify/extract.js";
import { openPlainSandbox } from "../../src/verify/plain-sandbox.js";
import { createVerifier, type Verifier } from "../../src/verify/verify.js";
import { EQUALITY_AND_EXIT } from "./equality-and-exit.js";
import { DOUBLE_STDIO, type HostileProgram, problemOf } from "./hostile-program.js";
import { LOOKING } from "./looking.js";
import { MACHINE } from "./machine.js";
import { STREAMS_AND_TIME } from "./streams-and-time.js";

const LIMITS = {
  cpuMs: 1000,
  wallMs: 2500,
  memoryBytes: 192 * 2 ** 20,
  outputBytes: 16 * 2 ** 20,
};
const SUITES = {
  "exit and equality tricks": EQUALITY_AND_EXIT,
  "looking for the answer": LOOKING,
  "streams and time": STREAMS_AND_TIME,
  "the machine": MACHINE,
};
/** Would reach beyond the program where nothing but limits holds. */
const NOT_IN_PLAIN = [22, 23, 24, 26, 34, 51, 53];

/** Processes that descend from this one. */
function descendants(): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // It has ended.
    }
  }
  const isOurs = (pid: number): boolean =>
    pid === process.pid || (parents.has(pid) && isOurs(parents.get(pid)!));
  return [...parents.keys()].filter((pid) => pid !== process.pid && isOurs(pid)).length;
}

const descriptors = () => readdirSync("/proc/self/fd").length;

async function judge(verifier: Verifier, { program, tests, language }: HostileProgram) {
  const problem = problemOf(tests, language);
  return verifier.verify({ completion: blockOf(program, problem.language), problem });
}

async function expectRight(verifier: Verifier, hostile: HostileProgram): Promise<void> {
  const result = await judge(verifier, hostile);
  const detail = JSON.stringify(result.tests.map(({ verdict }) => verdict)).slice(0, 1500);
  expect(hostile.right, detail).toContain(result.verdict);
  const fallback = result.verdict === "accepted" ? 1 : null;
  if ((hostile.passRate ?? fallback) !== null) {
    expect(result.passRate, detail).toBe(hostile.passRate ?? fallback);
  }
  expect(Number.isFinite(result.reward)).toBe(true);
  const next = await verifier.verify({
    completion: blockOf("print(int(input()) * 2)\n"),
    problem: problemOf(DOUBLE_STDIO),
  });
  expect(next.verdict, "the next program is judged right").toBe("accepted");
}

function attack(
  name: string,
  open: () => Promise<Verifier>,
  includes: (hostile: HostileProgram) => boolean,
): void {
  describe(name, () => {
    let verifier: Verifier;
    let folder: string;
    let baseline: { processes: number; descriptors: number };
    const before = process.env.TMPDIR;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "hostile-"));
      // Programs run as another user and must reach what is compiled for them.
      chmodSync(folder, 0o755);
      process.env.TMPDIR = folder;
      verifier = await open();
      const good = { id: 0, what: "", tests: DOUBLE_STDIO, program: "print(int(input()) * 2)" };
      await judge(verifier, { ...good, right: ["accepted"] });
      baseline = { processes: descendants(), descriptors: descriptors() };
    });

    afterAll(async () => {
      await verifier.close();
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      rmSync(folder, { recursive: true, force: true });
    });

    const expectNothingLeft = async () => {
      await expect.poll(descendants, { timeout: 10_000 }).toBeLessThanOrEqual(baseline.processes);
      await expect.poll(descriptors, { timeout: 10_000 }).toBeLessThanOrEqual(baseline.descriptors);
      const left = readdirSync(folder, { recursive: true, encoding: "utf8" });
      expect(left.filter((path) => /rlvr-note|f\d+$|sparse/.test(path))).toEqual([]);
    };

    for (const [suite, programs] of Object.entries(SUITES)) {
      if (!programs.some(includes)) continue;
      describe(suite, () => {
        for (const hostile of programs.filter(includes)) {
          test(`${hostile.id}: ${hostile.what}`, async (context) => {
            try {
              await expectRight(verifier, hostile);
            } catch (error) {
              // The language's tools are not on this machine.
              if (error instanceof ConfigError) context.skip(error.message);
              throw error;
            }
            await expectNothingLeft();
          });
        }
      });
    }
  });
}

attack(
  "in the sandbox of this machine",
  () => createVerifier({ workers: 2, limits: LIMITS, reuse: false, earlyStop: true }),
  () => true,
);
attack(
  "in the plain sandbox",
  async () => {
    const sandbox = await openPlainSandbox({ workers: 2 });
    return createVerifier({ workers: 2, limits: LIMITS, reuse: false, earlyStop: true, sandbox });
  },
  (hostile) =>
    !MACHINE.includes(hostile) &&
    hostile.language === undefined &&
    !NOT_IN_PLAIN.includes(hostile.id),
);
