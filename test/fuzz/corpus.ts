/** Small valid files of every format, for mutation. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync, gzipSync } from "node:zlib";
import { parquetWriteBuffer } from "hyparquet-writer";
import { createVerlParquet, toVerlRow } from "../../src/formats/verl-rows.js";
import type { Problem } from "../../src/core/problem.js";
import { encodeSafetensorsHeader } from "../../src/formats/safetensors-header.js";
import { torchEntries, zip } from "../merge/torch-writer.js";

const repository = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Messages as a chat template gets them. */
export const MESSAGES = [
  { role: "system" as const, content: "Be brief." },
  { role: "user" as const, content: "Add 1 and 2." },
];

/** Templates as models carry them. */
export const TEMPLATES = [
  "{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] }}{% endfor %}",
  "{{ bos_token }}{% if messages[0].role != 'system' %}{{ raise_exception('no') }}{% endif %}" +
    "{% set x = namespace(n=0) %}{% for m in messages[1:] %}{% set x.n = x.n + 1 %}" +
    "{{ m.content | trim | tojson }}{% if loop.last %}{{ x.n }}{% endif %}{% endfor %}",
  "{%- macro f(a, b=2) -%}{{ a ~ b }}{%- endmacro -%}{{ f(messages|length) }}",
];

/** A tokenizer of a dozen tokens. */
export const TOKENIZER = {
  version: "1.0",
  added_tokens: [{ id: 0, content: "<s>", special: true, lstrip: false, rstrip: false }],
  normalizer: { type: "NFC" },
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
  post_processor: null,
  decoder: { type: "ByteLevel" },
  model: {
    type: "BPE",
    vocab: { "<s>": 0, a: 1, b: 2, c: 3, Ġ: 4, ab: 5, abc: 6 },
    merges: ["a b", "ab c"],
  },
};

/** A problem as users write it. */
export const PROBLEM: Problem = {
  id: "add",
  source: "test",
  prompt: [{ role: "user", content: "add" }],
  language: "python",
  tests: { kind: "stdio", cases: [{ input: "1 2", output: "3" }] },
};

/** Two tensors and some metadata. */
export function safetensors(): Buffer {
  const tensors = [
    { name: "w", dtype: "F32" as const, shape: [2, 3] },
    { name: "b", dtype: "BF16" as const, shape: [4] },
  ];
  const { bytes } = encodeSafetensorsHeader(tensors, { format: "pt" });
  return Buffer.concat([bytes, Buffer.alloc(32, 7)]);
}

/** torch.save files: our writer's, and small ones of torch itself. */
export function torchFiles(): Buffer[] {
  const dtensor = {
    kind: "dtensor" as const,
    shape: [1, 2],
    globalShape: [2, 2],
    mesh: [2],
    placements: ["shard(0)"],
    data: [1, 2],
  };
  const tensor = { kind: "tensor" as const, shape: [2], data: [1, 2] };
  const folder = repository("test/fixtures/fsdp/cpu_fsdp2_ws2");
  const real = readdirSync(folder)
    .filter((name) => name.endsWith(".pt"))
    .map((name) => readFileSync(join(folder, name)))
    .filter((bytes) => bytes.length < 20_000);
  return [zip(torchEntries({ tensor, dtensor }, { lr: 3, state: { step: 1 } })), ...real];
}

/** Pickles of every protocol's opcodes. */
export function pickles(): Buffer[] {
  const data = zip(torchEntries({ w: { kind: "tensor", shape: [2], data: [1, 2] } }));
  const start = data.indexOf("\x80\x02", 0, "latin1");
  return [
    data.subarray(start, data.indexOf("byteorder") - 40),
    Buffer.from("(dp0\nS'a'\np1\n(lp2\nI1\naL2L\naF1.5\nas.", "latin1"),
    Buffer.from(
      "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x01a\x94K\x01\x86\x94.",
      "latin1",
    ),
    Buffer.from("(V\\u0041\\U00000042\nI01\nNt.", "latin1"),
  ];
}

/** The golden file, and one with metadata of every type. */
export function ggufFiles(): Buffer[] {
  return [readFileSync(repository("test/golden/gguf/blocks.gguf")), ggufWithMetadata()];
}

