/**
 * No silent no-ops: changing any key that the embedded engine takes changes something that a run
 * leaves, or is refused by name. (That keys of the other engine are refused is tested beside the
 * config.)
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { usesKey } from "../../src/config/resolve.js";
import { CONFIG_KEYS } from "../../src/config/schema.js";
import { engineThreads, verifierSettings } from "../../src/config/settings.js";
import { readLines, runPaths } from "../../src/core/run.js";
import { listCheckpoints } from "../../src/train/checkpoint.js";
import { runDirectory, train } from "../../src/train/train.js";
import { loadCustomReward, withCustomReward } from "../../src/verify/custom-reward.js";
import { ArithmeticVerifier, TINY_GRPO, metricsOf, tinyRun, writeFixture } from "./fixture.js";

let root: string;
let fixture: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "rlvr-keys-"));
  fixture = join(root, "fixture");
  await writeFixture(fixture);
  const paths = { second: join(root, "second"), reward: join(root, "reward.js") };
  await writeFixture(paths.second, 2);
  const lines = (await readFile(join(fixture, "train.jsonl"), "utf8")).trim().split("\n");
  await writeFile(join(root, "other.jsonl"), lines.slice(4).join("\n") + "\n");
  await writeFile(
    paths.reward,
    "export const compute_score = ({ result }) => result.passRate / 2;\n" +
      "export const other = ({ result }) => result.passRate / 4;\n",
  );
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** What a key is changed to, and what must be set beside it for the key to matter. */
interface Change {
  to: string;
  given?: string[];
}

const A = "actor_rollout_ref.actor.";
const R = "actor_rollout_ref.rollout.";
const WARM = ["trainer.total_training_steps=3"];
const cosine = (group: string) => [...WARM, `${group}optim.lr_scheduler_type=cosine`];
const KL_LOSS = [`${A}use_kl_loss=true`, `${A}kl_loss_coef=0.5`, `${A}ppo_epochs=2`];
const CLIPPED = [`${A}ppo_epochs=3`, `${A}optim.lr=0.02`];
const ADAPTIVE = ["algorithm.kl_ctrl.type=adaptive", "algorithm.kl_ctrl.horizon=50", ...WARM];
const FILTER = [...TINY_GRPO, "algorithm.filter_groups.enable=true", `${R}n=2`];
const OVERLONG = [
  "reward.reward_kwargs.overlong_buffer_cfg.enable=true",
  "reward.reward_kwargs.overlong_buffer_cfg.len=8",
];
const LORA = ["actor_rollout_ref.model.lora_rank=2"];
const EVERY = ["trainer.save_freq=1", "trainer.test_freq=1", ...WARM];
const DYNAMIC = [`${A}use_dynamic_bsz=true`];

