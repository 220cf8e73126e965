/**
 * Every attack, four times: as root and as an ordinary user, each with and without the right to
 * make namespaces. No wrong verdict, no damage to the next program, nothing left over.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { SuiteReport } from "./attack-suite.js";
import { commandOf, WAYS } from "./ways.js";

describe.each(WAYS)("the attacks $name", (way) => {
  const tried = way.isPossible ? test : test.skip;
  tried("are all held, and leave nothing", { timeout: 600_000 }, async () => {
    const [command, ...args] = commandOf(way, "attack-suite.ts");
    const { stdout } = await promisify(execFile)(command, args, {
      env: { PATH: process.env.PATH },
      maxBuffer: 2 ** 24,
    });
    const report = JSON.parse(stdout) as SuiteReport;
    expect(report.failures).toEqual([]);
    expect(report.level).toMatch(way.level);
    expect(report.attacks).toBeGreaterThan(100);
    if (way.uid !== undefined) expect(report.uid).toBe(way.uid);
  });
});
