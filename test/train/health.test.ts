/** Each health rule on a run made ill in its way, and silence on a healthy one. */
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resolveConfig } from "../../src/config/resolve.js";
import { verifierSettings } from "../../src/config/settings.js";
import { type HealthEvent, type MetricsRecord, readLines, runPaths } from "../../src/core/run.js";
import { HealthMonitor } from "../../src/train/health.js";
import { HEALTH_RULES } from "../../src/train/health-rules.js";
import { train } from "../../src/train/train.js";
import { loadCustomReward, withCustomReward } from "../../src/verify/custom-reward.js";
import { type Verifier, type VerifyRequest, createVerifier } from "../../src/verify/verify.js";
import { ArithmeticVerifier, TINY_GRPO, metricsOf, tinyRun, writeFixture } from "./fixture.js";

let root: string;
let fixture: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "rlvr-health-"));
  fixture = join(root, "fixture");
  await writeFixture(fixture);
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Runs a tiny run and answers what its health.jsonl holds, and the message it stopped with. */
async function eventsOf(verifier: Verifier, overrides: string[]) {
  const dir = await mkdtemp(join(root, "run-"));
  const stopped = await train(tinyRun(fixture, dir, overrides), { verifier }).then(
    () => null,
    (error: Error) => error.message,
  );
  return { events: await readLines<HealthEvent>(runPaths(dir).health), stopped, dir };
}

const rules = (events: HealthEvent[]) => [...new Set(events.map(({ rule }) => rule))];
const steps = (count: number) => `trainer.total_training_steps=${count}`;

describe("a run made ill", () => {
  test("by a learning rate a thousand times too high runs away from the reference", async () => {
    const overrides = [
      steps(8),
      "actor_rollout_ref.actor.optim.lr=1",
      "actor_rollout_ref.actor.ppo_epochs=2",
    ];
    const { events } = await eventsOf(new ArithmeticVerifier(), overrides);
    expect(rules(events)).toContain("kl");
  });

  test("by an entropy term of the wrong sign samples one answer and says so", async () => {
    const overrides = [
      steps(12),
      "actor_rollout_ref.actor.optim.lr=0.05",
      "actor_rollout_ref.actor.entropy_coeff=-1",
    ];
    const { events } = await eventsOf(new ArithmeticVerifier(), overrides);
    const collapse = events.find(({ rule }) => rule === "entropy_collapse");
    expect(collapse?.evidence).toMatch(/^entropy .* nats, .* at the start$/);
  });

  test("by a learning rate beyond all numbers stops on NaN", async () => {
    const overrides = [steps(4), "actor_rollout_ref.actor.optim.lr=1e30"];
    const { events, stopped } = await eventsOf(new ArithmeticVerifier(), overrides);
    expect(events.find(({ rule }) => rule === "nan")?.severity).toBe("fatal");
    expect(stopped).toContain("numbers are no longer finite");
  });

  test("by a reward that is always zero says that nothing passes, and stops where asked", async () => {
    const zero = () => new ArithmeticVerifier(() => ({ passRate: 0, reward: 0 }));
    const watched = await eventsOf(zero(), [steps(6)]);
    expect(rules(watched.events)).toContain("no_reward");
    expect(watched.stopped).toBeNull();
    const asked = await eventsOf(zero(), [steps(12), "health.stop_on=[dead_reward]"]);
    expect(asked.stopped).toContain("stopped at step 10: nothing passes");
  });

  test("by groups that all earn the same has no signal", async () => {
    const same = new ArithmeticVerifier(() => ({ passRate: 0.5, reward: 0.5 }));
    const { events } = await eventsOf(same, [steps(4), ...TINY_GRPO]);
    expect(rules(events)).toContain("zero_variance");
  });

  test("by answers longer than the limit is truncated", async () => {
    const overrides = [steps(4), "data.max_response_length=3"];
    const { events } = await eventsOf(new ArithmeticVerifier(), overrides);
    expect(rules(events)).toContain("truncation");
  });

  test("by a sandbox that fails warns, and stops before it learns from the rest", async () => {
    const every = (nth: number) =>
      new ArithmeticVerifier((_, calls) => (calls % nth === 0 ? "infra_error" : {}));
    const val = "trainer.val_before_train=false";
    const some = await eventsOf(every(40), [steps(2), val, "data.train_batch_size=24"]);
    expect(some.events[0]).toMatchObject({ rule: "infra_errors", severity: "warning" });
    const many = await eventsOf(every(5), [steps(2), val]);
    expect(many.stopped).toContain("stopped at step 1: the sandbox itself fails");
    expect(many.events[0]).toMatchObject({ rule: "infra_errors", severity: "fatal" });
    expect(existsSync(runPaths(many.dir).checkpointOf(1))).toBe(false);
  });

  test("by a data set without a signal is refused before the first step", async () => {
    const flat = (reward: number) =>
      eventsOf(new ArithmeticVerifier(() => ({ passRate: reward, reward })), [
        "health.preflight_samples=16",
      ]);
    expect((await flat(0)).stopped).toMatch(/all earn 0, so there is no signal.*easier problems/);
    expect((await flat(1)).stopped).toMatch(/all earn 1, so there is no signal.*harder problems/);
  });

  test("by a reward of another scale is not mistaken for one without a signal", async () => {
    const scaled = new ArithmeticVerifier(({ completion }) => ({ reward: -1 - completion.length }));
    const { stopped } = await eventsOf(scaled, ["health.preflight_samples=16", steps(1)]);
    expect(stopped).toBeNull();
  });

  test("by a sandbox that fails in validation says so, and gives no score", async () => {
    const rule = ({ maxTests }: VerifyRequest, calls: number) =>
      maxTests === null && calls % 3 === 0 ? "infra_error" : {};
    const { events, stopped, dir } = await eventsOf(new ArithmeticVerifier(rule), [steps(2)]);
    expect(stopped).toContain("of the validation's completions were lost");
    expect(events[0]).toMatchObject({ rule: "infra_errors", severity: "fatal" });
    const [validation] = await metricsOf(dir);
    expect(Object.keys(validation.metrics)).toEqual(["reward/infra_error"]);
  });
});

