import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Problem } from "../core/problem.js";
import { loadCustomReward, withCustomReward, type ComputeScore } from "./custom-reward.js";
import type { Verifier, VerifyResult } from "./verify.js";

const folder = mkdtempSync(join(tmpdir(), "reward-"));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const problem = { id: "p" } as Problem;
const result = { verdict: "accepted", passRate: 0.5, reward: 0.5 } as VerifyResult;
const verifier: Verifier = { level: "none", verify: async () => result, close: async () => {} };
const rewarded = (computeScore: ComputeScore, timeoutMs = 1000) =>
  withCustomReward(verifier, { computeScore, label: "my.ts:f", timeoutMs }).verify({
    completion: "12345",
    problem,
  });

describe("loadCustomReward", () => {
  test("loads a TypeScript function by name", async () => {
    const path = write(
      "a.ts",
      "export const f = ({ completion }: { completion: string }): number => completion.length;",
    );
    const { computeScore } = await loadCustomReward(path, "f");
    expect(await computeScore({ completion: "abc" } as never)).toBe(3);
  });

  test("takes computeScore for compute_score, the default that veRL's Python files have", async () => {
    const path = write("d.ts", "export const computeScore = () => 7;");
    const { computeScore } = await loadCustomReward(path, "compute_score");
    expect(await computeScore({} as never)).toBe(7);
  });

  test("says what the file exports when the name is not there", async () => {
    const path = write("b.ts", "export const other = () => 1;");
    await expect(loadCustomReward(path, "f")).rejects.toThrow(/export a function f, got other/);
  });

  test("refuses a file that is missing or does not load", async () => {
    await expect(loadCustomReward(join(folder, "none.ts"), "f")).rejects.toThrow(/expected a file/);
    await expect(loadCustomReward(write("c.ts", "throw new Error('boom')"), "f")).rejects.toThrow(
      /boom/,
    );
  });
});

describe("withCustomReward", () => {
  test("pays what the function answers", async () => {
    const { reward } = await rewarded(
      ({ completion, result }) => result.passRate - 0.01 * completion.length,
    );
    expect(reward).toBeCloseTo(0.45, 12);
  });

  test("keeps further figures beside the score", async () => {
    expect(await rewarded(async () => ({ score: 1, length: 5 }))).toMatchObject({
      reward: 1,
      extras: { length: 5 },
    });
  });

  test("a function that throws is an error with its stack", async () => {
    const failing = () => {
      throw new Error("division by zero");
    };
    await expect(rewarded(failing)).rejects.toThrow(
      /my\.ts:f threw: Error: division by zero\n +at/,
    );
  });

  test("a slow function is an error", async () => {
    await expect(rewarded(() => new Promise(() => {}), 20)).rejects.toThrow(/longer than 20 ms/);
  });

  test.each([[Number.NaN], ["1"], [undefined], [{ score: Infinity }], [null]])(
    "refuses %j",
    async (score) => {
      await expect(rewarded(() => score as number)).rejects.toThrow(/finite number/);
    },
  );
});
