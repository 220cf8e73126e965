/** GGUF: every element type against the reference's values; refusals. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readGgufHeader, readGgufTensors } from "./gguf.js";

const GOLDEN = fileURLToPath(new URL("../../test/golden/gguf", import.meta.url));
const path = join(GOLDEN, "blocks.gguf");
const TYPES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q4_K", "Q6_K"];

describe("readGgufTensors", () => {
  test.each(TYPES)("widens %s to the reference's values", async (type) => {
    const golden = JSON.parse(await readFile(join(GOLDEN, "blocks.json"), "utf8")) as Record<
      string,
      number[]
    >;
    const tensor = (await readGgufHeader(path)).tensors.get(type)!;
    expect(tensor.type).toBe(type);
    const target = new Float32Array(golden[type].length);
    await readGgufTensors(path, [{ tensor, target }]);
    const worst = Math.max(...golden[type].map((value, i) => Math.abs(value - target[i])));
    // Products of a scale are rounded in another order there.
    expect(worst).toBeLessThan(1e-5 * Math.max(...golden[type].map(Math.abs)));
  });

  test("refuses an element type that it does not read, by name", async () => {
    const tensor = { name: "w", type: "Q5_K", typeNumber: 13, shape: [256], offset: 0 };
    const wanted = [{ tensor, target: new Float32Array(256) }];
    await expect(readGgufTensors(path, wanted)).rejects.toThrow("has the type Q5_K");
  });
});

describe("readGgufHeader", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "gguf-"));
  });
  afterAll(() => rm(dir, { recursive: true }));

  test("says that a header is cut short", async () => {
    const cut = join(dir, "cut.gguf");
    await writeFile(cut, (await readFile(path)).subarray(0, 100));
    await expect(readGgufHeader(cut)).rejects.toThrow("cut short");
  });

  test("refuses another format", async () => {
    const other = join(dir, "other.gguf");
    await writeFile(other, "not a model at all");
    await expect(readGgufHeader(other)).rejects.toThrow("expected a GGUF file");
  });
});
