/** A run small enough for tests: a random model of a few thousand parameters and a judge made of arithmetic. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ResolvedConfig, resolveConfig } from "../../src/config/resolve.js";
import { SandboxError } from "../../src/core/errors.js";
import { randomStream } from "../../src/core/random.js";
import { type MetricsRecord, readLines, runPaths } from "../../src/core/run.js";
import type { ModelConfig } from "../../src/model/config.js";
import { initialParameters } from "../../src/model/parameters.js";
import { loadModel, saveModel } from "../../src/model/weights.js";
import type { Verifier, VerifyRequest, VerifyResult } from "../../src/verify/verify.js";

const STARTER = fileURLToPath(new URL("../../starter/", import.meta.url));

/** Writes a tiny model and 24 training and 8 validation problems into `dir`; `sizes` makes it larger. */
export async function writeFixture(
  dir: string,
  seed = 1,
  sizes: Partial<ModelConfig> = {},
): Promise<void> {
  const { config, tokenizer } = await loadModel(join(STARTER, "model"));
  const tiny = {
    ...config,
    hiddenSize: 16,
    intermediateSize: 32,
    layers: 1,
    heads: 2,
    kvHeads: 2,
    headSize: 8,
    // A random model ends rarely; with many end tokens about one in eight ends it.
    eosTokenIds: [1, ...Array.from({ length: 120 }, (_, i) => 300 + 6 * i)],
    ...sizes,
  };
  const parameters = initialParameters(tiny, randomStream(seed, "fixture"), 0.3);
  await mkdir(join(dir, "model"), { recursive: true });
  await saveModel(join(dir, "model"), { config: tiny, parameters, tokenizer }, { dtype: "F32" });
  const text = await readFile(join(STARTER, "data", "train.jsonl"), "utf8");
  const lines = text.split("\n").filter((line) => line !== "");
  await writeFile(join(dir, "train.jsonl"), lines.slice(0, 24).join("\n") + "\n");
  await writeFile(join(dir, "val.jsonl"), lines.slice(100, 108).join("\n") + "\n");
}

/** The overrides of a tiny run; later ones win. */
export function tinyOverrides(fixture: string, out: string): string[] {
  return [
    `data.train_files=${join(fixture, "train.jsonl")}`,
    `data.val_files=${join(fixture, "val.jsonl")}`,
    `actor_rollout_ref.model.path=${join(fixture, "model")}`,
    `trainer.default_local_dir=${out}`,
    "data.train_batch_size=8",
    "data.max_response_length=12",
    "data.max_prompt_length=256",
    "actor_rollout_ref.actor.ppo_mini_batch_size=4",
    "actor_rollout_ref.actor.optim.lr=1e-3",
    "critic.optim.lr=1e-3",
    "algorithm.use_kl_in_reward=true",
    "health.preflight_samples=0",
    "embedded.threads=1",
    "trainer.total_training_steps=2",
  ];
}

/** A resolved tiny run. */
export function tinyRun(fixture: string, out: string, overrides: string[] = []): ResolvedConfig {
  return resolveConfig({ overrides: [...tinyOverrides(fixture, out), ...overrides] });
}

/** The overrides that turn a tiny run into GRPO. */
export const TINY_GRPO = [
  "algorithm.adv_estimator=grpo",
  "actor_rollout_ref.rollout.n=4",
  "actor_rollout_ref.actor.use_kl_loss=true",
  "algorithm.use_kl_in_reward=false",
];

/** Judges by arithmetic on the text, so that tests need no sandbox; `rule` may answer otherwise. */
export class ArithmeticVerifier implements Verifier {
  readonly level = "none";
  readonly requests: VerifyRequest[] = [];
  readonly #rule: (request: VerifyRequest, calls: number) => Partial<VerifyResult> | "infra_error";

  constructor(
    rule: (
      request: VerifyRequest,
      calls: number,
    ) => Partial<VerifyResult> | "infra_error" = () => ({}),
  ) {
    this.#rule = rule;
  }

  async verify(request: VerifyRequest): Promise<VerifyResult> {
    this.requests.push(request);
    const { completion, problem } = request;
    const sum = [...completion].reduce((total, char) => total + char.charCodeAt(0), 0);
    const changed = this.#rule(request, this.requests.length);
    if (changed === "infra_error") throw new SandboxError("the judge is out of order");
    const passRate = changed.passRate ?? (sum % 5) / 4;
    const verdict = passRate === 1 ? "accepted" : "wrong_answer";
    const format = sum % 2 === 0;
    return {
      problemId: problem.id,
      extraction: { program: completion, format, reason: format ? "block" : "no_block" },
      tests: [],
      totalTests: 4,
      passRate,
      verdict,
      fault: null,
      isReused: false,
      reward: passRate,
      trust: "strong",
      ...changed,
    };
  }

  async close(): Promise<void> {}
}

/** Metrics that are measurements of time, and so differ between equal runs. */
const TIMES = /^(timing_s|timing_per_token_ms)\/|^perf\/(time_per_step|throughput)$/;

/** The metrics of a run without its times. */
export async function metricsOf(dir: string): Promise<Omit<MetricsRecord, "time">[]> {
  const records = await readLines<MetricsRecord>(runPaths(dir).metrics);
  return records.map(({ step, phase, metrics }) => ({
    step,
    phase,
    metrics: Object.fromEntries(Object.entries(metrics).filter(([name]) => !TIMES.test(name))),
  }));
}
