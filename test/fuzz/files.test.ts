/** Fuzz of the readers of files: parquet, safetensors, pickle, torch, GGUF, JSONL, LiveCodeBench. */
import fc from "fast-check";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { afterAll, describe, test } from "vitest";
import { DataError, RlvrError } from "../../src/core/errors.js";
import { readLines } from "../../src/core/run.js";
import { readGgufHeader, readGgufTensors } from "../../src/formats/gguf.js";
import { readJsonl } from "../../src/formats/jsonl.js";
import { decodeLcbTests } from "../../src/formats/lcb-tests.js";
import { openParquet } from "../../src/formats/parquet.js";
import { readPickle } from "../../src/formats/pickle.js";
import { readTensorValues } from "../../src/formats/safetensors.js";
import { readSafetensorsHeader } from "../../src/formats/safetensors-header.js";
import { openTorchFile } from "../../src/formats/torch.js";
import { torchGlobals } from "../../src/formats/torch-values.js";
import { importGguf } from "../../src/model/gguf-import.js";
import { loadModelConfig } from "../../src/model/weights.js";
import * as corpus from "./corpus.js";
import { TIMEOUT_MS, fuzz } from "./fuzz.js";
import { opcodes, safetensorsOfAnything, torchFileOf } from "./generators.js";
import { mutated, mutatedText } from "./mutate.js";

const dir = mkdtempSync(join(tmpdir(), "rlvr-fuzz-"));
afterAll(() => rmSync(dir, { recursive: true }));

/** Puts the bytes where a reader looks for them. */
const file = (name: string, bytes: Uint8Array | string) => {
  const path = join(dir, name);
  writeFileSync(path, bytes);
  return path;
};

describe("files", { timeout: TIMEOUT_MS }, () => {
  test("parquet", () =>
    fuzz({
      name: "parquet",
      few: 1500,
      inputs: mutated(corpus.parquetFiles()),
      parse: async (bytes) => {
        const table = await openParquet(file("rows.parquet", bytes));
        try {
          for await (const batch of table.read()) JSON.stringify(batch, plainBigint);
        } finally {
          await table.close();
        }
      },
    }));

  test("safetensors", () =>
    fuzz({
      name: "safetensors",
      few: 2000,
      inputs: fc.oneof(mutated([corpus.safetensors()]), safetensorsOfAnything),
      parse: async (bytes) => {
        const path = file("model.safetensors", bytes);
        const { tensors } = await readSafetensorsHeader(path);
        for (const tensor of tensors.values()) await readTensorValues(path, tensor);
      },
    }));

  test("pickle", () =>
    fuzz({
      name: "pickle",
      few: 8000,
      inputs: fc.oneof(mutated(corpus.pickles()), opcodes),
      parse: (bytes) => readPickle(bytes, { path: "x.pkl", globals: torchGlobals(fail) }),
    }));

  test("torch files", () =>
    fuzz({
      name: "torch",
      few: 2500,
      inputs: fc.oneof(
        mutated(corpus.torchFiles()),
        fc.oneof(mutated(corpus.pickles()), opcodes).map(torchFileOf),
      ),
      parse: async (bytes) => (await openTorchFile(file("model.pt", bytes))).close(),
    }));

  test("GGUF", () =>
    fuzz({
      name: "GGUF",
      few: 2500,
      inputs: mutated(corpus.ggufFiles()),
      parse: async (bytes) => {
        const path = file("model.gguf", bytes);
        const { tensors } = await readGgufHeader(path);
        for (const tensor of tensors.values()) {
          const size = tensor.shape.reduce((product, length) => product * length, 1);
          // Who reads a tensor compares its shape with the model's first.
          if (size > 4096) continue;
          await readGgufTensors(path, [{ tensor, target: new Float32Array(size) }]);
        }
        await importGguf(path).catch(onlyTyped);
      },
    }));

  test("JSON lines", () =>
    fuzz({
      name: "JSONL",
      few: 800,
      inputs: fc.oneof(
        mutated([Buffer.from(corpus.JSONL)]).map((bytes) => ({ name: "a.jsonl", bytes })),
        mutated([corpus.JSONL_GZ]).map((bytes) => ({ name: "a.jsonl.gz", bytes })),
      ),
      parse: async ({ name, bytes }) => {
        const path = file(name, bytes);
        await readLines(path).catch(onlyTyped);
        for await (const line of readJsonl(path)) void line;
      },
    }));

  test("LiveCodeBench payloads", () => {
    const { json, pickle, zlib } = corpus.LCB_LAYERS;
    const packed = (bytes: Uint8Array) => deflateSync(bytes).toString("base64");
    return fuzz({
      name: "LiveCodeBench payload",
      few: 4000,
      inputs: fc.oneof(
        mutatedText([json]),
        mutatedText([zlib.toString("base64")]),
        mutated([zlib]).map((bytes) => bytes.toString("base64")),
        fc.oneof(mutated([pickle]), mutated(corpus.pickles()), opcodes).map(packed),
      ),
      parse: (text) => decodeLcbTests(text, { path: "rows.jsonl", line: 1 }),
    });
  });

  test("model configs", () =>
    fuzz({
      name: "config.json",
      few: 2000,
      inputs: fc.oneof(fc.json({ maxDepth: 3 }), mutatedText([MODEL_CONFIG])),
      parse: (text) => {
        file("config.json", text);
        return loadModelConfig(dir);
      },
    }));
});

const MODEL_CONFIG = JSON.stringify({
  ...{ architectures: ["Qwen2ForCausalLM"], model_type: "qwen2", vocab_size: 8, hidden_size: 8 },
  ...{ intermediate_size: 8, num_hidden_layers: 1, num_attention_heads: 2, rope_theta: 1e4 },
  ...{ num_key_value_heads: 2, max_position_embeddings: 16, rms_norm_eps: 1e-6 },
  ...{ tie_word_embeddings: true, eos_token_id: 1, hidden_act: "silu" },
});

const plainBigint = (_: string, value: unknown) =>
  typeof value === "bigint" ? String(value) : value;

/** What the torch reader does with a broken rule. */
const fail = (message: string): never => {
  throw new DataError(message, { path: "x.pkl" });
};

/** Two readers of one input: the first one's refusal must not hide the second's. */
const onlyTyped = (error: unknown) => {
  if (!(error instanceof RlvrError)) throw error;
};
