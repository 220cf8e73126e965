import { cp, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { saveTorch, type TensorSpec } from "../../test/merge/torch-writer.js";
import { ConfigError } from "../core/errors.js";
import { compareModels } from "./compare.js";
import { toFloat32 } from "./convert.js";
import { mergeCheckpoint, type MergeOptions } from "./merge.js";
import { openModel } from "./model-folder.js";
import { rowBytes, rowCount } from "./rows.js";
import { openShards } from "./shards.js";

const FIXTURES = fileURLToPath(new URL("../../test/fixtures/fsdp", import.meta.url));

let dir = "";
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), "merge-"))));
afterEach(() => rm(dir, { recursive: true }));

const optionsFor = (checkpoint: string, changes: Partial<MergeOptions> = {}): MergeOptions => ({
  checkpoint,
  out: join(dir, "out"),
  dtype: "keep",
  lora: "fuse",
  loraAlpha: null,
  maxShardBytes: 5e9,
  base: null,
  reference: null,
  signal: null,
  onProgress: null,
  ...changes,
});

/** A fixture with its reference folder as the `huggingface` folder that trainers write. */
async function checkpointOf(name: string): Promise<string> {
  const actor = join(dir, "global_step_1", "actor");
  await cp(join(FIXTURES, name), actor, { recursive: true });
  await cp(join(actor, "ref"), join(actor, "huggingface"), { recursive: true });
  return actor;
}

/** Makes a one-layer checkpoint of our own, one state dict per rank. */
async function save(ranks: Record<string, TensorSpec>[], config: object = {}): Promise<string> {
  for (const [rank, tensors] of ranks.entries()) {
    saveTorch(join(dir, `model_world_size_${ranks.length}_rank_${rank}.pt`), tensors);
  }
  await writeFile(join(dir, "config.json"), JSON.stringify(config));
  return dir;
}

const vector = (data: number[]): TensorSpec => ({ kind: "tensor", shape: [data.length], data });

async function valuesOf(model: string, name: string): Promise<number[]> {
  const opened = await openModel(model);
  const tensor = opened.tensors.find((one) => one.name === name);
  if (tensor === undefined) throw new Error(`${name} is not in ${model}`);
  const rows = rowCount(tensor.shape);
  const bytes = Buffer.alloc(rows * rowBytes(tensor.dtype, tensor.shape));
  await tensor.read(0, rows, bytes);
  await opened.close();
  return [...toFloat32(bytes, tensor.dtype)];
}

const partials = async () => (await readdir(dir)).filter((name) => name.includes("partial"));