/** Keys whose effect shows in what a run leaves. */
const RUN_KEYS: Record<string, Change> = {
  seed: { to: "7" },
  "data.train_files": { to: "$root/other.jsonl" },
  "data.val_files": { to: "$root/other.jsonl" },
  "data.train_batch_size": { to: "4" },
  "data.max_prompt_length": { to: "8" },
  "data.max_response_length": { to: "6" },
  "data.filter_overlong_prompts": { to: "true", given: ["data.max_prompt_length=24"] },
  "data.shuffle": { to: "false" },
  "data.seed": { to: "7" },
  "data.train_max_samples": { to: "16" },
  "data.val_max_samples": { to: "3" },
  "actor_rollout_ref.model.path": { to: "$root/second/model" },
  "actor_rollout_ref.model.lora_rank": { to: "2" },
  "actor_rollout_ref.model.lora_alpha": { to: "64", given: LORA },
  "actor_rollout_ref.model.target_modules": { to: "[q_proj]", given: LORA },
  [`${A}ppo_mini_batch_size`]: { to: "8" },
  [`${A}ppo_micro_batch_size_per_gpu`]: { to: "1" },
  [`${A}use_dynamic_bsz`]: { to: "true", given: [`${A}ppo_max_token_len_per_gpu=64`] },
  [`${A}ppo_max_token_len_per_gpu`]: { to: "64", given: DYNAMIC },
  [`${A}ppo_epochs`]: { to: "2" },
  [`${A}shuffle`]: { to: "true" },
  [`${A}data_loader_seed`]: { to: "7", given: [`${A}shuffle=true`] },
  [`${A}clip_ratio`]: { to: "0.01", given: CLIPPED },
  [`${A}clip_ratio_low`]: { to: "0.01", given: CLIPPED },
  [`${A}clip_ratio_high`]: { to: "0.01", given: CLIPPED },
  [`${A}clip_ratio_c`]: { to: "1.01", given: CLIPPED },
  [`${A}loss_agg_mode`]: { to: "seq-mean-token-mean" },
  [`${A}loss_scale_factor`]: { to: "100", given: [`${A}loss_agg_mode=seq-mean-token-sum-norm`] },
  [`${A}policy_loss.loss_mode`]: { to: "gspo", given: CLIPPED },
  [`${A}entropy_coeff`]: { to: "0.1" },
  [`${A}use_kl_loss`]: { to: "true" },
  [`${A}kl_loss_coef`]: { to: "0.9", given: KL_LOSS },
  [`${A}kl_loss_type`]: { to: "k2", given: KL_LOSS },
  [`${A}grad_clip`]: { to: "0.001" },
  [`${A}optim.lr`]: { to: "2e-3" },
  [`${A}optim.lr_warmup_steps`]: { to: "2", given: WARM },
  [`${A}optim.lr_warmup_steps_ratio`]: { to: "0.7", given: WARM },
  [`${A}optim.lr_scheduler_type`]: { to: "linear", given: WARM },
  [`${A}optim.min_lr_ratio`]: { to: "0.5", given: cosine(A) },
  [`${A}optim.num_cycles`]: { to: "1.5", given: cosine(A) },
  [`${A}optim.weight_decay`]: { to: "0.5" },
  [`${A}optim.betas`]: { to: "[0.5,0.9]" },
  [`${R}n`]: { to: "2" },
  [`${R}temperature`]: { to: "0.5" },
  [`${R}top_p`]: { to: "0.5" },
  [`${R}top_k`]: { to: "3" },
  [`${R}val_kwargs.temperature`]: { to: "1" },
  [`${R}val_kwargs.top_p`]: { to: "0.3", given: [`${R}val_kwargs.temperature=1`] },
  [`${R}val_kwargs.top_k`]: { to: "2", given: [`${R}val_kwargs.temperature=1`] },
  [`${R}val_kwargs.n`]: { to: "2", given: [`${R}val_kwargs.temperature=1`] },
  "critic.enable": { to: "false" },
  "critic.model.path": { to: "$root/second/model" },
  "critic.ppo_mini_batch_size": { to: "8" },
  "critic.ppo_micro_batch_size_per_gpu": { to: "1" },
  "critic.ppo_max_token_len_per_gpu": { to: "32", given: DYNAMIC },
  "critic.ppo_epochs": { to: "3" },
  "critic.cliprange_value": { to: "0.001", given: ["critic.ppo_epochs=3", "critic.optim.lr=0.05"] },
  "critic.loss_agg_mode": { to: "seq-mean-token-sum" },
  "critic.grad_clip": { to: "0.001" },
  "critic.optim.lr": { to: "2e-3" },
  "critic.optim.lr_warmup_steps": { to: "2", given: WARM },
  "critic.optim.lr_warmup_steps_ratio": { to: "0.7", given: WARM },
  "critic.optim.lr_scheduler_type": { to: "linear", given: WARM },
  "critic.optim.min_lr_ratio": { to: "0.5", given: cosine("critic.") },
  "critic.optim.num_cycles": { to: "1.5", given: cosine("critic.") },
  "critic.optim.weight_decay": { to: "0.5" },
  "critic.optim.betas": { to: "[0.5,0.9]" },
  "algorithm.adv_estimator": { to: "reinforce_plus_plus" },
  "algorithm.gamma": { to: "0.8" },
  "algorithm.lam": { to: "0.5", given: WARM },
  "algorithm.norm_adv_by_std_in_grpo": { to: "false", given: TINY_GRPO },
  "algorithm.use_kl_in_reward": { to: "false", given: WARM },
  "algorithm.kl_penalty": { to: "k2", given: ["algorithm.kl_ctrl.kl_coef=0.5", ...WARM] },
  "algorithm.kl_ctrl.type": { to: "adaptive", given: WARM },
  "algorithm.kl_ctrl.kl_coef": { to: "0.5", given: WARM },
  "algorithm.kl_ctrl.horizon": { to: "20", given: ADAPTIVE },
  "algorithm.kl_ctrl.target_kl": {
    to: "100",
    given: ["algorithm.kl_ctrl.kl_coef=0.5", ...ADAPTIVE, `${A}optim.lr=0.02`],
  },
  "algorithm.filter_groups.enable": { to: "true", given: [...TINY_GRPO, `${R}n=2`] },
  "algorithm.filter_groups.metric": { to: "acc", given: FILTER },
  "algorithm.filter_groups.max_num_gen_batches": { to: "1", given: FILTER },
  "algorithm.mask_truncated": { to: "true" },
  "reward.shuffle": { to: "true" },
  "reward.missing_eos_penalty": { to: "0.5" },
  "reward.reward_kwargs.max_resp_len": { to: "10", given: OVERLONG },
  "reward.reward_kwargs.overlong_buffer_cfg.enable": { to: "true", given: [OVERLONG[1]] },
  "reward.reward_kwargs.overlong_buffer_cfg.len": { to: "4", given: OVERLONG },
  "reward.reward_kwargs.overlong_buffer_cfg.penalty_factor": { to: "0.3", given: OVERLONG },
  "reward.custom_reward_function.path": { to: "$root/reward.js" },
  "reward.custom_reward_function.name": {
    to: "other",
    given: ["reward.custom_reward_function.path=$root/reward.js"],
  },
  "trainer.total_epochs": {
    to: "2",
    given: ["trainer.total_training_steps=null", "trainer.total_epochs=1"],
  },
  "trainer.total_training_steps": { to: "3" },
  "trainer.experiment_name": { to: "another" },
  "trainer.logger": { to: "[tensorboard]" },
  "trainer.save_freq": { to: "1" },
  "trainer.test_freq": { to: "1" },
  "trainer.val_before_train": { to: "false" },
  "trainer.log_val_generations": { to: "2" },
  "trainer.critic_warmup": { to: "1" },
  "trainer.max_actor_ckpt_to_keep": { to: "1", given: EVERY },
  "embedded.memory_mb": { to: "1" },
  "health.enable": { to: "false", given: [`${R}top_p=0.2`, `${A}optim.lr=0.3`, ...WARM] },
  "health.repeat_every": { to: "1", given: [`${A}optim.lr=0.3`, "trainer.total_training_steps=6"] },
  "health.preflight_samples": { to: "8" },
  "health.stop_on": { to: "[]", given: [`${A}optim.lr=1e30`] },
};

