import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  appendLine,
  type HealthEvent,
  runPaths,
  writeAtomic,
  writeRollouts,
} from "../../src/core/run.js";
import type { Rollout } from "../../src/core/rollout.js";
import {
  buildPages,
  chromiumPath,
  openBrowser,
  openJudge,
  seriousViolations,
  serveRuns,
  TOKEN,
} from "./open-dashboard.js";
import { writeSyntheticEvaluation } from "./synthetic-evaluation.js";
import { writeSyntheticRun } from "./synthetic-run.js";

const reason = chromiumPath === null ? " (skipped: no chromium on the PATH)" : "";

const WARNING: HealthEvent = {
  step: 12,
  time: 0,
  rule: "format_only",
  severity: "warning",
  title: "the reward rises by form alone",
  metric: "reward/score",
  value: 0.42,
  condition: "score up by over 0.1",
  evidence: "score +0.143, pass rate 0.0191",
  advice: "Lower reward.weights.format.",
};

describe.skipIf(chromiumPath === null)(`the dashboard${reason}`, () => {
  const runs = mkdtempSync(join(tmpdir(), "rlvr-runs-"));
  let pages: string;
  let judge: Awaited<ReturnType<typeof openJudge>>;
  let service: Awaited<ReturnType<typeof serveRuns>>;
  let browser: Browser;
  const opened: Page[] = [];
  const errors: string[] = [];

  beforeAll(async () => {
    writeSyntheticRun(runs, "healthy", { steps: 20, rolloutsPerStep: 16 });
    const healthy = join(runs, "healthy");
    const [a, b, c] = ["print(1)", "print(2)\nprint(3)", "print(2)\nprint(4)"];
    writeSyntheticEvaluation(healthy, "before", [
      { problemId: "p/0", program: a, isRight: true },
      { problemId: "p/1", program: b, isRight: false },
      { problemId: "p/2", program: b, isRight: false },
    ]);
    writeSyntheticEvaluation(healthy, "after", [
      { problemId: "p/0", program: b, isRight: false },
      { problemId: "p/1", program: c, isRight: true },
      { problemId: "p/2", program: c, isRight: true },
    ]);
    pages = await buildPages();
    judge = await openJudge();
    service = await serveRuns({ runs, pages }, judge);
    browser = await openBrowser();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((page) => page.close()));
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
    await judge.close();
    rmSync(runs, { recursive: true });
    rmSync(pages, { recursive: true });
  });

  async function open(hash: string, theme: "light" | "dark" = "light"): Promise<Page> {
    const page = await browser.newPage({ colorScheme: theme });
    opened.push(page);
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("dialog", (dialog) => {
      errors.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(`${service.url}/#/?token=${TOKEN}`);
    await page.goto(`${service.url}/${hash}`);
    return page;
  }

  test("lists the runs and finds one by name", async () => {
    writeSyntheticRun(runs, "another", { steps: 5, rolloutsPerStep: 4 });
    const page = await open("#/");
    await page.getByRole("link", { name: "healthy" }).waitFor();
    await page.getByLabel("Search runs").fill("anoth");
    await expect.poll(() => page.locator("tbody tr").count()).toBe(1);
    await page.getByRole("link", { name: "another" }).click();
    await page.getByRole("heading", { name: "another" }).waitFor();
  });

  test("compares chosen runs over each other", async () => {
    const page = await open("#/");
    await page.getByLabel("Compare healthy").check();
    await page.getByLabel("Compare another").check();
    await page.getByRole("heading", { name: "Comparison of 2 runs" }).waitFor();
    await expect.poll(() => page.locator(".chart canvas").count()).toBe(4);
  });

  test("chooses a range for all charts of a comparison by dragging over one", async () => {
    const page = await open("#/");
    await page.getByLabel("Compare healthy").check();
    await page.getByLabel("Compare another").check();
    const words = () => page.locator(".chart .plot").nth(2).getAttribute("aria-label");
    await expect.poll(words).toContain("KL");
    const whole = await words();
    await dragOver(page, 0.5, 0.9);
    await expect.poll(words).not.toBe(whole);
    await page.getByRole("button", { name: "Whole runs" }).click();
    await expect.poll(words).toBe(whole);
  });

  test("tells the measured values, and smooths no validation", async () => {
    const page = await open("#/run/healthy");
    const chart = page.locator('.chart[aria-label="Pass rate"]');
    const validation = async () =>
      /validation .*$/.exec((await chart.locator(".plot").getAttribute("aria-label")) ?? "")?.[0];
    const hint = async () => {
      await chart.locator(".u-over").hover({ position: { x: 200, y: 50 } });
      return chart.locator(".hint").textContent();
    };
    await chart.locator("canvas").waitFor();
    const [points, words] = [await validation(), await hint()];
    expect(words).toMatch(/^step \d+ · training 0/);
    const trained = await chart.locator(".plot").getAttribute("aria-label");
    await page.locator('input[type="range"]').fill("0.9");
    await expect.poll(() => chart.locator(".plot").getAttribute("aria-label")).not.toBe(trained);
    expect(await validation()).toBe(points);
    await page.mouse.move(0, 0);
    expect(await hint()).toBe(words);
  });

  test("draws a point after the first step, and says what a log scale leaves out", async () => {
    const dir = writeSyntheticRun(runs, "first", { steps: 1, rolloutsPerStep: 4 });
    const metrics = { "reward/pass_rate": 0.5, kl: 0 };
    const record = { step: 1, phase: "train", time: Date.now(), metrics };
    writeFileSync(runPaths(dir).metrics, JSON.stringify(record) + "\n");
    const page = await open("#/run/first");
    const canvas = page.locator('.chart[aria-label="Pass rate"] canvas');
    await canvas.waitFor();
    expect(await page.evaluate(BLUE_PIXELS)).toBeGreaterThan(10);
    await page.getByLabel("log scale").check();
    await page.getByText("No value is above 0").waitFor();
    expect(await page.locator(".missing").count()).toBe(1);
  });

  test("draws every chart of the first screen, and more behind the toggle", async () => {
    const page = await open("#/run/healthy");
    await page.locator(".chart").first().waitFor();
    const titles = await page.locator(".chart h3").allTextContents();
    for (const title of ["Reward", "Pass rate", "Format rate", "Entropy", "KL", "Verdicts"]) {
      expect(titles).toContain(title);
    }
    await page.getByLabel("more charts").check();
    await expect.poll(() => page.locator(".chart").count()).toBeGreaterThan(titles.length);
  });

  test("moves its curves and its step while a run is written", async () => {
    const dir = writeSyntheticRun(runs, "live", {
      steps: 3,
      rolloutsPerStep: 4,
      status: "running",
    });
    const page = await open("#/run/live");
    const chart = page.locator('.chart[aria-label="Pass rate"] .plot');
    await page.getByText("step 3 of 3").waitFor();
    const before = await chart.screenshot();
    const words = await chart.getAttribute("aria-label");
    for (let step = 4; step <= 8; step++) appendPassRate(dir, step, step / 8);
    await page.getByText("step 8 of 3").waitFor();
    await expect.poll(() => chart.getAttribute("aria-label")).not.toBe(words);
    expect((await chart.screenshot()).equals(before)).toBe(false);
  });

  test("shows a health warning with its evidence and advice as it comes", async () => {
    const dir = writeSyntheticRun(runs, "ill", {
      steps: 12,
      rolloutsPerStep: 4,
      status: "running",
    });
    const page = await open("#/run/ill");
    await page.getByText("no rule has fired").waitFor();
    appendLine(runPaths(dir).health, WARNING);
    await page.getByText(WARNING.title).waitFor();
    await page.getByText(WARNING.evidence).waitFor();
    await page.getByText(WARNING.advice).waitFor();
  });

  test("goes on by itself after the service was restarted", async () => {
    const dir = writeSyntheticRun(runs, "resumed", {
      steps: 4,
      rolloutsPerStep: 4,
      status: "running",
    });
    const page = await open("#/run/resumed");
    await page.getByText("step 4 of 4").waitFor();
    const port = Number(new URL(service.url).port);
    await service.close();
    await page.getByText("not connected").waitFor();
    service = await serveRuns({ runs, pages, port }, judge);
    await expect.poll(() => page.getByText("not connected").count(), { timeout: 15_000 }).toBe(0);
    appendPassRate(dir, 5, 0.9);
    await page.getByText("step 5 of 4").waitFor();
  });

  test("draws what a resumed run wrote over the end of the old one", async () => {
    const size = { steps: 6, rolloutsPerStep: 4, status: "running" } as const;
    const dir = writeSyntheticRun(runs, "rewound", size);
    const page = await open("#/run/rewound");
    await page.getByText("step 6 of 6").waitFor();
    const { metrics } = runPaths(dir);
    const lines = readFileSync(metrics, "utf8").split("\n");
    const kept = lines.filter((line) => line !== "" && (JSON.parse(line) as Rollout).step <= 3);
    await writeAtomic(metrics, kept.join("\n") + "\n");
    for (let step = 4; step <= 5; step++) appendPassRate(dir, step, 0.125);
    await page.getByText("step 5 of 6").waitFor();
    const words = page.locator('.chart[aria-label="Pass rate"] .plot');
    await expect.poll(() => words.getAttribute("aria-label")).toMatch(/training from .* to 0.125/);
  });

  test("opens more runs at once than a browser has connections", async () => {
    const context = await browser.newContext();
    for (let tab = 0; tab < 8; tab++) {
      const page = await context.newPage();
      await page.goto(`${service.url}/#/run/healthy`);
      await page.locator(".chart").first().waitFor({ timeout: 10_000 });
    }
    await context.close();
  });

  test("holds no stream behind other tabs, and goes on where it is seen again", async () => {
    const size = { steps: 3, rolloutsPerStep: 4, status: "running" } as const;
    const dir = writeSyntheticRun(runs, "behind", size);
    const page = await open("#/run/behind");
    await page.getByText("step 3 of 3").waitFor();
    const show = (state: "hidden" | "visible") =>
      page.evaluate(`Object.defineProperty(document, "visibilityState", {
        configurable: true, get: () => "${state}" });
        document.dispatchEvent(new Event("visibilitychange"))`);
    await show("hidden");
    appendPassRate(dir, 4, 0.5);
    await page.waitForTimeout(2500);
    expect(await page.getByText("step 4 of 3").count()).toBe(0);
    await show("visible");
    await page.getByText("step 4 of 3").waitFor();
  });

  test("ends with the service at once, whatever page is open", async () => {
    writeSyntheticRun(runs, "streaming", { steps: 3, rolloutsPerStep: 4, status: "running" });
    const page = await open("#/run/streaming");
    await page.getByText("step 3 of 3").waitFor();
    await page.waitForTimeout(500);
    const port = Number(new URL(service.url).port);
    const start = performance.now();
    await service.close();
    const ms = performance.now() - start;
    service = await serveRuns({ runs, pages, port }, judge);
    expect(ms).toBeLessThan(3000);
  });

  test("filters rollouts by verdict, step, text and tokens", async () => {
    const page = await open("#/run/healthy/rollouts");
    const counted = async () => (await page.locator(".count").textContent()) ?? "";
    await expect.poll(counted).toBe("320 rollouts");
    const index = readFileSync(runPaths(join(runs, "healthy")).rolloutIndex, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Rollout);
    const wrong = index.filter(({ verdict }) => verdict === "wrong_answer");
    await page.getByLabel("wrong answer").check();
    await expect.poll(counted).toBe(`${wrong.length} rollouts`);
    await page.getByLabel("first step").fill("18");
    await expect.poll(counted).toBe(`${wrong.filter(({ step }) => step >= 18).length} rollouts`);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("text in the completion").fill("The answer is");
    const none = index.filter(({ verdict }) => verdict === "no_program");
    await expect.poll(counted).toBe(`${none.length} rollouts among 320 searched`);
    await page.getByLabel("text in the completion").fill("");
    await page.getByLabel("fewest tokens").fill("1000");
    await expect.poll(counted).toBe("0 rollouts");
  });

  test("keeps its filter in the address: after a reload, a link, a group and Clear", async () => {
    const page = await open("#/run/healthy/rollouts");
    const counted = async () => (await page.locator(".count").textContent()) ?? "";
    await page.getByLabel("first step").fill("18");
    await page.getByLabel("last step").fill("19");
    await expect.poll(counted).toBe("32 rollouts");
    await page.reload();
    await expect.poll(counted).toBe("32 rollouts");
    expect(await page.getByLabel("first step").inputValue()).toBe("18");
    await page.locator("tbody a").first().click();
    await page.getByText("All rollouts").click();
    await expect.poll(counted).toBe("32 rollouts");
    await page.locator("tbody a").first().click();
    await page.getByText("The same problem over all steps").click();
    await expect.poll(() => page.getByLabel("problem id").inputValue()).toMatch(/^sum/);
    expect(await page.getByLabel("first step").inputValue()).toBe("");
    await expect.poll(counted).not.toMatch(/^(32|320) /);
    await page.getByRole("button", { name: "Clear" }).click();
    await expect.poll(counted).toBe("320 rollouts");
    expect(page.url()).not.toContain("problem");
  });

  test("shows the rollouts of the next step as they come", async () => {
    const size = { steps: 1, rolloutsPerStep: 4, status: "running" } as const;
    const dir = writeSyntheticRun(runs, "coming", size);
    const page = await open("#/run/coming/rollouts");
    await page.getByText("4 rollouts").waitFor();
    await writeRollouts(dir, 2, [wrongRollout()]);
    await page.getByText("5 rollouts").waitFor({ timeout: 10_000 });
  });

  test("opens a problem in another tab and stays where it is", async () => {
    const page = await open("#/run/healthy/rollouts");
    await page
      .locator("tbody a")
      .first()
      .click({ modifiers: ["Control"] });
    await page.waitForTimeout(300);
    expect(page.url()).toMatch(/rollouts$/);
  });

  test("opens a group with its answers, judges one again, and shows where output differs", async () => {
    const rollout = wrongRollout();
    const dir = writeSyntheticRun(runs, "judged", { steps: 1, rolloutsPerStep: 4 });
    await writeRollouts(dir, 2, [rollout, { ...rollout, sample: 1 }]);
    const page = await open("#/run/judged/rollouts");
    await page.getByRole("link", { name: rollout.problemId }).first().click();
    await expect.poll(() => page.locator(".answer").count()).toBe(2);
    await page.getByText("advantage -0.5").first().waitFor();
    await page.getByText("Tokens").first().click();
    expect(await page.locator(".tokens").first().textContent()).toContain("print(a + b + 7)");
    await page.getByRole("button", { name: "Run again" }).first().click();
    const diff = page.locator(".diff").first();
    await diff.waitFor();
    expect(await diff.locator(".left").allTextContents()).toEqual(["− expected", "− 0"]);
    expect(await diff.locator(".right").allTextContents()).toEqual(["+ printed", "+ 7"]);
    const command = page.getByRole("button", { name: "Copy as command" }).first();
    expect(await command.getAttribute("title")).toBe(
      `npx rlvr verify --rollout ${dir}:2/0/0 --explain`,
    );
  });

  test("shows what was gained and lost, and how the programs differ", async () => {
    const page = await open("#/run/healthy/evaluation");
    await page.getByRole("button", { name: "gained 2" }).waitFor();
    await page.getByText("p/1").click();
    const diff = page.locator("details[open] .diff");
    expect(await diff.locator(".same").allTextContents()).toEqual(["  print(2)"]);
    expect(await diff.locator("div.left").allTextContents()).toEqual(["− print(3)"]);
    expect(await diff.locator("div.right").allTextContents()).toEqual(["+ print(4)"]);
    await page.getByRole("button", { name: "lost 1" }).click();
    await page.getByText("p/0").waitFor();
  });

  test("judges what is pasted into the playground", async () => {
    const page = await open("#/playground");
    await page.getByLabel("Answer").fill("```python\nprint(3)\n```");
    await page.getByRole("button", { name: "Judge" }).click();
    await page.getByText("tests passed 50 %").waitFor();
  });

  test("runs nothing for a page that lacks the token", async () => {
    const page = await browser.newPage();
    opened.push(page);
    await page.goto(`${service.url}/#/playground`);
    await page.getByRole("button", { name: "Judge" }).click();
    await page.getByRole("alert").getByText("token").waitFor();
  });

  test("leaves what models and files say without effect", async () => {
    const attack = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
    const name = `<img src=x onerror=window.hacked=1>`;
    const dir = writeSyntheticRun(runs, name, { steps: 3, rolloutsPerStep: 4 });
    const time = Date.now();
    appendLine(runPaths(dir).metrics, { step: 4, phase: "train", time, metrics: { [attack]: 1 } });
    appendLine(runPaths(dir).health, { ...WARNING, title: attack, advice: attack, rule: attack });
    const program = `"</script>${attack}`;
    await writeRollouts(dir, 4, [
      {
        ...wrongRollout(),
        step: 4,
        problemId: attack,
        prompt: [{ role: attack as "user", content: attack }],
        completion: attack + program,
        program,
        pieces: [attack, `javascript:alert(1)`],
      },
    ]);
    writeFileSync(runPaths(dir).config, `a: ${attack}`);
    const run = `#/run/${encodeURIComponent(name)}`;
    for (const hash of ["#/", run, `${run}/rollouts`, `${run}/rollouts?step=4&group=0`]) {
      const page = await open(hash);
      await page.getByText("<img src=x").first().waitFor();
      for (const summary of await page.locator("main summary").all()) await summary.click();
      await page.waitForTimeout(300);
      expect(await page.evaluate(() => "hacked" in globalThis)).toBe(false);
      expect(await page.locator("main img, main script").count()).toBe(0);
    }
  });

  test("allows no script but its own", async () => {
    const page = await open("#/");
    const policy = (await fetch(`${service.url}/`)).headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    await page.evaluate(
      `const script = document.createElement("script");
       script.textContent = "window.hacked = 1";
       document.body.append(script);`,
    );
    expect(await page.evaluate(() => "hacked" in globalThis)).toBe(false);
  });

  test("shows what a broken run directory has, and says what is wrong with it", async () => {
    const dir = writeSyntheticRun(runs, "torn", { steps: 6, rolloutsPerStep: 4 });
    appendFileSync(runPaths(dir).metrics, '{"step":7,"phase":"tr\n{"step":8}\n{"step":9,"pha');
    mkdirSync(runPaths(dir).checkpointOf(5), { recursive: true });
    mkdirSync(join(runPaths(dir).eval, "before"), { recursive: true });
    mkdirSync(join(runs, "other-tool"));
    writeFileSync(join(runs, "other-tool", "events.out.tfevents"), "x");
    const page = await open("#/");
    await page.getByText("2 lines of metrics.jsonl are not metrics").waitFor();
    await page.getByText("checkpoint step_000005 has no manifest").waitFor();
    const other = page.locator("tr", { hasText: "other-tool" });
    await other.getByText("unreadable").waitFor();
    await other.getByText("expected a run directory with a readable run.json").waitFor();
    await page.goto(`${service.url}/#/run/torn`);
    await page.locator(".chart").first().waitFor();
    await page.goto(`${service.url}/#/run/torn/evaluation`);
    await page.locator(".problem").first().waitFor();
    await page.goto(`${service.url}/#/run/other-tool`);
    await page.getByText("No step has ended yet").waitFor();
    await page.goto(`${service.url}/#/run/other-tool/rollouts`);
    await page.getByText("No rollout matches").waitFor();
    await page.goto(`${service.url}/#/run/..%2F..%2Fetc`);
    await page.getByRole("alert").getByText("expected the name of a run").waitFor();
  });

  test.each(["light", "dark"] as const)("breaks no rule of accessibility, %s", async (theme) => {
    const paths = [
      "#/",
      "#/run/ill",
      "#/run/healthy/rollouts",
      "#/run/judged/rollouts?step=2&group=0",
      "#/run/healthy/evaluation",
      "#/playground",
    ];
    for (const hash of paths) {
      const page = await open(hash, theme);
      await page.waitForTimeout(500);
      for (const summary of await page.locator("main summary").all()) await summary.click();
      expect({ hash, found: await seriousViolations(page) }).toEqual({ hash, found: [] });
    }
  });

  test("is operated by keyboard alone", async () => {
    const page = await open("#/");
    await page.getByRole("link", { name: "healthy" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
    await page.getByRole("link", { name: "healthy" }).waitFor();
    await page.getByRole("link", { name: "healthy" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "healthy" }).waitFor();
    expect(await page.title()).toBe("healthy · code-rlvr");
    expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe(
      "none",
    );
    await page.getByRole("link", { name: "Rollouts" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("320 rollouts").waitFor();
    expect(await page.title()).toBe("healthy · Rollouts · code-rlvr");
  });

  test.each(["#/run/%zz", "#main", "#/rollouts", "#/run/healthy/nope"])(
    "says that there is no page at %s",
    async (hash) => {
      const page = await open(hash);
      await page.reload();
      await page.getByText("There is no such page").waitFor();
    },
  );

  test("says that there is no such run, and not that it is healthy", async () => {
    const page = await open("#/run/nope");
    await page.getByRole("alert").getByText("there is no run nope").waitFor();
    await page.goto(`${service.url}/#/run/other-tool`);
    await page.getByText("No step has ended yet").waitFor();
    expect(await page.getByText("Healthy").count()).toBe(0);
  });

  test("draws its charts anew when the system turns dark", async () => {
    const page = await open("#/run/healthy");
    const plot = page.locator(".chart .plot").first();
    await plot.locator("canvas").waitFor();
    const light = await plot.screenshot();
    const colorOfAxis = () =>
      page.evaluate(`(() => {
        const canvas = document.querySelector(".chart canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let sum = 0, count = 0;
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200) { sum += data[i] + data[i + 1]; count++; }
        return sum / count;
      })()`) as Promise<number>;
    const before = await colorOfAxis();
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(async () => Math.abs((await colorOfAxis()) - before)).toBeGreaterThan(30);
    expect((await plot.screenshot()).equals(light)).toBe(false);
  });

  test("had no error in any page", () => {
    expect(errors).toEqual([]);
  });
});

/** Pixels of the pass rate's chart in the colour of its line. */
const BLUE_PIXELS = `(() => {
  const canvas = document.querySelector('.chart[aria-label="Pass rate"] canvas');
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 200 && data[i] < 60 && data[i + 2] > 150) count++;
  }
  return count;
})()`;

async function dragOver(page: Page, from: number, to: number): Promise<void> {
  const plot = page.locator(".chart .u-over").first();
  await plot.scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await plot.boundingBox()) as NonNullable<
    Awaited<ReturnType<typeof plot.boundingBox>>
  >;
  await page.mouse.move(x + from * width, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + to * width, y + height / 2, { steps: 4 });
  await page.mouse.up();
}

function appendPassRate(dir: string, step: number, rate: number): void {
  appendLine(runPaths(dir).metrics, {
    step,
    phase: "train",
    time: Date.now(),
    metrics: { "reward/pass_rate": rate, "reward/format": rate },
  });
}

function wrongRollout(): Rollout {
  const program = "a, b = map(int, input().split())\nprint(a + b + 7)";
  const pieces = ["```python\n", program, "\n```"];
  return {
    step: 2,
    group: 0,
    sample: 0,
    problemId: "sum/0",
    prompt: [{ role: "user", content: "Read two numbers and print their sum." }],
    completion: pieces.join(""),
    finish: "stop",
    promptTokens: 9,
    responseTokens: 3,
    tokens: [1, 2, 3],
    pieces,
    logprobs: [-0.1, -2, -0.01],
    advantages: [-0.5, -0.5, -0.5],
    program,
    format: true,
    verdicts: ["wrong_answer"],
    verdict: "wrong_answer",
    passRate: 0,
    reward: 0,
  };
}
