/** Opening the sandbox: the level that is claimed is the level that held. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../src/core/errors.js";
import { openSandbox } from "../../src/verify/sandbox/open.js";
import { runAll, runOne } from "./programs.js";

const TIMEOUT = { timeout: 120_000 };
const VENVS = process.env.CODE_RLVR_VENVS ?? join(homedir(), ".cache/code-rlvr/venvs");
const NUMPY_PYTHON = join(VENVS, "data/bin/python");

describe("openSandbox", () => {
  test("without inner layers finds that attacks go through, and says so", TIMEOUT, async () => {
    const warnings: string[] = [];
    const sandbox = await openSandbox({
      workers: 1,
      requireIsolation: "none",
      layers: { inner: false, outer: false },
      onWarning: (warning) => warnings.push(warning),
    });
    await sandbox.close();
    expect(sandbox.level).toBe("none");
    for (const kind of ["network", "files", "processes", "signals"]) {
      expect(warnings.join("\n")).toContain(`${kind}: `);
    }
  });

  test(
    "refuses to open below the level asked for, and names what is missing",
    TIMEOUT,
    async () => {
      const open = openSandbox({
        workers: 1,
        requireIsolation: "basic",
        layers: { inner: false, outer: false },
      });
      await expect(open).rejects.toThrow(ConfigError);
      await expect(open).rejects.toThrow(/reaches none.*open_socket/);
    },
  );

  test("without namespaces is basic at most", TIMEOUT, async () => {
    const layers = { inner: true, outer: false };
    const sandbox = await openSandbox({ workers: 1, requireIsolation: "basic", layers });
    expect(sandbox.level).toBe("basic");
    await sandbox.close();
    const open = openSandbox({ workers: 1, requireIsolation: "full", layers });
    await expect(open).rejects.toThrow(/require_isolation asks for full/);
  });

  test("names a Python that is not there", TIMEOUT, async () => {
    const open = openSandbox({ workers: 1, requireIsolation: "none", python: "/no/python" });
    await expect(open).rejects.toThrow(/\/no\/python/);
  });

  const tried = existsSync(NUMPY_PYTHON) ? test : test.skip;
  tried("keeps numpy warm where it is installed", TIMEOUT, async () => {
    const sandbox = await openSandbox({
      workers: 1,
      requireIsolation: "basic",
      python: NUMPY_PYTHON,
    });
    const source = "import numpy as np\nprint(np.array(input().split(), dtype=int).sum())";
    const outcomes = await runAll(sandbox, source, ["1 2 3", "4 5"]);
    expect(outcomes.map(({ stdout, stderr }) => stdout + stderr)).toEqual(["6\n", "9\n"]);
    // The import itself costs several hundred milliseconds in a cold interpreter.
    expect(outcomes[0].cpuMs).toBeLessThan(100);
    expect(await runOne(sandbox, "print(1)")).toMatchObject({ stdout: "1\n" });
    await sandbox.close();
  });
});
