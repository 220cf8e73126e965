/**
 * Low-rank adapters inside a checkpoint: which tensors belong to the base model, which to the
 * adapter, and how the two become one.
 *
 * The fused weight is W + s · B·A, computed in float32 and rounded once; s is alpha / r, or what
 * adapter_config.json says of the module.
 * Names follow PEFT: `base_model.model.X.base_layer.weight`, `X.lora_A.default.weight` [r, in],
 * `X.lora_B.default.weight` [out, r].
 * Source: Hu et al. 2021, section 4.1, https://arxiv.org/abs/2106.09685
 */
import { CheckpointError, ConfigError } from "../core/errors.js";
import {
  type AdapterConfig,
  peftConfig,
  plainAdapter,
  rankOf,
  scaleOf,
} from "../model/adapter-config.js";
import { toFloat32 } from "./convert.js";
import { type NamedSource, type RowSource, rowBytes, rowCount } from "./rows.js";

/** The factors of one weight's change: `a` [r, in] and `b` [out, r]. */
export interface AdapterPair {
  a: NamedSource;
  b: NamedSource;
}

/** A checkpoint with an adapter, taken apart. */
export interface SplitCheckpoint {
  /** The base model's tensors under their own names. */
  base: NamedSource[];
  /** Pairs of the adapter, by the name of the weight that they change. */
  pairs: Map<string, AdapterPair>;
}

/** The matrices that `tie_word_embeddings` makes one. */
export const EMBEDDINGS = "model.embed_tokens.weight";
export const HEAD = "lm_head.weight";

const PREFIX = "base_model.model.";
const LORA = /^(.*)\.lora_([AB])\.(?:([^.]+)\.)?weight$/;
const SAVED = /^(.*)\.modules_to_save\.[^.]+\.(.*)$/;
const ORIGINAL = /^(.*)\.original_module\.(.*)$/;

/**
 * Takes a state dict apart. Without adapter tensors, `pairs` is empty and names stay as they are.
 *
 * @throws {CheckpointError} if it holds several adapters or a kind other than plain LoRA.
 */
export function splitAdapter(tensors: NamedSource[]): SplitCheckpoint {
  const hasAdapter = tensors.some(({ name }) => name.includes("lora_"));
  if (!hasAdapter) return { base: tensors, pairs: new Map() };
  const halves = new Map<string, Partial<AdapterPair>>();
  const base = new Map<string, NamedSource>();
  const adapters = new Set<string>();
  for (const tensor of tensors) {
    const name = tensor.name.startsWith(PREFIX) ? tensor.name.slice(PREFIX.length) : tensor.name;
    const lora = LORA.exec(name);
    if (lora !== null) {
      adapters.add(lora[3] ?? "default");
      const weight = `${lora[1]}.weight`;
      halves.set(weight, { ...halves.get(weight), [lora[2].toLowerCase()]: tensor });
      continue;
    }
    if (name.includes("lora_")) throw unsupported(name);
    // A fully trained module takes the place of the original that PEFT keeps beside it.
    if (ORIGINAL.test(name)) continue;
    const clean = name.replace(SAVED, "$1.$2").replace(".base_layer.", ".");
    base.set(clean, { ...tensor, name: clean });
  }
  if (adapters.size > 1) {
    throw new CheckpointError(
      `expected one adapter, found ${[...adapters].join(", ")}; save the one to merge alone`,
    );
  }
  return { base: [...base.values()], pairs: new Map([...halves].map(checkPair)) };
}

function unsupported(name: string): CheckpointError {
  return new CheckpointError(
    `${name}: expected plain LoRA on linear layers; DoRA and embedding adapters are not supported`,
  );
}

function checkPair([weight, pair]: [string, Partial<AdapterPair>]): [string, AdapterPair] {
  const { a, b } = pair;
  if (a?.shape.length !== 2 || b?.shape.length !== 2 || a.shape[0] !== b.shape[1]) {
    throw new CheckpointError(
      `${weight}: expected lora_A [r, in] and lora_B [out, r], found ` +
        `[${a?.shape ?? "none"}] and [${b?.shape ?? "none"}]`,
    );
  }
  return [weight, { a, b }];
}

/**
 * The base model with the tensors that an adapter holds whole (`modules_to_save`, biases) in the
 * places of its own.
 *
 * PEFT trains a copy of a module: where only the embeddings of a tied pair were trained, the head
 * stays what the base's embeddings are.
 */
export function replaceTrained(
  base: NamedSource[],
  { trained, isTied }: { trained: NamedSource[]; isTied: boolean },
): NamedSource[] {
  const tensors = new Map([...base, ...trained].map((tensor) => [tensor.name, tensor]));
  const embeddings = base.find(({ name }) => name === EMBEDDINGS);
  if (isTied && embeddings !== undefined && tensors.get(EMBEDDINGS) !== embeddings) {
    if (!tensors.has(HEAD)) tensors.set(HEAD, { ...embeddings, name: HEAD });
  }
  return [...tensors.values()];
}

/**
 * Decides how strongly the adapter acts: as recorded, with the option in place of the recorded alpha.
 *
 * @throws {ConfigError} if alpha is neither given nor recorded: a wrong scale would spoil the model
 * silently.
 * @throws {CheckpointError} if the factors have other ranks than recorded.
 */