function ggufWithMetadata(): Buffer {
  const u32 = (value: number) => Buffer.from(new Uint32Array([value]).buffer);
  const u64 = (value: number) => Buffer.from(new BigUint64Array([BigInt(value)]).buffer);
  const text = (value: string) => Buffer.concat([u64(value.length), Buffer.from(value)]);
  const scalars = [1, 1, 2, 2, 4, 4, 4, 1].map((size, type) => [u32(type), Buffer.alloc(size, 1)]);
  const wide = [10, 11, 12].map((type) => [u32(type), Buffer.alloc(8, 1)]);
  const list = [u32(9), u32(8), u64(2), text("a"), text("bc")];
  const nested = [u32(9), u32(9), u64(1), u32(0), u64(3), Buffer.from([1, 2, 3])];
  const values = [...scalars, [u32(8), text("llama")], list, nested, ...wide];
  const pairs = values.flatMap((value, i) => [text(`key.${i}`), ...value]);
  const tensor = [text("w"), u32(2), u64(2), u64(2), u32(0), u64(0)];
  const head = [Buffer.from("GGUF"), u32(3), u64(1), u64(values.length), ...pairs, ...tensor];
  return Buffer.concat([...head, Buffer.alloc(64)]);
}

/** veRL's rows, and columns of every type and encoding that the writer has. */
export function parquetFiles(): Buffer[] {
  const dir = mkdtempSync(join(tmpdir(), "rlvr-corpus-"));
  const path = join(dir, "rows.parquet");
  const writer = createVerlParquet(path);
  for (let i = 0; i < 3; i++) writer.write(toVerlRow({ ...PROBLEM, id: `p${i}` }));
  writer.finish();
  writer.close();
  const rows = readFileSync(path);
  rmSync(dir, { recursive: true });
  const columns = parquetWriteBuffer({
    columnData: [
      { name: "i", data: [1, 2, null, 4], type: "INT32" },
      { name: "l", data: [1n, 2n, 3n, 2n ** 60n], type: "INT64" },
      { name: "d", data: [1.5, null, NaN, 0], type: "DOUBLE" },
      { name: "s", data: ["a", "a", "a", "b"], type: "STRING" },
      { name: "b", data: [true, false, true, true], type: "BOOLEAN" },
      { name: "j", data: [{ a: 1 }, [1], null, "x"], type: "JSON" },
    ],
  });
  const plain = parquetWriteBuffer({
    columnData: [{ name: "s", data: ["aa", "b", "", "dd"], type: "STRING" }],
    codec: "UNCOMPRESSED",
  });
  return [rows, Buffer.from(columns), Buffer.from(plain)];
}

const LCB = JSON.stringify([{ input: "1\n", output: "2", testtype: "stdin" }]);
const pickled = (text: string) => {
  const head = Buffer.alloc(6);
  head[0] = 0x58;
  head.writeUInt32LE(Buffer.byteLength(text), 1);
  return Buffer.concat([
    Buffer.from([0x80, 4]),
    head.subarray(0, 5),
    Buffer.from(text),
    Buffer.from("."),
  ]);
};

/** The layers of a LiveCodeBench payload, the innermost first: JSON, pickle, zlib. */
export const LCB_LAYERS = { json: LCB, pickle: pickled(LCB), zlib: deflateSync(pickled(LCB)) };

/** JSON lines, plain and gzipped. */
export const JSONL = `${JSON.stringify(PROBLEM)}\n\n{"a": "é\\u0000", "b": [1.5, null]}\n`;
/** The same, gzipped. */
export const JSONL_GZ = gzipSync(JSONL);

/** A config as users write it. */
export const CONFIG_FILE = `preset: starter
# comment
data: { train_batch_size: 32, shuffle: true }
actor_rollout_ref:
  actor:
    optim: {lr: 1e-5, betas: [0.9, 0.99]}
    ppo_mini_batch_size: 16
  rollout.n: 1
algorithm.kl_ctrl.kl_coef: 0.01
trainer:
  logger: [console]
  experiment_name: "a b"
`;
