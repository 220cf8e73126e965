import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ArchiveEntry, torchEntries, zip } from "../../test/merge/torch-writer.js";
import { DataError } from "./../core/errors.js";
import type { TorchDTensor, TorchTensor } from "./torch-values.js";
import { openTorchFile } from "./torch.js";

const FIXTURES = fileURLToPath(new URL("../../test/fixtures/fsdp", import.meta.url));

let dir = "";
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), "torch-"))));
afterEach(() => rm(dir, { recursive: true }));

/** Opens these bytes as a file; answers the error's message, or null if it opened. */
async function openBytes(bytes: Buffer): Promise<string | null> {
  const path = join(dir, "file.pt");
  await writeFile(path, bytes);
  try {
    await (await openTorchFile(path)).close();
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(DataError);
    return (error as Error).message;
  }
}

const entries = () => torchEntries({ w: { kind: "tensor", shape: [2], data: [1, 2] } });
const replace = (name: string, bytes: Buffer): ArchiveEntry[] =>
  entries().map((entry) => (entry.name === name ? { name, bytes } : entry));
const pickle = (source: string) =>
  openBytes(zip(replace("archive/data.pkl", Buffer.from(source, "latin1"))));

describe("openTorchFile", () => {
  test.each([
    ["torch2.11/t211_cuda_fsdp1_ws1/model_world_size_1_rank_0.pt", "tensor", null],
    ["torch2.11/t211_cuda_fsdp2_ws1/model_world_size_1_rank_0.pt", "dtensor", [1]],
    ["torch2.11/t211_cpu_fsdp1_ws2/model_world_size_2_rank_1.pt", "dtensor", [2]],
    ["cpu_fsdp2_ws2/model_world_size_2_rank_1.pt", "dtensor", [2]],
  ])("reads %s", async (name, kind, mesh) => {
    const file = await openTorchFile(join(FIXTURES, name));
    const dict = file.value as Map<string, TorchTensor | TorchDTensor>;
    const tensor = dict.get("0.weight") ?? dict.get("model.embed_tokens.weight");
    expect(tensor).toMatchObject({ kind, shape: [37, 16] });
    if (tensor?.kind === "dtensor") {
      expect(tensor.placements).toEqual([{ kind: "shard", dim: 0 }]);
      expect(tensor.mesh).toMatchObject({ shape: mesh, names: ["fsdp"] });
      // Rank 1 of 2 holds 18 of 37 rows; FSDP2 keeps them in a storage padded to 19.
      expect(tensor.local.shape[0]).toBe(mesh?.[0] === 2 ? 18 : 37);
    }
    await file.close();
  });

  test("reads what the test writer saves", async () => {
    expect(await openBytes(zip(entries()))).toBeNull();
  });
});

