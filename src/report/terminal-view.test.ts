import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { HealthEvent } from "../core/run.js";
import { MetricsTable } from "./metrics-table.js";
import { drawBlocks, renderTerminal } from "./terminal-view.js";

async function tableOf(rates: number[]): Promise<MetricsTable> {
  const path = join(mkdtempSync(join(tmpdir(), "rlvr-")), "metrics.jsonl");
  const lines = rates.map((rate, step) =>
    JSON.stringify({ step, phase: "train", time: step, metrics: { "reward/pass_rate": rate } }),
  );
  writeFileSync(path, lines.join("\n") + "\n");
  const metrics = new MetricsTable(path);
  await metrics.refresh();
  return metrics;
}

const EVENT: HealthEvent = {
  ...{ step: 7, time: 0, rule: "r", severity: "warning", title: "it is ill", metric: "m" },
  ...{ value: 1, condition: "c", evidence: "score +0.1", advice: "Do less." },
} as HealthEvent;

describe("drawBlocks", () => {
  test("draws the least lowest and the greatest highest", () => {
    expect(drawBlocks([0, 1, 0.5])).toBe("▁█▅");
  });
  test("draws a constant low and a gap as a blank", () => {
    expect(drawBlocks([2, null, 2])).toBe("▁ ▁");
  });
});

describe("renderTerminal", () => {
  test("shows each curve with its first, newest, least and greatest value", async () => {
    const metrics = await tableOf([0.1, 0.5, 0.35]);
    const lines = renderTerminal({ info: null, status: null, metrics, health: [] }, 80);
    expect(
      lines
        .find((line) => line.startsWith("pass rate"))
        ?.split(/\s+/)
        .slice(2),
    ).toEqual([...["▁█▅", "0.1", "0.35", "0.1", "0.5"]]);
  });
  test("says that no rule has fired, or what has, how often, and what to do", async () => {
    const metrics = await tableOf([1]);
    const calm = renderTerminal({ info: null, status: null, metrics, health: [] }, 80).join("\n");
    expect(calm).toContain("no rule has fired");
    const ill = renderTerminal(
      { info: null, status: null, metrics, health: [EVENT, EVENT] },
      80,
    ).join("\n");
    expect(ill).toContain("WARNING  it is ill (step 7, 2 times)");
    expect(ill).toContain("  Do less.");
  });
  test("lets nothing of a file steer the terminal, nor a line leave its width", async () => {
    const metrics = await tableOf([1]);
    const health = [
      { ...EVENT, advice: "\u001b[2Jgone", title: "long ".repeat(50) + "\u001b[31m" },
    ];
    const lines = renderTerminal({ info: null, status: null, metrics, health }, 60);
    expect(lines.join("")).not.toContain("\u001b");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
  });
});
