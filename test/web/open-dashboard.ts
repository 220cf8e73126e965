/** The dashboard for tests: built from the sources, served with a real sandbox, in a real browser. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { RunStore } from "../../src/report/run-store.js";
import { mountDashboard } from "../../src/service/dashboard.js";
import { mountRunRoutes } from "../../src/service/run-api.js";
import { startService } from "../../src/service/server.js";
import { openSandbox } from "../../src/verify/sandbox/open.js";
import { createVerifier, defaultVerifierOptions } from "../../src/verify/verify.js";

/** The page's token, in the address as `rlvr serve` prints it. */
export const TOKEN = "5ec2e7";

/** Where Chromium is, or null: then these tests are skipped, and say so. */
export const chromiumPath: string | null = findChromium();

function findChromium(): string | null {
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      return execFileSync("which", [name], { encoding: "utf8" }).trim();
    } catch {
      continue;
    }
  }
  return null;
}

/** Builds the pages into a new folder. */
export async function buildPages(): Promise<string> {
  const { build } = await import("vite");
  const outDir = mkdtempSync(join(tmpdir(), "rlvr-web-"));
  const configFile = fileURLToPath(new URL("../../web/vite.config.ts", import.meta.url));
  await build({ configFile, logLevel: "warn", build: { outDir, emptyOutDir: true } });
  return outDir;
}

/** Starts the browser; no feature of it reaches the network. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath as string,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
}

/** The verifier that judges in these tests, and what closes it. */
export async function openJudge() {
  const sandbox = await openSandbox({ workers: 1, requireIsolation: "none", onWarning: () => {} });
  const verifier = await createVerifier({ ...defaultVerifierOptions(), workers: 1, sandbox });
  const close = async () => {
    await verifier.close();
    await sandbox.close();
  };
  return { sandbox, verifier, close };
}

/** Serves runs; `port` 0 takes a free one. */
export function serveRuns(
  { runs, pages, port = 0 }: { runs: string; pages: string; port?: number },
  { sandbox, verifier }: Awaited<ReturnType<typeof openJudge>>,
) {
  return startService(
    {
      verifier,
      sandbox,
      options: {
        token: null,
        pageToken: TOKEN,
        maxBodyBytes: 2 ** 20,
        concurrency: 2,
        queueCapacity: 100,
        deadlineMs: 10_000,
      },
      routes: (app, { isDraining }) => {
        mountRunRoutes(app, new RunStore(runs), isDraining);
        mountDashboard(app, pages);
      },
    },
    { host: "127.0.0.1", port },
  );
}

/** A rule of axe that a page breaks. */
export interface Violation {
  id: string;
  impact: string;
  targets: string[];
}

/** Serious and critical violations of the page as it stands. */
export async function seriousViolations(page: Page): Promise<Violation[]> {
  const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
  // Evaluated, not added as a script tag: the page's content policy would rightly refuse that.
  await page.evaluate(readFileSync(axe, "utf8"));
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run: () => Promise<{ violations: AxeViolation[] }> };
    };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, impact, nodes }) => ({ id, impact, targets: nodes.map(({ html }) => html) }));
  });
}

interface AxeViolation {
  id: string;
  impact: string;
  nodes: { html: string }[];
}
