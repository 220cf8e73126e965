/** Cases of merging: small checkpoints in, tensors out; the files are written as torch writes them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toFloat32 } from "../../../src/merge/convert.js";
import { mergeCheckpoint, type MergeReport } from "../../../src/merge/merge.js";
import { openModel } from "../../../src/merge/model-folder.js";
import { rowBytes, rowCount } from "../../../src/merge/rows.js";
import { saveTorch, type TensorSpec } from "../../merge/torch-writer.js";
import type { Case } from "../case.js";

type Nested = number | Nested[];

interface RankTensor {
  kind: "tensor" | "dtensor";
  local: Nested;
  placements?: string[];
  global_shape?: number[];
}

interface MergeInput {
  world_size: number;
  ranks: Record<string, RankTensor>[];
  config?: Record<string, unknown>;
  lora?: { r: number; alpha: number };
}

interface MergeExpectation {
  merged?: Record<string, Nested>;
  warning?: boolean;
  error?: string;
  accept?: string[];
}

/** Runs one case through the product's merge. */
export async function run(testCase: Case): Promise<string | null> {
  const input = testCase.input as unknown as MergeInput;
  const expected = testCase.expected as MergeExpectation;
  const dir = mkdtempSync(join(tmpdir(), "merge-case-"));
  try {
    writeCheckpoint(dir, input);
    const out = join(dir, "out");
    const report = await mergeCheckpoint({
      checkpoint: join(dir, "actor"),
      out,
      dtype: "keep",
      lora: "fuse",
      loraAlpha: null,
      maxShardBytes: 5e9,
      base: null,
      reference: null,
      signal: null,
      onProgress: null,
    });
    return await judge(out, report, expected);
  } catch (error) {
    const { message } = error as Error;
    if (expected.error !== undefined && message.includes(expected.error)) return null;
    return `${(error as Error).name}: ${message}`;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function writeCheckpoint(dir: string, input: MergeInput): void {
  const actor = join(dir, "actor");
  mkdirSync(join(actor, "huggingface"), { recursive: true });
  writeFileSync(join(actor, "huggingface", "config.json"), JSON.stringify(input.config ?? {}));
  if (input.lora !== undefined) {
    const meta = { r: input.lora.r, lora_alpha: input.lora.alpha, task_type: "CAUSAL_LM" };
    writeFileSync(join(actor, "lora_train_meta.json"), JSON.stringify(meta));
  }
  for (const [rank, tensors] of input.ranks.entries()) {
    const specs = Object.entries(tensors).map(([name, tensor]) => [
      name,
      toSpec(tensor, input.world_size),
    ]);
    const path = join(actor, `model_world_size_${input.world_size}_rank_${rank}.pt`);
    saveTorch(path, Object.fromEntries(specs) as Record<string, TensorSpec>);
  }
}

function toSpec(tensor: RankTensor, worldSize: number): TensorSpec {
  const data = flatten(tensor.local);
  const globalShape = tensor.global_shape ?? [];
  const shape = data.length === 0 ? [0, ...globalShape.slice(1)] : shapeOf(tensor.local);
  const { kind, placements = [] } = tensor;
  return { kind, shape, data, placements, globalShape, mesh: [worldSize] };
}

const flatten = (value: Nested): number[] =>
  Array.isArray(value) ? value.flatMap(flatten) : [value];
const shapeOf = (value: Nested): number[] =>
  Array.isArray(value) ? [value.length, ...shapeOf(value[0])] : [];

async function judge(
  out: string,
  report: MergeReport,
  expected: MergeExpectation,
): Promise<string | null> {
  if (expected.error !== undefined) return `expected the error ${expected.error}, it merged`;
  const merged = await readTensors(out);
  if (expected.accept !== undefined) {
    const head = merged.get("lm_head.weight");
    const embeddings = merged.get("model.embed_tokens.weight");
    if (embeddings === undefined) return "the embeddings are gone";
    return head === undefined || head === embeddings ? null : `lm_head is ${head}`;
  }
  const wanted = Object.entries(expected.merged ?? {});
  if (merged.size !== wanted.length) return `tensors are ${[...merged.keys()].join()}`;
  for (const [name, value] of wanted) {
    const text = JSON.stringify({ shape: shapeOf(value), values: flatten(value) });
    if (merged.get(name) !== text) return `${name} is ${merged.get(name)}, expected ${text}`;
  }
  if (expected.warning === true && !report.warnings.some((line) => line.includes("ties"))) {
    return "no warning was given";
  }
  return null;
}

async function readTensors(dir: string): Promise<Map<string, string>> {
  const model = await openModel(dir);
  const read = new Map<string, string>();
  for (const tensor of model.tensors) {
    const rows = rowCount(tensor.shape);
    const bytes = Buffer.alloc(rows * rowBytes(tensor.dtype, tensor.shape));
    await tensor.read(0, rows, bytes);
    const values = [...toFloat32(bytes, tensor.dtype)];
    read.set(tensor.name, JSON.stringify({ shape: tensor.shape, values }));
  }
  await model.close();
  return read;
}