describe("mergeCheckpoint", () => {
  test.each(["cpu_fsdp1_ws1", "cpu_fsdp2_ws2"])(
    "%s gives torch's tensors bit for bit",
    async (name) => {
      const actor = await checkpointOf(name);
      const { tensors } = await mergeCheckpoint(optionsFor(actor));
      const expected = join(dir, "expected");
      await cp(
        join(FIXTURES, name, "expected_full.safetensors"),
        join(expected, "model.safetensors"),
      );
      const differences = await compareModels(join(dir, "out"), expected);
      // The tied head is written once.
      expect(differences.filter(({ kind }) => kind !== "compared")).toEqual([
        { name: "lm_head.weight", kind: "missing", from: "model" },
      ]);
      const compared = differences.filter((item) => item.kind === "compared");
      expect(compared).toHaveLength(tensors.length);
      expect(compared.map(({ largest }) => largest)).toEqual(compared.map(() => 0));
    },
  );

  test("two ranks of FSDP1 give what two ranks of FSDP2 give", async () => {
    await mergeCheckpoint(optionsFor(await checkpointOf("cpu_fsdp1_ws2")));
    await rm(join(dir, "global_step_1"), { recursive: true });
    const second = join(dir, "second");
    await mergeCheckpoint(optionsFor(await checkpointOf("cpu_fsdp2_ws2"), { out: second }));
    const [first] = await compareModels(join(dir, "out"), second);
    expect(first).toMatchObject({ kind: "compared", largest: 0 });
  });

  test("a step folder and the folder above it lead to the actor", async () => {
    await checkpointOf("cpu_fsdp2_ws2");
    await writeFile(join(dir, "latest_checkpointed_iteration.txt"), "1");
    const steps = [join(dir, "global_step_1"), dir];
    for (const [index, checkpoint] of steps.entries()) {
      const out = join(dir, `out-${index}`);
      const report = await mergeCheckpoint(optionsFor(checkpoint, { out }));
      expect(report.worldSize).toBe(2);
    }
  });

  test("weights split over files carry an index that names every tensor", async () => {
    const actor = await checkpointOf("cpu_fsdp2_ws2");
    const report = await mergeCheckpoint(optionsFor(actor, { maxShardBytes: 8000 }));
    expect(report.files.length).toBeGreaterThan(2);
    const text = await readFile(join(dir, "out", "model.safetensors.index.json"), "utf8");
    const index = JSON.parse(text) as { weight_map: object; metadata: { total_size: number } };
    expect(Object.keys(index.weight_map)).toHaveLength(report.tensors.length);
    expect(index.metadata.total_size).toBe(report.totalBytes);
    const [first] = await compareModels(join(dir, "out"), join(dir, "out"));
    expect(first).toMatchObject({ kind: "compared", largest: 0 });
  });

  test("bf16 rounds to the nearest, and config.json says so", async () => {
    const actor = await checkpointOf("cpu_fsdp2_ws2");
    const report = await mergeCheckpoint(
      optionsFor(actor, { dtype: "BF16", reference: join(actor, "ref") }),
    );
    expect(new Set(report.tensors.map(({ dtype }) => dtype))).toEqual(new Set(["BF16"]));
    const exact = join(dir, "exact");
    await mergeCheckpoint(optionsFor(actor, { out: exact }));
    const name = "model.layers.0.mlp.up_proj.weight";
    const [rounded, full] = [await valuesOf(join(dir, "out"), name), await valuesOf(exact, name)];
    for (const [index, value] of full.entries()) {
      // Half a unit in the last of 8 bits.
      expect(Math.abs(rounded[index] - value)).toBeLessThanOrEqual(Math.abs(value) * 2 ** -8);
    }
    const config = JSON.parse(await readFile(join(dir, "out", "config.json"), "utf8")) as object;
    expect(config).toMatchObject({ dtype: "bfloat16", tie_word_embeddings: true });
  });

  test("an adapter is fused as W + (alpha / r) · B · A", async () => {
    const actor = await checkpointOf("cpu_fsdp1_lora_ws2");
    const folder = {
      kind: "shards",
      dir: actor,
      worldSize: 2,
      huggingface: null,
      lora: null,
    } as const;
    const shards = [0, 1].map((rank) => join(actor, `model_world_size_2_rank_${rank}.pt`));
    const { files, tensors, close } = await openShards({ ...folder, shards });
    expect(files).toHaveLength(2);
    expect(tensors.some(({ name }) => name.includes("lora_A"))).toBe(true);
    await close();
    const fused = await mergeCheckpoint(optionsFor(actor, { loraAlpha: 8 }));
    expect(fused.lora).toEqual({ mode: "fuse", rank: 4, alpha: 8, scales: [2], weights: 14 });
    const separate = join(dir, "separate");
    await mergeCheckpoint(optionsFor(actor, { loraAlpha: 8, lora: "separate", out: separate }));
    const module = "model.layers.1.self_attn.k_proj";
    const base = await valuesOf(separate, `${module}.weight`);
    const stored = await openModel(join(separate, "lora_adapter"), "adapter_model");
    const read = async (half: string) => {
      const tensor = stored.tensors.find(
        ({ name }) => name === `base_model.model.${module}.${half}.weight`,
      );
      if (tensor === undefined) throw new Error(`${half} is missing`);
      const bytes = Buffer.alloc(rowCount(tensor.shape) * rowBytes(tensor.dtype, tensor.shape));
      await tensor.read(0, rowCount(tensor.shape), bytes);
      return toFloat32(bytes, tensor.dtype);
    };
    const [a, b] = [await read("lora_A"), await read("lora_B")];
    await stored.close();
    const expected = base.map((weight, index) => {
      const [row, column] = [Math.floor(index / 16), index % 16];
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += b[row * 4 + k] * a[k * 16 + column];
      return weight + (8 / 4) * sum;
    });
    const found = await valuesOf(join(dir, "out"), `${module}.weight`);
    expect(Math.max(...found.map((v, i) => Math.abs(v - base[i])))).toBeGreaterThan(1e-4);
    for (const [index, value] of expected.entries()) expect(found[index]).toBeCloseTo(value, 6);
  });

  test("an unknown alpha is refused, because a wrong scale spoils the model silently", async () => {
    const actor = await checkpointOf("cpu_fsdp1_lora_ws2");
    await expect(mergeCheckpoint(optionsFor(actor))).rejects.toThrow(/pass --lora-alpha/);
    await expect(mergeCheckpoint(optionsFor(actor, { loraAlpha: 0 }))).rejects.toThrow(ConfigError);
  });

  test("a head that differs from tied embeddings is kept, and the config unties them", async () => {
    const matrix = (data: number[]): TensorSpec => ({ kind: "tensor", shape: [2, 1], data });
    const base = await save(
      [{ "model.embed_tokens.weight": matrix([1, 2]), "lm_head.weight": matrix([1, 3]) }],
      { model_type: "other", tie_word_embeddings: true },
    );
    const report = await mergeCheckpoint(optionsFor(base, { base }));
    expect(report.warnings.join()).toMatch(/the two differ/);
    expect(await valuesOf(join(dir, "out"), "lm_head.weight")).toEqual([1, 3]);
    const text = await readFile(join(dir, "out", "config.json"), "utf8");
    expect(JSON.parse(text)).toMatchObject({ tie_word_embeddings: false });
  });

  test("a value head is kept, and config.json names the class that has one", async () => {
    const config = { model_type: "other", architectures: ["OtherForCausalLM"] };
    const score: TensorSpec = { kind: "tensor", shape: [1, 2], data: [0.5, -1] };
    const base = await save([{ "score.weight": score, w: vector([1]) }], config);
    await mergeCheckpoint(optionsFor(base, { base }));
    const text = await readFile(join(dir, "out", "config.json"), "utf8");
    expect(JSON.parse(text)).toMatchObject({
      architectures: ["OtherForTokenClassification"],
      num_labels: 1,
    });
  });
});

