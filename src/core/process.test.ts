import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { isAlive } from "./process.js";

test("a process that runs is alive, one that has ended is not", () => {
  expect(isAlive(process.pid)).toBe(true);
  expect(isAlive(spawnSync("true").pid)).toBe(false);
});

test.skipIf(process.getuid?.() === 0)("a process of another user is alive", () => {
  expect(isAlive(1)).toBe(true);
});
