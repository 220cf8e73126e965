/**
 * Finds what to merge from the path that the user gave, and what lies beside the weights.
 *
 *     DIR/latest_checkpointed_iteration.txt   a trainer's checkpoint folder: its newest step
 *     DIR/actor/  DIR/critic/                 one step (`global_step_20`, `global_steps_20`)
 *     DIR/model_world_size_4_rank_0.pt …      one role's shards
 *     DIR/model.safetensors or its index      a model directory, e.g. of our own checkpoints
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { CheckpointError } from "../core/errors.js";
import { readTextOrNull } from "../core/read.js";
import { type AdapterConfig, plainAdapter, readAdapterConfig } from "../model/adapter-config.js";

/** Shards of a distributed trainer. */
export interface ShardFolder {
  kind: "shards";
  dir: string;
  worldSize: number;
  /** [worldSize] Paths of the model shards, by rank. */
  shards: string[];
  /** Folder with config.json and the tokenizer; null where the checkpoint has none. */
  huggingface: string | null;
  /** Rank and strength of the adapter, where the trainer wrote them. */
  lora: AdapterConfig | null;
}

/** A model directory in Hugging Face's layout: weights, an adapter of PEFT, or both. */
export interface ModelFolder {
  kind: "model";
  dir: string;
  hasWeights: boolean;
  hasAdapter: boolean;
  huggingface: string | null;
  lora: ShardFolder["lora"];
}

const SHARD_NAME = /^model_world_size_(\d+)_rank_(\d+)\.pt$/;
const WEIGHT_NAMES = ["model.safetensors", "model.safetensors.index.json"];
const ADAPTER_NAME = "adapter_model.safetensors";

/**
 * Finds the checkpoint at a path.
 *
 * @throws {CheckpointError} if there is none, or its shards are incomplete or of two world sizes.
 */
export async function locateCheckpoint(path: string): Promise<ShardFolder | ModelFolder> {
  const names = await listNames(path);
  if (names.some((name) => SHARD_NAME.test(name))) return describeShards(path, names);
  if (names.includes("latest_checkpointed_iteration.txt")) {
    const step = (await readFile(join(path, "latest_checkpointed_iteration.txt"), "utf8")).trim();
    const folder = names.find((name) => new RegExp(`^global_steps?_${step}$`).test(name));
    if (folder !== undefined) return locateCheckpoint(join(path, folder));
    throw new CheckpointError(
      `${path}: the newest step is ${step}, but there is no global_step_${step} in it`,
    );
  }
  if (names.includes("latest")) {
    return locateCheckpoint(join(path, (await readFile(join(path, "latest"), "utf8")).trim()));
  }
  for (const inner of ["actor", "policy", "checkpoints"]) {
    if (names.includes(inner)) return locateCheckpoint(join(path, inner));
  }
  const hasWeights = WEIGHT_NAMES.some((name) => names.includes(name));
  const hasAdapter = names.includes(ADAPTER_NAME);
  if (hasWeights || hasAdapter) {
    return {
      kind: "model",
      dir: path,
      hasWeights,
      hasAdapter,
      huggingface: names.includes("config.json") ? path : null,
      lora: await readAdapterConfig(path),
    };
  }
  throw new CheckpointError(
    `${path}: expected a checkpoint (a global_step_N folder, its actor or critic folder, or a ` +
      `model directory), found ${names.slice(0, 5).join(", ") || "an empty folder"}`,
  );
}

async function listNames(path: string): Promise<string[]> {
  try {
    return (await readdir(path)).sort();
  } catch (cause) {
    throw new CheckpointError(`${path}: expected a checkpoint folder, found none`, { cause });
  }
}

async function describeShards(dir: string, names: string[]): Promise<ShardFolder> {
  const found = names.flatMap((name) => {
    const match = SHARD_NAME.exec(name);
    return match === null ? [] : [{ name, worldSize: Number(match[1]), rank: Number(match[2]) }];
  });
  const sizes = [...new Set(found.map((shard) => shard.worldSize))];
  if (sizes.length > 1) {
    throw new CheckpointError(
      `${dir}: shards of different world sizes are mixed: ${sizes.join(" and ")}; ` +
        "move those of the other run away",
    );
  }
  const worldSize = sizes[0];
  const recorded = await readJson(join(dir, "fsdp_config.json"), fsdpConfigSchema);
  if (recorded !== null && recorded.world_size !== worldSize) {
    throw new CheckpointError(
      `${dir}: fsdp_config.json says world size ${recorded.world_size}, the shards say ${worldSize}`,
    );
  }
  const ranks = new Map(found.map((shard) => [shard.rank, shard.name]));
  const missing = Array.from({ length: worldSize }, (_, rank) => rank).filter(
    (rank) => !ranks.has(rank),
  );
  if (missing.length > 0) {
    throw new CheckpointError(
      `${dir}: missing rank ${missing.join(", ")} of ${worldSize}: expected ` +
        `model_world_size_${worldSize}_rank_${missing[0]}.pt; copy it from the node that wrote it`,
    );
  }
  const huggingface = join(dir, "huggingface");
  return {
    kind: "shards",
    dir,
    worldSize,
    shards: Array.from({ length: worldSize }, (_, rank) => join(dir, ranks.get(rank) as string)),
    huggingface: (await isFile(join(huggingface, "config.json"))) ? huggingface : null,
    lora: await readLoraMeta(dir),
  };
}

const fsdpConfigSchema = z.looseObject({ world_size: z.number().int().positive() });
const trainMetaSchema = z.looseObject({ r: z.number(), lora_alpha: z.number() });

/**
 * Newer trainers write lora_train_meta.json, older ones a whole adapter beside the shards. Where
 * both are there, the adapter tells the rule of its scale; its alpha may be an unset 0.
 */
async function readLoraMeta(dir: string): Promise<AdapterConfig | null> {
  const meta = await readJson(join(dir, "lora_train_meta.json"), trainMetaSchema);
  const adapter = await readAdapterConfig(join(dir, "lora_adapter"));
  if (meta === null) return adapter;
  const { r: rank, lora_alpha: alpha } = meta;
  return { ...(adapter ?? plainAdapter(rank, alpha)), rank, alpha };
}

/** Reads a JSON file; null where there is none. */
async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await readTextOrNull(path);
  if (text === null) return null;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new CheckpointError(`${basename(path)}: expected its usual fields (${path})`, { cause });
  }
}

/** True when the path is a file. */
export async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
