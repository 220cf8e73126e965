import { describe, expect, test } from "vitest";
import { describeDuration, describeProgress, openProgress } from "./progress.js";

const progress = { label: "eval", done: 32, total: 96, unit: "problems" };

describe("describeProgress", () => {
  test("shows count, time left and note", () => {
    expect(describeProgress({ ...progress, note: "pass 0.40" }, 6000, false)).toBe(
      "eval 32/96 problems · 12 s left · pass 0.40",
    );
  });

  test("draws a bar as long as the share done", () => {
    const text = describeProgress(progress, 0, true);
    expect([...text].filter((letter) => letter === "━")).toHaveLength(8);
    expect([...text].filter((letter) => letter === "─")).toHaveLength(16);
  });

  test("names no total while it is unknown", () => {
    expect(describeProgress({ ...progress, total: null }, 0, true)).toBe("eval 32 problems");
  });
});

describe("describeDuration", () => {
  test.each([
    [850, "850 ms"],
    [12_400, "12 s"],
    [185_000, "3 min 5 s"],
    [7_800_000, "2 h 10 min"],
  ])("%d ms is %s", (ms, text) => {
    expect(describeDuration(ms)).toBe(text);
  });
});

describe("openProgress", () => {
  test("in a pipe writes whole lines and no control characters", () => {
    const lines: string[] = [];
    const stream = { isTTY: false, write: (text: string) => lines.push(text) };
    const display = openProgress(stream as unknown as NodeJS.WriteStream);
    display.onProgress({ ...progress, done: 1 });
    display.onProgress({ ...progress, done: 96 });
    expect(lines).toEqual(["eval 96/96 problems\n"]);
  });
});