describe("a hostile pickle", () => {
  const marker = () => join(dir, "ran");

  test.each([
    ["os.system", "cos\nsystem\n"],
    ["posix.system", "cposix\nsystem\n"],
    ["subprocess.Popen", "csubprocess\nPopen\n"],
    ["builtins.eval", "cbuiltins\neval\n"],
    ["builtins.getattr", "cbuiltins\ngetattr\n"],
    ["torch.load", "ctorch\nload\n"],
    ["torch.hub.load", "ctorch.hub\nload\n"],
  ])("that names %s is refused by that name and runs nothing", async (name, opcode) => {
    const message = await pickle(`${opcode}(S'touch ${marker()}'\ntR.`);
    expect(message).toContain(`names ${name}, which is not on the allow-list`);
    expect(existsSync(marker())).toBe(false);
  });

  test("that names it by STACK_GLOBAL, INST or a class's state is refused as well", async () => {
    expect(await pickle("\x80\x04\x8c\x02os\x8c\x06system\x93.")).toContain("names os.system");
    expect(await pickle("(S'id'\nios\nsystem\n.")).toContain("names os.system");
    expect(await pickle("ctorch\ndevice\n)R}U\x08__init__cos\nsystem\nsb.")).toContain("os.system");
  });

  test("that calls data is refused", async () => {
    expect(await pickle("ctorch\nfloat32\n)R.")).toMatch(/calls torch\.float32/);
    expect(await pickle("K\x01)R.")).toMatch(/not a global/);
  });

  test("that claims huge lengths is refused before memory is taken", async () => {
    const before = process.memoryUsage().rss;
    expect(await pickle("X\xff\xff\xff\x7fabc.")).toMatch(/expected 2147483647 more bytes/);
    expect(await pickle("\x8e\xff\xff\xff\xff\xff\x0f\x00\x00a.")).toMatch(/more bytes/);
    expect(await pickle("\x8b\xff\xff\xff\x7fa.")).toMatch(/more bytes/);
    expect(process.memoryUsage().rss - before).toBeLessThan(200e6);
  });

  test("whose tensor reaches beyond its storage is refused", async () => {
    const spec = { kind: "tensor", shape: [1000, 1000], data: [1, 2] } as const;
    const bad = torchEntries({ w: { ...spec, shape: [1000, 1000], data: [1, 2] } });
    expect(await openBytes(zip(bad))).toMatch(/reaches element 999999 of 2/);
  });

  test("whose storage claims more elements than its entry holds is refused", async () => {
    const short = replace("archive/data/0", Buffer.alloc(4));
    expect(await openBytes(zip(short))).toMatch(/claims 8 bytes, but its entry holds 4/);
    const gone = entries().filter(({ name }) => name !== "archive/data/0");
    expect(await openBytes(zip(gone))).toMatch(/storage 0 is named but not in the archive/);
  });

  test("whose lists contain one another many times over takes no time", async () => {
    // 60 lists, each holding the one before it twice: 2^60 items for whoever follows them.
    const laughs = "](K\x01e" + "2\x86".repeat(60);
    const started = performance.now();
    expect(await pickle(`${laughs}\x85.`)).toBeNull();
    expect(await pickle(`ctorch\nSize\n${laughs}\x85R.`)).toBeNull();
    expect(await pickle(`c_codecs\nencode\n${laughs}U\x01a\x86R.`)).toBeNull();
    expect(await pickle(`${laughs}U\x01a\x93.`)).toMatch(/a global has no name/);
    expect(await pickle(`ctorch._utils\n_rebuild_tensor_v2\n(NK\x00${laughs}2tR.`)).toMatch(
      /a tensor has no storage/,
    );
    expect(performance.now() - started).toBeLessThan(2000);
  });

  test("that ends early, or is none, is refused", async () => {
    expect(await pickle("")).toMatch(/expected 1 more bytes/);
    expect(await pickle("\xff\xff")).toMatch(/opcode 0xff is not known/);
    expect(await openBytes(Buffer.from("not a zip"))).toMatch(/expected a zip archive/);
    expect(await openBytes(Buffer.alloc(0))).toMatch(/expected a zip archive/);
  });
});

describe("a hostile zip", () => {
  test("with compressed entries, as a bomb needs them, is refused", async () => {
    expect(await openBytes(zip(entries(), { method: 8 }))).toMatch(/compressed \(method 8\)/);
  });

  test("with overlapping entries is refused", async () => {
    expect(await openBytes(zip(entries(), { overlap: true }))).toMatch(/disagrees|overlaps/);
  });

  test("whose entry claims more bytes than lie before the next is refused", async () => {
    const claim = { name: "archive/data.pkl", sizeBytes: 5000 };
    expect(await openBytes(zip(entries(), { claim }))).toMatch(/overlaps what follows/);
  });

  test.each(["../../etc/passwd", "/etc/passwd", "a/../../b", "C:/x", "a\\..\\b", "a\0b"])(
    "with the name %j is refused",
    async (name) => {
      const bytes = zip([...entries(), { name, bytes: Buffer.from("x") }]);
      expect(await openBytes(bytes)).toMatch(/leaves the archive/);
    },
  );

  test("with a name twice, or two pickles, is refused", async () => {
    const [first] = entries();
    expect(await openBytes(zip([...entries(), first]))).toMatch(/stands there twice/);
    const second = { ...first, name: "other/data.pkl" };
    expect(await openBytes(zip([...entries(), second]))).toMatch(/one data\.pkl .* found 2/);
  });

  test("that promises a billion entries is refused before memory is taken", async () => {
    const bytes = zip(entries());
    bytes.writeUInt16LE(60_000, bytes.length - 12);
    expect(await openBytes(bytes)).toMatch(/promises 60000 entries and ends after 3/);
  });

  test("cut anywhere is refused", async () => {
    const bytes = zip(entries());
    for (let length = 0; length < bytes.length; length += 7) {
      expect(await openBytes(bytes.subarray(0, length))).not.toBeNull();
    }
  });

  test("with big-endian storages is refused", async () => {
    const bytes = zip(replace("archive/byteorder", Buffer.from("big")));
    expect(await openBytes(bytes)).toMatch(/expected little-endian storages, found big/);
  });
});