const TRAIN = { "actor/entropy": 0.25, "reward/pass_rate": 0.3, "reward/score": 0.3, kl: 0.01 };

/** What a monitor says of steps with these metrics. */
function observe(count: number, metrics: (step: number) => Record<string, number>): string[] {
  const monitor = new HealthMonitor({ repeatEvery: 1000, stopOn: [] });
  const said = new Set<string>();
  for (let step = 1; step <= count; step++) {
    const record: MetricsRecord = {
      step,
      phase: "train",
      time: 0,
      metrics: { ...TRAIN, ...metrics(step) },
    };
    for (const { rule } of monitor.observe(record)) said.add(rule);
  }
  return [...said];
}

describe("a rule", () => {
  /** Metrics of a run that is ill in the way of the rule, and of nothing else. */
  const ILL: Record<string, (step: number) => Record<string, number>> = {
    nan: (step) => ({ "actor/grad_norm": step === 5 ? NaN : 0.3 }),
    infra_errors: () => ({ "reward/infra_error": 0.02 }),
    first_ratio: () => ({ "actor/first_ratio_error": 0.05 }),
    sampler_mismatch: () => ({ "training/rollout_probs_diff_mean": 0.02 }),
    kl: (step) => ({ kl: 0.02 * step }),
    pg_loss: (step) => ({ "actor/pg_loss": step }),
    clip_fraction: () => ({ "actor/pg_clipfrac": 0.4 }),
    grad_norm: (step) => ({ "actor/grad_norm": step === 15 ? 9 : 0.3 }),
    entropy_collapse: (step) => ({ "actor/entropy": 0.25 / step ** 2 }),
    entropy_rising: (step) => ({ "actor/entropy": 0.25 + 0.03 * step }),
    no_reward: () => ({ "reward/pass_rate": 0, "reward/score": 0 }),
    pass_spike: (step) => ({ "reward/pass_rate": step < 10 ? 0.1 : 0.8 }),
    low_format: () => ({ "reward/format": 0.05 }),
    format_only: (step) => ({ "reward/score": 0.3 + 0.02 * step }),
    truncation: () => ({ "response_length/clip_ratio": 0.3 }),
    rambling: (step) => ({ "response_length/mean": 20 + 2 * step }),
    zero_variance: () => ({ "group/size": 8, "group/zero_std": 0.9 }),
    duplicates: () => ({ "actor/entropy": 0.6, "group/duplicates": 0.9 }),
    explained_variance: () => ({ "critic/vf_explained_var": -0.5 }),
    slow_verifier: () => ({ "timing_s/reward": 30, "timing_s/step": 40 }),
  };

  test.each(Object.entries(ILL))("%s fires on its own illness alone", (id, metrics) => {
    expect(observe(25, metrics)).toEqual([id]);
  });

  test("grad_norm has a median also after steps without an update of the policy", () => {
    const warm = (step: number) => (step <= 10 ? {} : { "actor/grad_norm": step < 21 ? 0.3 : 50 });
    expect(observe(21, warm)).toEqual(["grad_norm"]);
  });

  test("explained_variance is silent where all returns are the same, entropy_collapse on NaN", () => {
    const same = { "critic/returns/max": 0, "critic/returns/min": 0 };
    expect(observe(25, () => ({ ...same, "critic/vf_explained_var": -19 }))).toEqual([]);
    expect(observe(5, () => ({ "actor/entropy": NaN }))).toEqual([]);
  });

  test("overfit fires when training rises over three validations and validation does not", () => {
    const monitor = new HealthMonitor({ repeatEvery: 1000, stopOn: [] });
    const said: string[] = [];
    for (let step = 1; step <= 20; step++) {
      const pass = { ...TRAIN, "reward/pass_rate": 0.3 + 0.02 * step };
      said.push(
        ...monitor
          .observe({
            step,
            phase: "train",
            time: 0,
            metrics: { ...pass, "reward/score": pass["reward/pass_rate"] },
          })
          .map(({ rule }) => rule),
      );
      if (step % 5 !== 0) continue;
      const metrics = { "reward/pass_rate": 0.3 - 0.001 * step };
      said.push(
        ...monitor.observe({ step, phase: "val", time: 0, metrics }).map(({ rule }) => rule),
      );
    }
    expect(said).toEqual(["overfit"]);
  });

  test("has an illness here, every one of them", () => {
    expect([...Object.keys(ILL), "overfit"].sort()).toEqual(
      HEALTH_RULES.map(({ id }) => id).sort(),
    );
  });

  test("is silent on a healthy course", () => {
    const healthy = (step: number) => ({
      "actor/entropy": 0.26 - 0.003 * step,
      "reward/pass_rate": 0.1 + 0.014 * step,
      "reward/score": 0.1 + 0.014 * step,
      "reward/format": Math.min(0.99, 0.45 + 0.04 * step),
      kl: 0.002 * step,
      "actor/grad_norm": 0.3 + 0.1 * Math.sin(step),
      "actor/pg_loss": 0.01 * Math.sin(step),
      "actor/pg_clipfrac": 0.003,
      "actor/first_ratio_error": 0,
      "critic/vf_explained_var": 0.003 * step,
      "response_length/mean": 25 + 0.1 * step,
      "response_length/clip_ratio": 0.01,
      "training/rollout_probs_diff_mean": 1e-6,
      "timing_s/reward": 0.1,
      "timing_s/step": 1,
    });
    expect(observe(35, healthy)).toEqual([]);
  });

  test("is said once, and again every K steps while it holds", () => {
    const monitor = new HealthMonitor({ repeatEvery: 4, stopOn: [] });
    const said: number[] = [];
    for (let step = 1; step <= 12; step++) {
      const metrics = { ...TRAIN, "response_length/clip_ratio": 0.5 };
      if (monitor.observe({ step, phase: "train", time: 0, metrics }).length > 0) said.push(step);
    }
    expect(said).toEqual([3, 7, 11]);
  });
});