describe("checkpoints of torch 2.11", () => {
  test.each([
    ["t211_cuda_fsdp1_ws1", 1],
    ["t211_cuda_fsdp2_ws1", 1],
    ["t211_cpu_fsdp1_ws2", 2],
  ])("%s: every tensor whole, buffers once", async (name, worldSize) => {
    const checkpoint = join(FIXTURES, "torch2.11", name);
    await writeFile(join(dir, "config.json"), JSON.stringify({ model_type: "other" }));
    const report = await mergeCheckpoint(optionsFor(checkpoint, { base: dir }));
    expect(report.worldSize).toBe(worldSize);
    expect(report.tensors.map(({ name, dtype, shape }) => `${name} ${dtype} ${shape}`)).toEqual([
      ...["buf I64 3", "0.weight F32 37,16", "1.weight F32 24,16", "1.bias F32 24"],
      ...["2.weight F32 24", "2.bias F32 24"],
    ]);
    // One step of Adam moved these by its learning rate from where LayerNorm starts.
    const norm = await valuesOf(join(dir, "out"), "2.weight");
    for (const value of norm) expect(Math.abs(value - 1)).toBeLessThan(0.02);
  });

  test("one rank of FSDP1 and one of FSDP2 hold the same bytes", async () => {
    await writeFile(join(dir, "config.json"), JSON.stringify({ model_type: "other" }));
    for (const version of [1, 2]) {
      const checkpoint = join(FIXTURES, "torch2.11", `t211_cuda_fsdp${version}_ws1`);
      await mergeCheckpoint(optionsFor(checkpoint, { base: dir, out: join(dir, `v${version}`) }));
    }
    const [first] = await compareModels(join(dir, "v1"), join(dir, "v2"));
    expect(first).toMatchObject({ kind: "compared", largest: 0 });
  });
});

