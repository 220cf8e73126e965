/**
 * Every attack, four times: as root and as an ordinary user, each with and without the right to
 * make namespaces. No wrong verdict, no damage to the next program, nothing left over.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { isReachable } from "../../src/verify/sandbox/interpreter.js";
import type { SuiteReport } from "./attack-suite.js";

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const SUITE = [process.execPath, "--import", "tsx", pathOf("attack-suite.ts")];
const ORDINARY = ["/usr/bin/setpriv", "--reuid=1001", "--regid=1001", "--clear-groups"];
const CAGE = ["/usr/bin/python3", pathOf("refuse-namespaces.py")];

const isRoot = process.getuid?.() === 0;
const canChange = isRoot && existsSync(ORDINARY[0]) && isReachable(pathOf("."));
const canCage = existsSync(CAGE[0]);

const WAYS: [string, string[], boolean, { level: RegExp; uid?: number }][] = [
  ["as this user", [], true, { level: /full|basic/ }],
  ["as an ordinary user", ORDINARY, canChange, { level: /full|basic/, uid: 1001 }],
  ["as this user where namespaces are refused", CAGE, canCage, { level: /^basic$/ }],
  [
    "as an ordinary user where namespaces are refused",
    [...ORDINARY, ...CAGE],
    canChange && canCage,
    { level: /^basic$/, uid: 1001 },
  ],
];

describe.each(WAYS)("the attacks %s", (_, wrapper, isPossible, expected) => {
  const tried = isPossible && process.platform === "linux" ? test : test.skip;
  tried("are all held, and leave nothing", { timeout: 600_000 }, async () => {
    const [command, ...args] = [...wrapper, ...SUITE];
    const { stdout } = await promisify(execFile)(command, args, {
      cwd: pathOf("../.."),
      env: { PATH: process.env.PATH },
      maxBuffer: 2 ** 24,
    });
    const report = JSON.parse(stdout) as SuiteReport;
    expect(report.failures).toEqual([]);
    expect(report.level).toMatch(expected.level);
    expect(report.attacks).toBeGreaterThan(100);
    if (expected.uid !== undefined) expect(report.uid).toBe(expected.uid);
  });
});