describe("the starter model with real programs", () => {
  const start = async (name: string, overrides: string[], reward?: string) => {
    const dir = join(root, name);
    const resolved = resolveConfig({
      preset: "starter",
      overrides: [`trainer.default_local_dir=${dir}`, "data.val_max_samples=32", ...overrides],
    });
    const verifier = await createVerifier(verifierSettings(resolved.config));
    try {
      const judge =
        reward === undefined
          ? verifier
          : withCustomReward(verifier, await loadCustomReward(reward, "compute_score"));
      await train(resolved, { verifier: judge });
    } finally {
      await verifier.close();
    }
    return readLines<HealthEvent>(runPaths(dir).health);
  };
  const isThere = existsSync(new URL("../../starter/model/model.safetensors", import.meta.url));

  test.skipIf(!isThere)("stays silent while it is healthy", { timeout: 300_000 }, async () => {
    expect(await start("healthy", [steps(20)])).toEqual([]);
  });

  test.skipIf(!isThere)("paid for form alone, says so", { timeout: 300_000 }, async () => {
    const reward = join(root, "form.js");
    await writeFile(
      reward,
      "export const compute_score = ({ result }) => Number(result.extraction.format);\n",
    );
    const events = await start("form", [steps(12), "health.preflight_samples=0"], reward);
    expect(rules(events)).toContain("format_only");
  });

  test.skipIf(!isThere)("with a learning rate ×1000 falls ill", { timeout: 300_000 }, async () => {
    const events = await start("wild", [
      steps(8),
      "actor_rollout_ref.actor.optim.lr=0.1",
      "critic.optim.lr=1",
      "health.stop_on=[]",
    ]);
    expect(rules(events)).toEqual(expect.arrayContaining(["kl", "no_reward"]));
  });
});
