import { describe, expect, test } from "vitest";
import { resolveConfig } from "../config/resolve.js";
import { formatOverride, quoteForShell } from "./hydra.js";
import { addExtraOverrides, buildOverrides } from "./overrides.js";
import { compareVersions, RELEASES, releaseOf } from "./releases.js";

const paths = {
  trainFile: "/run/verl/train.parquet",
  valFile: "/run/verl/validation.parquet",
  checkpoints: "/run/checkpoints",
  rollouts: "/run/verl/rollouts",
  validation: "/run/verl/validation",
  rewardFile: "/opt/verl_reward.py",
  rewardName: "compute_score",
  rewardKwargs: { urls: "unix:/run/verl/verify.sock" },
};

function wordsFor(version: string, overrides: string[] = [], preset = "qwen2.5-coder-0.5b-1gpu") {
  const resolved = resolveConfig({ preset, overrides });
  const built = buildOverrides({
    ...resolved,
    release: releaseOf(version),
    paths,
    experiment: "e",
  });
  return built.map(formatOverride);
}

describe("buildOverrides", () => {
  test.each(["0.5.0", "0.6.1", "0.7.0", "0.7.1", "0.8.0", "0.9.1"])(
    "for veRL %s says what the snapshot says",
    (version) => expect(wordsFor(version)).toMatchSnapshot(),
  );

  test("puts the reward where the release reads it, and nowhere else", () => {
    const rewardOf = (version: string) =>
      wordsFor(version).filter((word) => word.includes("custom_reward_function"));
    const old = rewardOf("0.7.0").map((word) => word.replace(/^\+/, ""));
    expect(old.every((word) => word.startsWith("custom_reward_function."))).toBe(true);
    const recent = rewardOf("0.9.1").map((word) => word.replace(/^\+/, ""));
    expect(recent.every((word) => word.startsWith("reward.custom_reward_function."))).toBe(true);
    expect([old.length, recent.length]).toEqual([3, 3]);
  });

  test("renames what a release calls otherwise", () => {
    expect(wordsFor("0.5.0")).toContain("actor_rollout_ref.actor.optim.warmup_style=constant");
    const offloaded = ["critic.fsdp.param_offload=true"];
    expect(wordsFor("0.7.1", offloaded)).toContain("critic.model.fsdp_config.param_offload=True");
    expect(wordsFor("0.8.0", offloaded)).toContain("critic.fsdp.param_offload=True");
  });

  test("refuses what was set and the release would ignore", () => {
    expect(() => wordsFor("0.8.0", ["data.gen_batch_size=4"])).toThrow(
      /0\.8 would ignore these keys:\ndata\.gen_batch_size: veRL has it from 0\.9 on/,
    );
    expect(() => wordsFor("0.9.1", ["data.truncation=left"])).toThrow(/never reads it/);
    expect(() => wordsFor("0.9.1", ["data.gen_batch_size=4"])).not.toThrow();
  });

  test.each([
    [0, 0],
    [1, 2],
    [5, 6],
  ])("critic_warmup=%d leaves as many steps to the critic alone", (ours, verls) => {
    const words = wordsFor("0.9.1", [`trainer.critic_warmup=${ours}`]);
    expect(words).toContain(`trainer.critic_warmup=${verls}`);
    // veRL updates the policy where critic_warmup <= global_steps, which counts from 1.
    const steps = Array.from({ length: 20 }, (_, i) => i + 1);
    expect(steps.filter((step) => !(verls <= step))).toHaveLength(ours);
  });

  test("carries every value that was set", () => {
    const words = wordsFor("0.9.1", [
      "actor_rollout_ref.actor.optim.lr=3e-7",
      "actor_rollout_ref.rollout.n=4",
    ]);
    expect(words).toContain("actor_rollout_ref.actor.optim.lr=3e-7");
    expect(words).toContain("actor_rollout_ref.rollout.n=4");
    expect(new Set(words.map((word) => word.split("=")[0])).size).toBe(words.length);
  });
});

describe("addExtraOverrides", () => {
  const release = releaseOf("0.9.1");
  const knownKeys = new Set(["trainer.device", "trainer.nnodes", "custom_reward_function.path"]);
  const add = (extra: string[]) =>
    addExtraOverrides([{ key: "trainer.nnodes", value: 1, isAdded: false }], extra, {
      release,
      knownKeys,
    });

  test("takes known keys and added ones", () => {
    expect(add(["trainer.device=npu", "+a.b=1"])).toEqual([
      "trainer.nnodes=1",
      "trainer.device=npu",
      "+a.b=1",
    ]);
  });

  test.each([
    [
      "custom_reward_function.path=x.py",
      /reads custom_reward_function\.path and ignores it; set reward\.custom/,
    ],
    ["reward_model.reward_manager=prime", /ignores it; set reward instead/],
    ["data.truncation=left", /set data\.filter_overlong_prompts instead/],
    ["trainer.devise=npu", /has no key trainer\.devise; write \+trainer\.devise/],
    ["trainer.nnodes=2", /already set/],
    ["nonsense", /expected key=value/],
  ])("refuses %s", (word, message) => expect(() => add([word])).toThrow(message));
});

describe("formatOverride", () => {
  const format = (value: Parameters<typeof formatOverride>[0]["value"]) =>
    formatOverride({ key: "k", value, isAdded: false }).slice(2);

  test.each([
    [null, "null"],
    [true, "True"],
    [1e-6, "0.000001"],
    [1e-7, "1e-7"],
    ["Qwen/Qwen2.5-Coder-0.5B", "Qwen/Qwen2.5-Coder-0.5B"],
    ["null", '"null"'],
    ["1.5", '"1.5"'],
    ["a b=c,d", '"a b=c,d"'],
    ['say "hi"', '"say \\"hi\\""'],
    ["${x}", '"\\${x}"'],
    [["a", 1], "[a,1]"],
  ])("writes %j as %s", (value, text) => expect(format(value)).toBe(text));

  test("words survive a shell", () => {
    expect(quoteForShell("a=[b,c]")).toBe("'a=[b,c]'");
    expect(quoteForShell("it's")).toBe("'it'\\''s'");
  });
});

describe("releaseOf", () => {
  test("knows each release and refuses others with what to do", () => {
    for (const { series } of RELEASES) expect(releaseOf(series).series).toBe(series);
    expect(releaseOf("0.9.1.post1").series).toBe("0.9");
    expect(releaseOf("0.6.0").series).toBe("0.6.0");
    expect(releaseOf("0.10.0.dev0").rewardHome).toBe("reward");
    for (const version of ["0.4.1", "0.10.0", "1.0.0", "0.90.0"]) {
      expect(() => releaseOf(version)).toThrow(/is not known here.*install a known one/s);
    }
  });

  test("versions are compared by number", () => {
    expect(compareVersions("0.10.0", "0.9.1")).toBe(1);
    expect(compareVersions("2.11.0+cu130", "2.11.0")).toBe(0);
    expect(compareVersions("5.5", "5.5.3")).toBe(-1);
  });
});
