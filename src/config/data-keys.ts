/** The group `data`: which problems, how many a step, how long. Names and defaults are veRL's. */
import { z } from "zod";
import { EMBEDDED, VERL, group, key } from "./key.js";

const files = z.union([z.string(), z.array(z.string()).min(1)]).nullable();
const count = z.number().int().positive();
/** veRL's `-1` for "all". */
const sampleLimit = z.union([count, z.literal(-1)]).default(-1);

/** The group `data`. */
export const dataKeys = group({
  train_files: key(files.default(null), {
    doc: "Problem JSONL file or files to train on, as `rlvr prepare` writes them.",
  }),
  val_files: key(files.default(null), {
    doc: "Problem JSONL file or files to validate on; null switches validation off.",
  }),
  train_batch_size: key(count.default(1024), {
    doc: "Prompts per step, before `rollout.n` copies of each.",
    unit: "prompts",
  }),
  max_prompt_length: key(count.default(512), {
    doc: "Longest prompt, chat template included.",
    unit: "tokens",
  }),
  max_response_length: key(count.default(512), {
    doc: "Most tokens sampled per completion; one that reaches it is truncated.",
    unit: "tokens",
  }),
  filter_overlong_prompts: key(z.boolean().default(false), {
    doc: "Drop problems whose prompt is over `max_prompt_length`; off, such a problem is an error.",
  }),
  filter_overlong_prompts_workers: key(count.default(1), {
    doc: "Processes that tokenize for that filter.",
    engines: VERL,
  }),
  truncation: key(z.enum(["error", "left", "right", "middle"]).default("error"), {
    doc: "What to do with an over-long prompt that was not filtered.",
    embeddedOnly: ["error"],
  }),
  shuffle: key(z.boolean().default(true), {
    doc: "Shuffle the problems anew each epoch; off, they come in file order.",
  }),
  seed: key(z.number().int().nullable().default(null), {
    doc: "Seed of the data order and of a sampled subset; null takes the run's `seed`.",
  }),
  train_max_samples: key(sampleLimit, {
    doc: "Train on so many problems: a seeded subset, the first ones when `shuffle` is off; -1 means all.",
    unit: "problems",
  }),
  val_max_samples: key(sampleLimit, {
    doc: "Validate on so many problems: a seeded subset, the first ones when `shuffle` is off; -1 means all.",
    unit: "problems",
  }),
  gen_batch_size: key(count.nullable().default(null), {
    doc: "Prompts fetched from the data at a time.",
    engines: VERL,
  }),
  val_batch_size: key(count.nullable().default(null), {
    doc: "Prompts validated at a time; null takes all at once.",
    engines: VERL,
  }),
  validation_shuffle: key(z.boolean().default(false), {
    doc: "Shuffle the validation problems.",
    engines: VERL,
  }),
  dataloader_num_workers: key(z.number().int().nonnegative().default(8), {
    doc: "Processes that load data.",
    engines: VERL,
  }),
  trust_remote_code: key(z.boolean().default(false), {
    doc: "Let a tokenizer bring its own code.",
    engines: VERL,
  }),
});

/** The group `verifier`: how programs are judged. Ours; both engines judge by it. */
export const verifierKeys = group({
  workers: key(count.nullable().default(null), {
    doc: "Sandbox servers that run programs; null takes one per processor core.",
  }),
  time_limit_ms: key(count.default(5000), {
    doc: "Processor time per test; a problem's own limit comes first.",
    unit: "ms",
  }),
  wall_limit_ms: key(count.nullable().default(null), {
    doc: "Time on the wall per test; null takes three times `time_limit_ms`.",
    unit: "ms",
  }),
  memory_limit_mb: key(count.default(512), { doc: "Memory per program.", unit: "MiB" }),
  output_limit_kb: key(count.default(16_384), {
    doc: "Most standard output kept per test; one byte more ends the program.",
    unit: "KiB",
  }),
  early_stop: key(z.boolean().default(false), {
    doc: "Stop a program at its first failed test; the tests left out count as failed.",
  }),
  max_tests: key(count.nullable().default(null), {
    doc: "Most tests per problem in training, a sample seeded by the problem; validation runs all.",
    unit: "tests",
  }),
  require_isolation: key(z.enum(["none", "basic", "full"]).default("none"), {
    doc: "Refuse to start when the sandbox holds programs less strongly than this.",
  }),
  retries: key(z.number().int().nonnegative().default(2), {
    doc: "Times a failure of the sandbox itself is retried before the rollout is dropped.",
  }),
  urls: key(z.array(z.url()).default([]), {
    doc: "Verify services that the reward function calls; empty starts one beside the job.",
    engines: VERL,
  }),
});

/** The group `reward`: verdicts to a number. Names below `reward_kwargs` and the file are veRL's. */
export const rewardKeys = group({
  kind: key(z.enum(["pass_rate", "all_or_nothing", "tiered"]).default("pass_rate"), {
    doc: "Pay the share of tests passed, or 1 for all and else 0, or weighted tiers.",
  }),
  weights: group({
    format: key(z.number().min(0).default(0.1), {
      doc: "Tier paid for a proper code block; used by `tiered`.",
    }),
    compile: key(z.number().min(0).default(0.1), {
      doc: "Tier paid for a program that compiles; used by `tiered`.",
    }),
    tests: key(z.number().positive().default(0.8), {
      doc: "Tier paid by the share of tests passed; used by `tiered`.",
    }),
  }),
  shuffle: key(z.boolean().default(false), {
    doc: "Deal the rewards of a step out at random among its completions: a control from which nothing can be learnt.",
    engines: EMBEDDED,
  }),
  missing_eos_penalty: key(z.number().nonnegative().nullable().default(null), {
    doc: "Subtracted from the reward of a truncated completion; null subtracts nothing.",
    engines: EMBEDDED,
  }),
  reward_kwargs: group({
    max_resp_len: key(count.nullable().default(null), {
      doc: "Length limit that the overlong penalty is measured from; null takes `data.max_response_length`.",
      unit: "tokens",
    }),
    overlong_buffer_cfg: group({
      enable: key(z.boolean().default(false), {
        doc: "Lower the reward linearly in the last tokens before the length limit (DAPO).",
      }),
      len: key(count.default(4096), { doc: "Width of that zone.", unit: "tokens" }),
      penalty_factor: key(z.number().nonnegative().default(1), {
        doc: "Penalty at the length limit itself.",
      }),
    }),
  }),
  num_workers: key(count.default(8), { doc: "Processes that compute rewards.", engines: VERL }),
  custom_reward_function: group({
    path: key(z.string().nullable().default(null), {
      doc: "File of your own reward: TypeScript or JavaScript, or Python for veRL alone. Null pays by `reward.kind`.",
    }),
    name: key(z.string().default("compute_score"), {
      doc: "Function in that file; `compute_score` finds `computeScore` as well.",
    }),
  }),
  reward_manager: group({
    name: key(z.enum(["naive", "dapo", "gdpo", "rate_limited", "remote"]).default("naive"), {
      doc: "veRL's reward manager.",
      engines: VERL,
    }),
  }),
});
