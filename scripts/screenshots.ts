/**
 * Pictures of every page of the dashboard, in both themes and two widths, for docs/DASHBOARD.md.
 *
 *     npx tsx scripts/screenshots.ts RUNS [OUT]
 *
 * RUNS is a folder with three real runs, made before:
 *
 *     rlvr train --out RUNS/starter
 *     rlvr train --preset starter-grpo --out RUNS/grpo
 *     rlvr train --preset starter-format-hack --out RUNS/format-hack
 *
 * Serves them with a real sandbox and walks through the pages in a real Chromium. Fails where a
 * picture would be larger than a document should carry, or a page wider than its window.
 */
import { mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import {
  buildPages,
  openBrowser,
  openJudge,
  seriousViolations,
  serveRuns,
  TOKEN,
} from "../test/web/open-dashboard.js";

const MOST_BYTES = 150 * 1024;
const THEMES = ["light", "dark"] as const;
const SIZES = [
  { width: 1280, height: 740 },
  { width: 400, height: 800 },
];

/** A picture: where it is taken, and what is done there first. */
interface Picture {
  name: string;
  hash: string;
  prepare?: (page: Page) => Promise<void>;
}

const PICTURES: Picture[] = [
  { name: "runs", hash: "#/" },
  {
    name: "compare",
    hash: "#/",
    prepare: async (page) => {
      for (const run of ["starter", "grpo"]) await page.getByLabel(`Compare ${run}`).check();
      await scrollTo(page, "Comparison");
    },
  },
  { name: "run", hash: "#/run/starter", prepare: seeCharts },
  {
    name: "run-more",
    hash: "#/run/starter",
    prepare: async (page) => {
      await seeCharts(page);
      await page.getByLabel("more charts").check();
      await page.locator('.chart[aria-label="Rewards"]').waitFor();
      await scrollTo(page, "Rewards");
    },
  },
  { name: "run-ill", hash: "#/run/format-hack", prepare: seeCharts },
  { name: "rollouts", hash: "#/run/starter/rollouts" },
  {
    name: "group",
    hash: "#/run/grpo/rollouts?step=20&group=3",
    prepare: (page) => page.locator(".answer").first().waitFor(),
  },
  {
    name: "rollout",
    hash: "#/run/starter/rollouts?step=20&group=2",
    prepare: async (page) => {
      await page.locator("summary", { hasText: "Tokens" }).click();
      await page.getByRole("button", { name: "Run again" }).click();
      await page.locator('[aria-label="Tests"]').waitFor();
      await scrollTo(page, "Prompt", "summary");
    },
  },
  {
    name: "evaluation",
    hash: "#/run/starter/evaluation",
    prepare: (page) => page.locator("details summary").first().click(),
  },
  {
    name: "playground",
    hash: "#/playground",
    prepare: async (page) => {
      await page.getByRole("button", { name: "Judge" }).click();
      await page.locator('[aria-label="Tests"]').waitFor();
    },
  },
];

async function seeCharts(page: Page): Promise<void> {
  await page.locator(".chart canvas").first().waitFor();
}

/** Puts an element at the top of the window. */
async function scrollTo(page: Page, text: string, tag = "h2, h3"): Promise<void> {
  const element = page.locator(tag, { hasText: text }).first();
  await element.evaluate((found) => found.scrollIntoView({ block: "start" }));
  await page.mouse.wheel(0, -24);
}

/** Waits for what is drawn after the last answer. */
const SETTLE_MS = 700;

async function main([runs, out]: string[]): Promise<void> {
  if (runs === undefined) throw new Error("expected the folder of runs");
  const folder = out ?? fileURLToPath(new URL("../docs/images/dashboard", import.meta.url));
  mkdirSync(folder, { recursive: true });
  const pages = await buildPages();
  const judge = await openJudge();
  const service = await serveRuns({ runs, pages }, judge);
  const browser = await openBrowser();
  const faults: string[] = [];
  try {
    for (const colorScheme of THEMES) {
      for (const viewport of SIZES) {
        const page = await browser.newPage({ colorScheme, viewport });
        page.on("pageerror", (error) => faults.push(error.message));
        await page.goto(`${service.url}/#/?token=${TOKEN}`);
        for (const picture of PICTURES) {
          const name = `${picture.name}-${colorScheme}-${viewport.width}`;
          const found = await take(page, service.url, picture, join(folder, `${name}.png`));
          faults.push(...found.map((fault) => `${name}: ${fault}`));
        }
        await page.close();
      }
    }
  } finally {
    await browser.close();
    await service.close();
    await judge.close();
    rmSync(pages, { recursive: true });
  }
  if (faults.length > 0) throw new Error(faults.join("\n"));
}

/** Takes one picture and answers what is wrong with its page. */
async function take(page: Page, url: string, picture: Picture, path: string): Promise<string[]> {
  await page.goto("about:blank");
  await page.goto(`${url}/${picture.hash}`);
  await page.locator("h1").waitFor();
  await page.waitForTimeout(SETTLE_MS);
  await picture.prepare?.(page);
  await page.waitForTimeout(SETTLE_MS);
  await page.screenshot({ path });
  const faults = (await seriousViolations(page)).map(({ id, targets }) => `${id} ${targets[0]}`);
  const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  if (Number(wide) > 0) faults.push(`the page is ${String(wide)} px wider than the window`);
  if (statSync(path).size > MOST_BYTES) faults.push(`${statSync(path).size} bytes are too many`);
  return faults;
}

await main(process.argv.slice(2));