/** Keys whose effect shows elsewhere; each has a test of its own below or in the file named. */
const ELSEWHERE: Record<string, string> = {
  engine: "resolve.test.ts: the other engine's keys are refused by it",
  "trainer.default_local_dir": "below",
  "trainer.resume_mode": "resume.test.ts: disable refuses to write over a run",
  "trainer.resume_from_path": "below",
  "embedded.threads": "below",
  "actor_rollout_ref.model.enable_gradient_checkpointing":
    "memory.test.ts: the same run in less memory",
  "critic.model.enable_gradient_checkpointing": "memory.test.ts: the same run in less memory",
  "reward.kind": "verifier-keys.test.ts",
  "reward.weights.format": "verifier-keys.test.ts",
  "reward.weights.compile": "verifier-keys.test.ts",
  "reward.weights.tests": "verifier-keys.test.ts",
  ...Object.fromEntries(
    CONFIG_KEYS.filter(
      ({ path, engines }) => path.startsWith("verifier.") && engines === undefined,
    ).map(({ path }) => [path, "verifier-keys.test.ts"]),
  ),
};

/** Everything a run leaves, as one text: metrics without times, rollouts, checkpoints, folders. */
async function trace(overrides: string[]): Promise<string> {
  const dir = await mkdtemp(join(root, "run-"));
  const words = overrides.map((word) => word.replace("$root", root));
  const resolved = tinyRun(fixture, dir, words);
  const notices: string[] = [];
  const { path, name } = resolved.config.reward.custom_reward_function;
  const arithmetic = new ArithmeticVerifier();
  const verifier =
    path === null ? arithmetic : withCustomReward(arithmetic, await loadCustomReward(path, name));
  const failure = await train(resolved, {
    verifier,
    onEvent: (event) => {
      // That a key does nothing is no effect of it.
      if (event.kind === "notice" && !event.message.includes("has no effect")) {
        notices.push(event.message);
      }
    },
  }).then(
    () => null,
    (error: Error) => error.message.replaceAll(dir, ""),
  );
  const paths = runPaths(dir);
  const health = existsSync(paths.health)
    ? (await readLines<Record<string, unknown>>(paths.health)).map(({ time: _, ...event }) => event)
    : [];
  return JSON.stringify({
    failure,
    notices,
    health,
    metrics: await metricsOf(dir),
    files: (await fileHashes(dir)).filter(([file]) =>
      /^(rollouts|validation|tensorboard)/.test(file),
    ),
    checkpoints: await listCheckpoints(dir),
    models: (await fileHashes(dir)).filter(([file]) => file.endsWith(".safetensors")),
    name: runDirectory(resolved).name,
  });
}

