/** The memory a run needs: estimated, measured in processes of their own, refused, and lowered. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigError } from "../../src/core/errors.js";
import type { MemoryEstimate } from "../../src/train/memory.js";
import { train } from "../../src/train/train.js";
import { ArithmeticVerifier, TINY_GRPO, metricsOf, tinyRun, writeFixture } from "./fixture.js";

const CHILD = fileURLToPath(new URL("./memory-child.ts", import.meta.url));
const A = "actor_rollout_ref.";
const CHECKPOINTING = [true, false].map((on) => [
  `${A}model.enable_gradient_checkpointing=${on}`,
  `critic.model.enable_gradient_checkpointing=${on}`,
]);
let root: string;
let fixture: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "rlvr-memory-"));
  fixture = join(root, "fixture");
  await writeFixture(fixture, 1, {
    hiddenSize: 64,
    intermediateSize: 192,
    layers: 4,
    heads: 4,
    kvHeads: 4,
    headSize: 16,
    // Completions go to their full length.
    eosTokenIds: [1],
  });
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** One large mini-batch, whose activations outweigh the process itself. */
const LARGE = [
  "data.train_batch_size=24",
  "data.max_response_length=48",
  `${A}actor.ppo_mini_batch_size=24`,
  `${A}rollout.n=4`,
  "embedded.threads=2",
];

const CASES: Record<string, string[]> = {
  PPO: CHECKPOINTING[1],
  "PPO with checkpointing": CHECKPOINTING[0],
  "micro-batches": [...CHECKPOINTING[1], `${A}actor.ppo_micro_batch_size_per_gpu=24`],
  "micro-batches by tokens": [
    ...CHECKPOINTING[1],
    `${A}actor.use_dynamic_bsz=true`,
    `${A}actor.ppo_max_token_len_per_gpu=2048`,
  ],
  GRPO: [...CHECKPOINTING[1], ...TINY_GRPO],
  LoRA: [...CHECKPOINTING[1], `${A}model.lora_rank=8`, ...TINY_GRPO],
};

describe.skipIf(!existsSync("/proc/self/status"))("the estimate", () => {
  test.each(Object.entries(CASES))(
    "is within a fifth of the peak: %s",
    async (name, overrides) => {
      const out = join(root, name.replaceAll(" ", "-"));
      const args = ["--import", "tsx", CHILD, fixture, out, ...LARGE, ...overrides];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const { estimate, peak } = JSON.parse(stdout) as { estimate: MemoryEstimate; peak: number };
      const text = estimate.parts.map(({ what, bytes }) => `${what} ${Math.round(bytes / 1e6)}`);
      console.info(
        `${name}: ${Math.round(estimate.bytes / 1e6)} MB estimated, ${Math.round(peak / 1e6)} MB seen (${text.join(", ")})`,
      );
      expect(estimate.bytes / peak).toBeGreaterThan(0.8);
      expect(estimate.bytes / peak).toBeLessThan(1.2);
    },
    240_000,
  );
});

describe("a run that cannot fit", () => {
  test("is refused before it writes anything, with the keys that lower its need", async () => {
    const out = join(root, "refused");
    const run = tinyRun(fixture, out, [...CHECKPOINTING[1], "embedded.memory_mb=100"]);
    const refusal = train(run, { verifier: new ArithmeticVerifier() });
    await expect(refusal).rejects.toThrow(ConfigError);
    await expect(refusal).rejects.toThrow(
      /needs about 0\.\d\d GB, embedded\.memory_mb allows 0\.10 GB .*ppo_micro_batch_size_per_gpu.*enable_gradient_checkpointing=true.*critic\.model\.enable_gradient_checkpointing=true/,
    );
    expect(existsSync(out)).toBe(false);
  });
});

describe("gradient checkpointing", () => {
  test("leaves the same run, and is expected to need less memory", async () => {
    const runs: { metrics: unknown; activations: MemoryEstimate["parts"] }[] = [];
    for (const [i, overrides] of CHECKPOINTING.entries()) {
      const out = join(root, `checkpointing-${i}`);
      let parts: MemoryEstimate["parts"] = [];
      await train(tinyRun(fixture, out, overrides), {
        verifier: new ArithmeticVerifier(),
        onEvent: (event) => {
          if (event.kind === "memory") ({ parts } = event.estimate);
        },
      });
      const activations = parts.filter(({ what }) => what.startsWith("activations"));
      runs.push({ metrics: await metricsOf(out), activations });
    }
    expect(runs[0].metrics).toEqual(runs[1].metrics);
    expect(runs[0].activations.length).toBe(2);
    runs[0].activations.forEach(({ bytes }, i) => {
      expect(bytes).toBeLessThan(0.7 * runs[1].activations[i].bytes);
    });
  }, 60_000);
});
