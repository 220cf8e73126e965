import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { MetricsTable } from "./metrics-table.js";

const folder = mkdtempSync(join(tmpdir(), "metrics-"));
afterAll(() => rmSync(folder, { recursive: true }));

const line = (step: number, metrics: Record<string, number>, phase = "train") =>
  JSON.stringify({ step, phase, time: 1000 * step, metrics }) + "\n";
let files = 0;
const fileWith = (text: string) => {
  const path = join(folder, `${files++}.jsonl`);
  writeFileSync(path, text);
  return path;
};
const open = async (path: string) => {
  const table = new MetricsTable(path);
  await table.refresh();
  return table;
};

describe("MetricsTable", () => {
  test("answers every record as it is when there is room for all", async () => {
    const table = await open(fileWith(line(1, { a: 1, b: 5 }) + line(2, { a: 3 })));
    expect(table.series({ phase: "train", names: ["a", "b"], points: 10 })).toEqual({
      steps: [1, 2],
      times: [1000, 2000],
      records: 2,
      series: {
        a: { mean: [1, 3], min: [1, 3], max: [1, 3] },
        b: { mean: [5, null], min: [5, null], max: [5, null] },
      },
    });
  });

  test("thins to mean, least and greatest of each bucket", async () => {
    const table = await open(fileWith([1, 2, 3, 4].map((s) => line(s, { a: s * s })).join("")));
    const { steps, series } = table.series({ phase: "train", names: ["a"], points: 2 });
    expect(steps).toEqual([1, 3]);
    expect(series["a"]).toEqual({ mean: [2.5, 12.5], min: [1, 9], max: [4, 16] });
  });

  test("narrows to a range of steps, both ends included", async () => {
    const table = await open(fileWith([1, 2, 3, 4].map((s) => line(s, { a: s })).join("")));
    const { steps } = table.series({ phase: "train", names: ["a"], from: 2, to: 3, points: 9 });
    expect(steps).toEqual([2, 3]);
  });

  test("narrows by time as well", async () => {
    const table = await open(fileWith([1, 2, 3, 4].map((s) => line(s, { a: s })).join("")));
    const query = { phase: "train", names: ["a"], points: 9 } as const;
    expect(table.series({ ...query, timeFrom: 1500, timeTo: 3000 }).steps).toEqual([2, 3]);
  });

  test("smooths the means by an exponential moving average and leaves gaps alone", async () => {
    const records = [line(1, { a: 0 }), line(2, { b: 1 }), line(3, { a: 1 }), line(4, { a: 1 })];
    const table = await open(fileWith(records.join("")));
    const query = { phase: "train", names: ["a"], points: 9, smoothing: 0.5 } as const;
    const { mean, raw } = table.series(query).series["a"];
    expect(mean).toEqual([0, null, 0.5, 0.75]);
    expect(raw).toEqual([0, null, 1, 1]);
  });

  test("reads what is appended, and a torn line only once it is whole", async () => {
    const path = fileWith(line(1, { a: 1 }) + line(2, { a: 2 }).slice(0, 20));
    const table = await open(path);
    expect(table.span("train")).toMatchObject({ last: 1 });
    appendFileSync(path, line(2, { a: 2 }).slice(20) + line(3, { a: 7 }));
    await table.refresh();
    expect(table.span("train")).toEqual({ first: 1, last: 3, records: 3 });
    expect(table.latest("train")).toEqual({ a: 7 });
  });

  test("starts anew when the file was cut, as a resume from an earlier step does", async () => {
    const path = fileWith(line(1, { a: 1 }) + line(2, { a: 2 }));
    const table = await open(path);
    writeFileSync(path, line(1, { a: 9 }));
    await table.refresh();
    expect(table.series({ phase: "train", names: ["a"], points: 5 }).series["a"].mean).toEqual([9]);
  });

  test("hands over the records that a reader has not seen", async () => {
    const table = await open(fileWith([1, 2, 3].map((s) => line(s, { a: s })).join("")));
    expect(table.since("train", 1, 1)).toEqual([
      { step: 2, phase: "train", time: 2000, metrics: { a: 2 } },
    ]);
    expect(table.since("train", 3, 10)).toEqual([]);
  });

  test("keeps validation apart", async () => {
    const table = await open(fileWith(line(1, { a: 1 }) + line(1, { v: 4 }, "val")));
    expect(table.names("train")).toEqual(["a"]);
    expect(table.latest("val")).toEqual({ v: 4 });
  });

  test("leaves out and counts lines that are not metrics", async () => {
    const table = await open(fileWith("{broken}\n" + line(1, { a: 1 }) + '{"step":2}\n'));
    expect(table.badLines).toBe(2);
    expect(table.span("train")).toMatchObject({ records: 1 });
  });

  test("a missing file is a run without metrics yet", async () => {
    const table = await open(join(folder, "none.jsonl"));
    expect(table.span("train")).toBeNull();
  });
});
