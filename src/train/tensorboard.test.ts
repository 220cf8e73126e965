import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TensorboardWriter, crc32c } from "./tensorboard.js";

test("crc32c answers the check value of its standard", () => {
  expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283);
});

test("event files hold whole records whose lengths and names are right", async () => {
  const dir = await mkdtemp(join(tmpdir(), "rlvr-tb-"));
  const record = { step: 300, phase: "val" as const, time: 1000, metrics: { "reward/score": 0.5 } };
  const writer = await TensorboardWriter.open(dir, [record]);
  writer.write({ ...record, step: 301, metrics: { kl: NaN, "actor/lr": 0.25 } });
  const bytes = await readFile(join(dir, "events.out.tfevents.0.rlvr"));
  const events: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 16 + events[events.length - 1].length) {
    const length = Number(bytes.readBigUInt64LE(at));
    events.push(bytes.subarray(at + 12, at + 12 + length));
  }
  expect(events).toHaveLength(3);
  expect(events[0].toString("latin1")).toContain("brain.Event:2");
  expect(events[1].toString("latin1")).toContain("val/reward/score");
  expect(events[2].toString("latin1")).toContain("actor/lr");
  expect(events[2].toString("latin1")).not.toContain("kl");
  expect(events[2].readFloatLE(events[2].length - 4)).toBe(0.25);
  await rm(dir, { recursive: true });
});
