/** The same problems in all seven languages: right verdicts, the same limits and layers in each. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigError } from "../../src/core/errors.js";
import type { Sandbox } from "../../src/verify/sandbox.js";
import { openSandbox } from "../../src/verify/sandbox/open.js";
import { LANGUAGES } from "../../src/verify/sandbox/languages.js";
import { type LanguagePrograms, PROGRAMS } from "./language-programs.js";
import { endOf, runAll, runOne } from "./programs.js";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox({ workers: 2, requireIsolation: "basic" });
}, 60_000);
afterAll(() => sandbox.close());

const isHere: Record<string, boolean> = { python: true };
for (const [name, detect] of Object.entries(LANGUAGES)) isHere[name] = (await detect()) !== null;

describe.each(Object.keys(PROGRAMS))("a program in %s", (language) => {
  const limits = { cpuMs: 1500, wallMs: 10_000, memoryBytes: 96 * 2 ** 20, outputBytes: 2 ** 20 };
  const check = async (what: keyof LanguagePrograms, input = "") =>
    runOne(sandbox, PROGRAMS[language][what], input, { language, limits });
  const tried = isHere[language] ? test : test.skip;

  tried("says hello", { timeout: 60_000 }, async () => {
    const outcome = await check("hello");
    expect([endOf(outcome), outcome.stdout]).toEqual(["exited 0", "hello\n"]);
  });

  tried("adds, compiled once for many tests", { timeout: 60_000 }, async () => {
    const source = PROGRAMS[language].sum;
    const outcomes = await runAll(sandbox, source, ["1 2\n", "-3 3\n", "40 2\n"], {
      language,
      limits,
    });
    expect(outcomes.map(({ stdout }) => stdout)).toEqual(["3\n", "0\n", "42\n"]);
  });

  tried("has a compile error with what the compiler says", { timeout: 60_000 }, async () => {
    const outcomes = await runAll(sandbox, PROGRAMS[language].broken, ["", ""], { language });
    expect(outcomes.map(endOf)).toEqual(["compile_error"]);
    expect(outcomes[0].stderr).not.toBe("");
  });

  tried("ends at its processor limit", { timeout: 60_000 }, async () => {
    const outcome = await check("loops");
    expect(endOf(outcome)).toBe("time_limit cpu");
    expect(outcome.cpuMs).toBeGreaterThan(1400);
    expect(outcome.cpuMs).toBeLessThan(2500);
  });

  tried("ends at its memory limit", { timeout: 60_000 }, async () => {
    const outcome = await check("hungry");
    expect([endOf(outcome), outcome.stderr.slice(-300)]).toEqual([
      "memory_limit",
      outcome.stderr.slice(-300),
    ]);
    // Memory of compiled programs is polled: on a busy machine a fast one runs on for some polls.
    expect(outcome.peakBytes).toBeLessThan(4 * limits.memoryBytes);
  });

  tried("ends at its output limit", { timeout: 60_000 }, async () => {
    const outcome = await check("chatty");
    expect(endOf(outcome)).toBe("output_limit");
    expect(outcome.stdout.length).toBe(limits.outputBytes);
  });

  tried("reads no file, and keeps its exit code", { timeout: 60_000 }, async () => {
    expect((await check("reads")).stdout).toBe("refused\n");
    expect(endOf(await check("exits"))).toBe("exited 3");
  });
});

describe("a language", () => {
  test("that is unknown is refused by name", async () => {
    const run = runOne(sandbox, "", "", { language: "cobol" });
    await expect(run).rejects.toThrow(ConfigError);
    await expect(runOne(sandbox, "", "", { language: "constructor" })).rejects.toThrow(/languages/);
  });
});