async function fileHashes(dir: string): Promise<[string, string][]> {
  const found: [string, string][] = [];
  // A run that is refused before its first step leaves no folder.
  if (!existsSync(dir)) return found;
  for (const file of (await readdir(dir, { recursive: true })).sort()) {
    if (!(await stat(join(dir, file))).isFile()) continue;
    const isTimed = file.startsWith("tensorboard");
    const bytes = isTimed ? "" : await readFile(join(dir, file));
    found.push([file, createHash("sha256").update(bytes).digest("hex")]);
  }
  return found;
}

const known = new Map<string, Promise<string>>();
const traceOnce = (overrides: string[]) => {
  const name = overrides.join(" ");
  const made = known.get(name) ?? trace(overrides);
  known.set(name, made);
  return made;
};

describe("a key of the embedded engine", () => {
  test("is in one of the tables here", () => {
    const keys = CONFIG_KEYS.filter((key) => usesKey(key, "embedded"))
      // A key that takes a single value is refused with any other, see resolve.test.ts.
      .filter(({ embeddedOnly }) => embeddedOnly?.length !== 1)
      .map(({ path }) => path);
    expect([...Object.keys(RUN_KEYS), ...Object.keys(ELSEWHERE)].sort()).toEqual(keys.sort());
  });

  test("leaves the same run when nothing is changed", async () => {
    expect(await trace([])).toBe(await traceOnce([]));
  });

  test.each(Object.entries(RUN_KEYS))("%s changes the run", async (key, { to, given = [] }) => {
    const before = await traceOnce(given);
    const change = await trace([...given, `${key}=${to}`]).catch(
      (error: Error) => `refused: ${error.message}`,
    );
    expect(change).not.toBe(before);
    // A refusal counts when it names the key, and so tells that it was read.
    if (change.startsWith("refused")) expect(change).toContain(key);
    else expect((JSON.parse(change) as { failure: string | null }).failure ?? key).toContain(key);
  });

  test("trainer.default_local_dir is where the run lies, trainer.resume_from_path where it goes on from", async () => {
    const [first, second] = [join(root, "first"), join(root, "fork")];
    await train(tinyRun(fixture, first), { verifier: new ArithmeticVerifier() });
    expect(existsSync(runPaths(first).metrics)).toBe(true);
    const fork = tinyRun(fixture, second, [
      "trainer.resume_mode=resume_path",
      `trainer.resume_from_path=${first}`,
      "trainer.total_training_steps=3",
    ]);
    const summary = await train(fork, { verifier: new ArithmeticVerifier() });
    expect(summary.step).toBe(3);
    expect((await metricsOf(second)).map(({ step }) => step)).toEqual([3, 3]);
  });

  test("embedded.threads is what the runtime is given", () => {
    const threads = (count: number) =>
      engineThreads(tinyRun(fixture, root, [`embedded.threads=${count}`]).config);
    expect([threads(1), threads(2)]).toEqual([1, 2]);
  });

  test("verifier.* and reward.* reach the verifier's settings", () => {
    const keys = Object.keys(ELSEWHERE).filter((key) => ELSEWHERE[key] === "verifier-keys.test.ts");
    const base = JSON.stringify(verifierSettings(tinyRun(fixture, root).config));
    const values: Record<string, string> = {
      "verifier.early_stop": "true",
      "verifier.require_isolation": "full",
      "reward.kind": "tiered",
      "reward.weights.format": "0.2",
      "reward.weights.compile": "0.2",
      "reward.weights.tests": "0.5",
    };
    for (const key of keys) {
      const { config } = tinyRun(fixture, root, [`${key}=${values[key] ?? "7"}`]);
      expect(JSON.stringify(verifierSettings(config)), key).not.toBe(base);
    }
  });
});