describe("a checkpoint that is not whole", () => {
  const refuse = async (
    checkpoint: string,
    message: RegExp,
    changes: Partial<MergeOptions> = {},
  ) => {
    const merging = mergeCheckpoint(optionsFor(checkpoint, changes));
    await expect(merging).rejects.toThrow(message);
    await expect(merging).rejects.toMatchObject({ exitCode: 2 });
    expect((await readdir(dir)).includes("out")).toBe(false);
    expect(await partials()).toEqual([]);
  };

  test("lacks a rank", async () => {
    const actor = await checkpointOf("cpu_fsdp2_ws2");
    await rm(join(actor, "model_world_size_2_rank_1.pt"));
    await refuse(actor, /missing rank 1 of 2/);
  });

  test.each([0.3, 0.9, 0.999])("has a shard cut at %d of its length", async (part) => {
    const actor = await checkpointOf("cpu_fsdp2_ws2");
    const shard = join(actor, "model_world_size_2_rank_1.pt");
    await truncate(shard, Math.floor((await readFile(shard)).length * part));
    await refuse(actor, /rank_1\.pt: .*cut short/);
  });

  test("mixes two world sizes", async () => {
    const actor = await checkpointOf("cpu_fsdp2_ws2");
    await rename(
      join(actor, "model_world_size_2_rank_1.pt"),
      join(actor, "model_world_size_4_rank_1.pt"),
    );
    await refuse(actor, /world sizes are mixed: 2 and 4/);
  });

  test("holds a file renamed from another world size", async () => {
    const actor = await checkpointOf("cpu_fsdp1_ws2");
    const whole = join(FIXTURES, "cpu_fsdp1_ws1", "model_world_size_1_rank_0.pt");
    await cp(whole, join(actor, "model_world_size_2_rank_1.pt"));
    await refuse(actor, /not of one checkpoint/);
  });

  test("mixes two steps, by what the scheduler recorded", async () => {
    const actor = await checkpointOf("cpu_fsdp2_ws2");
    for (const [rank, step] of [10, 20].entries()) {
      const path = join(actor, `extra_state_world_size_2_rank_${rank}.pt`);
      saveTorch(path, {}, { lr_scheduler: { last_epoch: step } });
    }
    await refuse(
      actor,
      /different steps are mixed: rank 0 was saved after 10 updates, rank 1 after 20/,
    );
  });

  test("mixes two steps, by a copy that must be equal on every rank", async () => {
    const ranks = [10, 20].map((step) => ({ w: vector([1, 2]), step: vector([step]) }));
    const base = await save(ranks);
    await refuse(base, /step: ranks 0 and 1 must hold equal copies and differ/, { base });
  });

  test("was damaged after it was saved", async () => {
    const actor = await checkpointOf("cpu_fsdp2_ws2");
    const shard = join(actor, "model_world_size_2_rank_0.pt");
    const bytes = await readFile(shard);
    // The lowest bit of a weight: nothing but a checksum can tell.
    bytes[bytes.indexOf("data/9") + 200] ^= 1;
    await writeFile(shard, bytes);
    await refuse(actor, /differ from their recorded checksum/);
  });

  test("holds NaN", async () => {
    const base = await save([{ w: vector([1, NaN]) }]);
    await refuse(base, /w: holds NaN in rows 0 to 1/, { base });
  });

  test("does not fit config.json", async () => {
    const actor = await checkpointOf("cpu_fsdp2_ws2");
    const path = join(actor, "huggingface", "config.json");
    const config = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;
    await writeFile(path, JSON.stringify({ ...config, num_hidden_layers: 3 }));
    await refuse(actor, /model\.layers\.2\.self_attn\.q_proj\.weight is missing/);
    await writeFile(path, JSON.stringify({ ...config, intermediate_size: 32 }));
    await refuse(actor, /gate_proj\.weight must be \[32,16\], found \[24,16\]/);
  });

  test("is spread by tensor parallelism", async () => {
    const rank: Record<string, TensorSpec> = {
      w: {
        kind: "dtensor",
        shape: [2],
        data: [1, 2],
        globalShape: [4],
        mesh: [2],
        placements: ["_StridedShard"],
      },
    };
    const base = await save([rank, rank]);
    await refuse(base, /placement _StridedShard is not supported/, { base });
  });

  test("would overwrite something", async () => {
    const actor = await checkpointOf("cpu_fsdp2_ws2");
    await expect(mergeCheckpoint(optionsFor(actor, { out: actor }))).rejects.toThrow(/not empty/);
    await refuse(join(dir, "nowhere"), /expected a checkpoint folder/);
    await refuse(FIXTURES, /expected a checkpoint/);
  });

  test("is caught when the disk does not hold what was written to it", async () => {
    const actor = await checkpointOf("cpu_fsdp2_ws2");
    const onProgress: MergeOptions["onProgress"] = ({ done, total }) => {
      // All is written and nothing is read back yet: a byte of the output changes.
      if (done * 2 !== total) return;
      const path = join(dir, `out.partial-${process.pid}`, "model.safetensors");
      const file = openSync(path, "r+");
      writeSync(file, Buffer.from([0x7b]), 0, 1, statSync(path).size - 3);
      closeSync(file);
    };
    await refuse(actor, /does not hold what was written to it; check the disk/, { onProgress });
  });

  test("is stopped half-way", async () => {
    const actor = await checkpointOf("cpu_fsdp2_ws2");
    const abort = new AbortController();
    const onProgress = () => abort.abort();
    const merging = mergeCheckpoint(optionsFor(actor, { signal: abort.signal, onProgress }));
    await expect(merging).rejects.toThrow(/abort/i);
    expect(await partials()).toEqual([]);
  });
});
