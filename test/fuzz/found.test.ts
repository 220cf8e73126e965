/** What fuzzing found, one plain test each. Hangs and floods of memory end by the test's time limit. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { resolveConfig } from "../../src/config/resolve.js";
import { ConfigError } from "../../src/core/errors.js";
import { readGgufHeader } from "../../src/formats/gguf.js";
import { openParquet } from "../../src/formats/parquet.js";
import {
  checkLevels,
  checkPage,
  checkRuns,
  checkThrift,
} from "../../src/formats/parquet-checks.js";
import { readPickle } from "../../src/formats/pickle.js";
import { readSafetensorsHeader } from "../../src/formats/safetensors-header.js";
import { importGguf } from "../../src/model/gguf-import.js";
import { loadModelConfig } from "../../src/model/weights.js";
import { ggufFiles, parquetFiles } from "./corpus.js";

const dir = mkdtempSync(join(tmpdir(), "rlvr-found-"));
afterAll(() => rmSync(dir, { recursive: true }));

const file = (name: string, ...parts: (Buffer | string)[]) => {
  const path = join(dir, name);
  writeFileSync(path, Buffer.concat(parts.map((part) => Buffer.from(part as string))));
  return path;
};
const u32 = (value: number) => Buffer.from(new Uint32Array([value]).buffer);
const u64 = (value: number) => Buffer.from(new BigUint64Array([BigInt(value)]).buffer);
const text = (value: string) => Buffer.concat([u64(value.length), Buffer.from(value)]);

test("a pickle that escapes no character", () => {
  const bytes = Buffer.from("V\\U00ffffff\n.", "latin1");
  expect(() => readPickle(bytes, { path: "a.pkl" })).toThrow("a.pkl: pickle: \\U00ffffff is no");
});

test("a safetensors header whose element type cannot be written", async () => {
  const json = '{"w":{"dtype":{"toString":null},"shape":[],"data_offsets":[0,0]}}';
  const path = file("a.safetensors", u64(json.length), json);
  await expect(readSafetensorsHeader(path)).rejects.toThrow("has the element type object");
});

describe("GGUF", () => {
  const head = (tensors: number, pairs: number) => ["GGUF", u32(3), u64(tensors), u64(pairs)];
  const deep = Array<Buffer>(30_000).fill(Buffer.concat([u32(9), u64(1)]));
  test.each([
    ["more tensors than an array holds", [...head(2 ** 33, 0)], "a count of"],
    ["lists in lists", [...head(0, 1), text("k"), u32(9), ...deep], "nested more than 8 deep"],
    [
      "an alignment of zero",
      [...head(0, 1), text("general.alignment"), u32(4), u32(0)],
      "expected general.alignment from 1",
    ],
    [
      "a tensor larger than the file",
      [...head(1, 0), text("w"), u32(2), u64(2 ** 20), u64(2 ** 20), u32(0), u64(0)],
      /takes 4398046511104 bytes at \d+, the file has/,
    ],
    [
      "a tensor of a million dimensions",
      [...head(1, 0), text("w"), u32(2 ** 20), Buffer.alloc(100)],
      "has 1048576 dimensions",
    ],
    ["a text longer than the file", [...head(0, 1), u64(2 ** 40)], "a count of 1099511627776"],
  ])("%s", async (_, parts, message) => {
    await expect(readGgufHeader(file("a.gguf", ...parts))).rejects.toThrow(message);
  });

  test("a model of a thousand million blocks", async () => {
    const [golden] = ggufFiles();
    const pairs = [text("general.architecture"), u32(8), text("llama")];
    const numbers = ["attention.head_count", "block_count"].flatMap((key) => [
      ...[text(`llama.${key}`), u32(4), u32(1e9)],
    ]);
    const tensor = [text("token_embd.weight"), u32(1), u64(1), u32(0), u64(0)];
    const parts = [...head(1, 3), ...pairs, ...numbers, ...tensor, golden];
    await expect(importGguf(file("a.gguf", ...parts))).rejects.toThrow("expected 1 to 1000 blocks");
  });
});

test("a config.json of a thousand million layers", async () => {
  const sizes = ["vocab_size", "hidden_size", "intermediate_size", "num_attention_heads"];
  const config = {
    ...{ model_type: "llama", rms_norm_eps: 1e-6, max_position_embeddings: 8 },
    ...Object.fromEntries(sizes.map((name) => [name, 8])),
    num_hidden_layers: 1e9,
  };
  file("config.json", JSON.stringify(config));
  await expect(loadModelConfig(dir)).rejects.toThrow("num_hidden_layers");
});

describe("parquet", () => {
  const view = (...bytes: number[]) => new DataView(new Uint8Array(bytes).buffer);
  const bytes = (...values: number[]) => new Uint8Array(values);
  const page = { values: 4, nulls: 0, storedBytes: 40, plainBytes: 40, codec: "SNAPPY" };

  test("a list that is longer than its bytes", () => {
    const list = view(0x19, 0xfc, 0xff, 0xff, 0xff, 0x7f, 0);
    expect(() => checkThrift(list, 0)).toThrow("a list of 268435455 items stands in 1 bytes");
  });

  test("structs in structs", () => {
    expect(() => checkThrift(view(...Array<number>(5000).fill(0x1c)), 0)).toThrow("32 deep");
  });

  test("a number without an end", () => {
    expect(() => checkThrift(view(0x15, ...Array<number>(20).fill(0x80)), 0)).toThrow("no end");
  });

  test("a run of two thousand million levels in a page of four", () => {
    const run = bytes(0xfe, 0xff, 0xff, 0xff, 0x0f, 1);
    expect(() => checkLevels(run, 1, 4)).toThrow("a run of 2147483647 values where 4 are left");
    expect(() => checkRuns(bytes(0xff, 0xff, 0xff, 0x0f), 1, 4)).toThrow("values where 4 are left");
  });

  test("levels that end early", () => {
    expect(() => checkLevels(bytes(4, 1), 1, 4)).toThrow("lacks the levels of 2");
  });

  test("what writers write", () => {
    expect(() => checkLevels(bytes(8, 1), 1, 4)).not.toThrow();
    // Bit-packed groups are of eight; the last may stand beyond the page's values.
    expect(() => checkLevels(bytes(3, 15), 1, 4)).not.toThrow();
    expect(() => checkPage(page)).not.toThrow();
  });

  test.each([
    ["a page of more values than memory", { ...page, values: 2 ** 31 - 1 }, "over the limit"],
    ["more nulls than values", { ...page, nulls: 5 }, "5 of 4 values are null"],
    ["a page that cannot unpack to so much", { ...page, plainBytes: 2 ** 29 }, "claims to hold"],
  ])("%s", (_, broken, message) => {
    expect(() => checkPage(broken)).toThrow(message);
  });

  test("rows without a column to hold them", async () => {
    const whole = parquetFiles()[2];
    // The column's name in the row group's path, behind the schema's.
    const at = whole.lastIndexOf(Buffer.from([0x19, 0x18, 1, 0x73]));
    whole[at + 3] = 0x74;
    const table = await openParquet(file("a.parquet", whole));
    await expect(table.read().next()).rejects.toThrow("the column s is missing");
    await table.close();
  });
});

describe("configs", () => {
  test.each([
    ["a list that holds itself", "trainer: &a [*a]", "trainer is a group of keys, found a list"],
    ["a name of every object", "constructor: 1", "unknown key constructor"],
    ["a key as long as a file", `? ${"a".repeat(1e6)}\n: 1`, "unknown key aaa"],
  ])("%s", (_, yaml, message) => {
    const file = { path: "run.yaml", text: yaml };
    expect(() => resolveConfig({ file })).toThrow(ConfigError);
    expect(() => resolveConfig({ file })).toThrow(message);
  });
});
