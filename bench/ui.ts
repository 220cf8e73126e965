/**
 * The dashboard on a long run: 100,000 steps of 42 metrics and 1,000,000 rollouts on disk.
 *
 * Served by a new process that has read nothing of it, opened by a real Chromium: time from the
 * request of the page to drawn charts, from choosing a range to charts redrawn, from a filter typed
 * to its rollouts shown (the page's own wait for the end of typing included), memory of both sides.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { openBrowser } from "../test/web/open-dashboard.js";
import { writeSyntheticRun } from "../test/web/synthetic-run.js";

const CLI = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const TURNS = 9;
/** At one refetch in two seconds, as many as a run of an hour brings. */
const HOUR_OF_REFETCHES = 1800;

/**
 * Measures. `--run FOLDER` takes a folder that holds a run `big` made before; `--refetches N` is for
 * a shorter look at growth.
 */
export async function run(args: string[]): Promise<Record<string, number>> {
  if (!existsSync(CLI)) throw new Error("the built CLI is measured: npm run build");
  const valueOf = (flag: string) =>
    args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined;
  const given = valueOf("--run");
  const runs = given ?? mkdtempSync(join(tmpdir(), "rlvr-ui-"));
  if (given === undefined) {
    const size = { steps: 100_000, rolloutsPerStep: 10, extraMetrics: 8, recordsEvery: 1000 };
    writeSyntheticRun(runs, "big", size);
  }
  const server = await serve(runs);
  const browser = await openBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    return await measure(page, server, Number(valueOf("--refetches") ?? HOUR_OF_REFETCHES));
  } finally {
    await browser.close();
    server.process.kill("SIGTERM");
    if (given === undefined) rmSync(runs, { recursive: true });
  }
}

interface Server {
  process: ChildProcess;
  url: string;
}

function serve(runs: string): Promise<Server> {
  const child = spawn(process.execPath, [CLI, "serve", "--runs", runs, "--port", "0"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  return new Promise((resolve, reject) => {
    let text = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const url = /http:\/\/\S+/.exec(text)?.[0];
      if (url !== undefined) resolve({ process: child, url: url.split("/#")[0] });
    });
    child.once("exit", () => reject(new Error(text)));
  });
}

async function measure(
  page: Page,
  server: Server,
  refetches: number,
): Promise<Record<string, number>> {
  let start = performance.now();
  await page.goto(`${server.url}/#/run/big`);
  await page.locator(".chart canvas").first().waitFor();
  const firstChartsMs = performance.now() - start;
  await page.getByText("whole run is being read").waitFor({ state: "detached" });
  const wholeMs = performance.now() - start;
  await page.waitForTimeout(3000);
  const zoom = await zoomTimes(page);
  const before = serverMb(server);
  const heapBefore = await heapMb(page);
  await refetch(page, refetches);
  const growth = (await heapMb(page)) - heapBefore;
  const after = serverMb(server);
  start = performance.now();
  await page.goto(`${server.url}/#/run/big/rollouts`);
  await page.locator(".count").waitFor();
  const rolloutsMs = performance.now() - start;
  const filter = await filterTimes(page);
  return {
    first_charts_ms: Math.round(firstChartsMs),
    whole_run_ms: Math.round(wholeMs),
    zoom_ms: median(zoom),
    zoom_worst_ms: Math.max(...zoom),
    rollouts_ms: Math.round(rolloutsMs),
    filter_ms: median(filter),
    filter_worst_ms: Math.max(...filter),
    browser_mb: await rendererMb(page),
    browser_heap_mb: Math.round(await heapMb(page)),
    browser_growth_mb: Math.round(growth * 10) / 10,
    server_mb: after,
    server_growth_mb: after - before,
  };
}

/** From the mouse let go over a chosen range to every chart redrawn with finer data. */
async function zoomTimes(page: Page): Promise<number[]> {
  const times: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const box = await page.locator(".u-over").first().boundingBox();
    if (box === null) throw new Error("no chart to zoom");
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width * 0.3, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * (0.5 + turn * 0.04), y, { steps: 4 });
    await page.evaluate(WATCH_CHARTS);
    await page.mouse.up();
    times.push(Math.round(await page.evaluate<number>("window.redrawn")));
    await page.getByRole("button", { name: "Whole run" }).click();
    await page.waitForTimeout(500);
  }
  return times;
}

/** Resolves when the words of a chart have changed and the next frame is painted. */
const WATCH_CHARTS = `{
  const plot = document.querySelector(".chart .plot");
  window.redrawn = new Promise((resolve) => {
    let start = performance.now();
    addEventListener("mouseup", () => (start = performance.now()), { capture: true, once: true });
    new MutationObserver((_, observer) => {
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
    }).observe(plot, { attributes: true, attributeFilter: ["aria-label"] });
  });
  // The block's value: a promise would be waited for before the mouse is let go.
  undefined;
}`;

/** Every turn fetches all series anew and redraws every chart, as new steps make a page do. */
async function refetch(page: Page, turns: number): Promise<void> {
  await page.evaluate(`(async () => {
    const slider = document.querySelector('input[type="range"]');
    const next = () => new Promise((resolve) => {
      new MutationObserver((_, observer) => { observer.disconnect(); resolve(); })
        .observe(document.querySelector(".charts"), {
          attributes: true,
          subtree: true,
          attributeFilter: ["aria-label"],
        });
    });
    for (let turn = 0; turn < ${turns}; turn++) {
      // Far apart, so that the words of a chart differ, by which a redraw is known.
      slider.value = String(turn % 2 === 0 ? 0.9 : 0);
      const drawn = next();
      slider.dispatchEvent(new Event("change", { bubbles: true }));
      await drawn;
    }
  })()`);
}

/** From the last key of a filter to the answer on the page. */
async function filterTimes(page: Page): Promise<number[]> {
  const times: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const old = (await page.locator(".count").textContent()) ?? "";
    const start = performance.now();
    await page.getByLabel("first step").fill(String(10_000 * (turn + 1)));
    await page.locator(".count", { hasNotText: old }).waitFor();
    times.push(Math.round(performance.now() - start));
  }
  return times;
}

/** The page's heap after a collection. */
async function heapMb(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 2 ** 20;
}

/** Resident memory of the browser's largest page process. */
async function rendererMb(page: Page): Promise<number> {
  const session = await (page.context().browser() as Browser).newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const renderers = processInfo.filter(({ type }) => type === "renderer");
  return Math.max(...renderers.map(({ id }) => residentMb(id)));
}

/** Resident memory of the service's process. */
function serverMb({ process: { pid } }: Server): number {
  return residentMb(pid as number);
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

const median = (values: number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