export function chooseScaling(
  pairs: SplitCheckpoint["pairs"],
  { option, recorded }: { option: number | null; recorded: AdapterConfig | null },
): AdapterConfig {
  if (option !== null && !(Number.isFinite(option) && option > 0)) {
    throw new ConfigError(`lora alpha must be a number above 0, got ${option}`);
  }
  const alpha = option ?? recorded?.alpha ?? 0;
  const scaling = recorded === null ? plainAdapter(commonRank(pairs), alpha) : recorded;
  for (const [weight, { a }] of pairs) {
    const expected = rankOf(scaling, moduleOf(weight));
    if (a.shape[0] === expected) continue;
    throw new CheckpointError(
      `the checkpoint records LoRA rank ${expected}, its tensors have rank ${a.shape[0]}: ${weight}`,
    );
  }
  if (alpha > 0) return { ...scaling, alpha };
  throw new ConfigError(
    "lora alpha is not recorded in this checkpoint (lora_train_meta.json, adapter_config.json); " +
      "pass --lora-alpha with the value of the training config (actor_rollout_ref.model.lora_alpha)",
  );
}

function commonRank(pairs: SplitCheckpoint["pairs"]): number {
  const ranks = [...new Set([...pairs.values()].map(({ a }) => a.shape[0]))];
  if (ranks.length === 1) return ranks[0];
  throw new CheckpointError(
    `expected one LoRA rank or an adapter_config.json with rank_pattern, found ${ranks.join(", ")}`,
  );
}

const moduleOf = (weight: string) => weight.slice(0, -".weight".length);

/** What B·A of a weight is multiplied by. */
export function scaleOfWeight(scaling: AdapterConfig, weight: string): number {
  return scaleOf(scaling, moduleOf(weight));
}

/** The weight W + scale · B·A as float32 rows. */
export function fusedRows(base: RowSource, pair: AdapterPair, scale: number): RowSource {
  const [rows, columns] = base.shape;
  const rank = pair.a.shape[0];
  if (base.shape.length !== 2 || pair.b.shape[0] !== rows || pair.a.shape[1] !== columns) {
    throw new CheckpointError(
      `expected an adapter of [${base.shape}], found B·A of [${pair.b.shape[0]},${pair.a.shape[1]}]`,
    );
  }
  let factorA: Promise<Float32Array> | null = null;
  const read = async (first: number, count: number, into: Buffer) => {
    factorA ??= readAll(pair.a);
    const a = await factorA;
    const weights = Buffer.alloc(count * rowBytes(base.dtype, base.shape));
    await base.read(first, count, weights);
    const factorB = Buffer.alloc(count * rowBytes(pair.b.dtype, pair.b.shape));
    await pair.b.read(first, count, factorB);
    const b = toFloat32(factorB, pair.b.dtype);
    const out = new Float32Array(into.buffer, into.byteOffset, count * columns);
    toFloat32(weights, base.dtype, out);
    addScaledProduct(out, { a, b, rank, columns, scale });
  };
  return { dtype: "F32", shape: base.shape, read };
}

async function readAll(source: RowSource): Promise<Float32Array> {
  const rows = rowCount(source.shape);
  const bytes = Buffer.alloc(rows * rowBytes(source.dtype, source.shape));
  await source.read(0, rows, bytes);
  return toFloat32(bytes, source.dtype);
}

/** out[i, j] += scale · Σ_k b[i, k] · a[k, j] */
function addScaledProduct(
  out: Float32Array,
  the: { a: Float32Array; b: Float32Array; rank: number; columns: number; scale: number },
): void {
  const { a, b, rank, columns, scale } = the;
  const sum = new Float32Array(columns);
  for (let row = 0; row * columns < out.length; row++) {
    sum.fill(0);
    for (let k = 0; k < rank; k++) {
      const factor = b[row * rank + k];
      const from = k * columns;
      for (let j = 0; j < columns; j++) sum[j] += factor * a[from + j];
    }
    const to = row * columns;
    for (let j = 0; j < columns; j++) out[to + j] += scale * sum[j];
  }
}

/** The adapter under the names and with the config that PEFT loads. */
export function adapterFiles(
  { base, pairs }: SplitCheckpoint,
  { scaling, baseModel }: { scaling: AdapterConfig; baseModel: string | null },
): { tensors: NamedSource[]; config: Record<string, unknown> } {
  const tensors = [...pairs].flatMap(([weight, { a, b }]) => {
    const module = `${PREFIX}${moduleOf(weight)}`;
    return [
      { ...a, name: `${module}.lora_A.weight` },
      { ...b, name: `${module}.lora_B.weight` },
    ];
  });
  const targets = targetModules(base, pairs);
  const config = { ...peftConfig(scaling, { targets, baseModel }), modules_to_save: null };
  return { tensors, config };
}

/** Short names where every layer of that name has an adapter, else full ones. */
function targetModules(base: NamedSource[], pairs: SplitCheckpoint["pairs"]): string[] {
  const shortName = (weight: string) => weight.split(".").at(-2) as string;
  const bare = base.filter(({ name }) => name.endsWith(".weight") && !pairs.has(name));
  const partial = new Set(bare.map(({ name }) => shortName(name)));
  const names = [...pairs.keys()].map((weight) =>
    partial.has(shortName(weight)) ? moduleOf(weight) : shortName(weight),
  );
  return [...new Set(names)].sort();
}
