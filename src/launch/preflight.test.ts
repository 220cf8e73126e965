import { describe, expect, test } from "vitest";
import { resolveConfig } from "../config/resolve.js";
import { type JudgingSettings, judgingSettings } from "../config/settings.js";
import type { NodeFacts } from "./nodes.js";
import { CHECKS, type PreflightFacts, runPreflight } from "./preflight.js";
import type { MachineFacts } from "./probe.js";
import { releaseOf } from "./releases.js";
import type { ServiceHealth } from "./service-health.js";

const NAMES = [
  "verl",
  "vllm",
  "ray",
  "torch",
  "tensordict",
  "transformers",
  "numpy",
  "hydra-core",
  "TransferQueue",
  "orjson",
];
const machine: MachineFacts = {
  python: {
    python: "3.12.3",
    executable: "/opt/verl/bin/python",
    versions: {
      ...{ verl: "0.9.1", vllm: "0.18.0", ray: "2.55.1", torch: "2.11.0", tensordict: "0.10.0" },
      ...{ transformers: "5.6.1", numpy: "2.4.6", TransferQueue: "0.1.10", orjson: "3.13.0" },
    },
    importable: Object.fromEntries(NAMES.map((name) => [name, true])),
    verl_folder: "/opt/verl/lib/verl",
    cpus: 32,
    readable: { "/data/train.parquet": true },
  },
  gpus: [{ name: "RTX 4090", memoryMb: 24_564, freeMb: 24_000 }],
  freeMemoryBytes: 64e9,
  freeDiskBytes: 500e9,
  knownKeys: new Set(["data.train_batch_size"]),
};

const SERVICE = "http://10.0.0.1:8710";
/** A service that judges as a config without settings of its own does. */
const health: ServiceHealth = {
  isolation: "basic",
  settings: judgingSettings(resolveConfig({}).config),
};
const telling = (settings: JudgingSettings) => ({
  ...health,
  settings: { ...health.settings, ...settings },
});
const found: NonNullable<NodeFacts["found"]> = {
  python: "3.12.3",
  verl: "0.9.1",
  reward: null,
  files: { "/opt/verl_reward.py": null },
  services: { [SERVICE]: null },
  health: { [SERVICE]: health },
};
/** Two nodes, of which the second differs in one way. */
const nodesWith = (change: Partial<typeof found>, lost: string | null = null) => ({
  nodes: {
    nodes: [
      { address: "10.0.0.1", found, lost: null },
      { address: "10.0.0.2", found: lost === null ? { ...found, ...change } : null, lost },
    ],
  },
});

interface Changes {
  overrides?: string[];
  python?: Partial<MachineFacts["python"]>;
  machine?: Partial<MachineFacts>;
  facts?: Partial<PreflightFacts>;
}

function factsWith({
  overrides = [],
  python = {},
  machine: other = {},
  facts = {},
}: Changes): PreflightFacts {
  const { config } = resolveConfig({ preset: "qwen2.5-coder-0.5b-1gpu", overrides });
  return {
    config,
    release: releaseOf("0.9.1"),
    machine: { ...machine, ...other, python: { ...machine.python, ...python } },
    overrides: [
      { key: "data.train_batch_size", value: 128, isAdded: false },
      {
        key: "transfer_queue.backend.SimpleStorage.num_data_storage_units",
        value: 1,
        isAdded: true,
      },
    ],
    files: ["/data/train.parquet"],
    trainRows: 1000,
    services: [{ url: SERVICE, answer: "ok", health }],
    cluster: null,
    ...nodesWith({}),
    ...facts,
  };
}

/** A machine that is wrong in one way: the check that says so, and words of the cure. */
const WRONG: [string, Changes, RegExp][] = [
  [
    "packages",
    { python: { importable: { ...machine.python.importable, TransferQueue: false } } },
    /pip install 'TransferQueue>=0\.1\.10'/,
  ],
  [
    "packages",
    { python: { importable: { ...machine.python.importable, orjson: false } } },
    /pip install orjson/,
  ],
  [
    "packages",
    { overrides: ["actor_rollout_ref.rollout.name=sglang"] },
    /sglang cannot be imported .* pip install sglang/,
  ],
  [
    "keys",
    { machine: { knownKeys: new Set(["data.other"]) } },
    /has no data\.train_batch_size.*reinstall/,
  ],
  ["gpus", { machine: { gpus: [] } }, /this machine has 0; lower trainer\.n_gpus_per_node/],
  [
    "gpus",
    { facts: { cluster: { cpus: 64, gpus: 4 } }, overrides: ["trainer.n_gpus_per_node=8"] },
    /8 GPUs are needed and the Ray cluster has 4/,
  ],
  [
    "ray processors",
    { python: { cpus: 4 } },
    /reserve 6 processors and Ray has 4.*hang.*num_cpus=6/,
  ],
  [
    "ray processors",
    { facts: { overrides: [] }, python: { cpus: 8 } },
    /reserve 13 processors and Ray has 8/,
  ],
  [
    "divisibility",
    { overrides: ["actor_rollout_ref.rollout.tensor_model_parallel_size=2"] },
    /must divide the 1 GPUs/,
  ],
  ["divisibility", { overrides: ["trainer.n_gpus_per_node=3"] }, /must be a multiple of 3 GPUs/],
  [
    "divisibility",
    { overrides: ["actor_rollout_ref.actor.use_dynamic_bsz=false"] },
    /ppo_micro_batch_size_per_gpu must be set/,
  ],
  [
    "divisibility",
    {
      overrides: [
        "actor_rollout_ref.actor.use_dynamic_bsz=false",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=7",
      ],
    },
    /multiple of its micro-batch \(7\)/,
  ],
  [
    "data",
    { facts: { trainRows: 100 } },
    /do not fill one batch of 128.*lower data\.train_batch_size/,
  ],
  ["lora", { overrides: ["actor_rollout_ref.model.lora_rank=8"] }, /set it to safetensors/],
  [
    "reward",
    { overrides: ["reward.kind=all_or_nothing", "verifier.time_limit_ms=2000"] },
    /^http:\/\/10\.0\.0\.1:8710: verifier\.time_limit_ms is 5000 there and 2000 here, verifier\.wall_limit_ms is 15000 there and 6000 here, reward\.kind is pass_rate there and all_or_nothing here; .*rlvr serve --config FILE/,
  ],
  [
    "reward",
    { overrides: ["verifier.early_stop=true"] },
    /verifier\.early_stop is false there and true here/,
  ],
  [
    "reward",
    { overrides: ["verifier.require_isolation=full"] },
    /its isolation is basic, and verifier\.require_isolation full/,
  ],
  [
    "reward",
    { overrides: ["reward.custom_reward_function.path=mine.ts"] },
    /reward\.kind is pass_rate there and custom here/,
  ],
  [
    "reward",
    {
      facts: {
        cluster: { cpus: 64, gpus: 8 },
        ...nodesWith({ health: { [SERVICE]: telling({ "verifier.memory_limit_mb": 256 }) } }),
      },
    },
    /^node 10\.0\.0\.2: http:\/\/10\.0\.0\.1:8710: verifier\.memory_limit_mb is 256 there and 512 here;/,
  ],
  [
    "files",
    { python: { readable: {} } },
    /\/data\/train\.parquet cannot be read.*storage that every node sees/,
  ],
  [
    "service",
    { facts: { services: [{ url: "http://10.0.0.1:8710", answer: null, health: null }] } },
    /start one there with rlvr serve/,
  ],
  [
    "service",
    { facts: { services: [{ url: "http://10.0.0.1:8710", answer: "refused", health }] } },
    /RLVR_VERIFIER_TOKEN/,
  ],
  [
    "service",
    {
      overrides: ["trainer.nnodes=2"],
      facts: { services: [{ url: "http://127.0.0.1:8710", answer: "ok", health }] },
    },
    /start rlvr serve on each/,
  ],
  [
    "nodes",
    { facts: nodesWith({ files: { "/home/me/reward.py": "No such file or directory" } }) },
    /^node 10\.0\.0\.2: \/home\/me\/reward\.py: No such file.*storage that all nodes share$/,
  ],
  [
    "nodes",
    { facts: nodesWith({ reward: "ModuleNotFoundError: No module named 'sympy'" }) },
    /^node 10\.0\.0\.2: the reward file does not load: .*'sympy'; every node needs what it imports/,
  ],
  [
    "nodes",
    { facts: nodesWith({ services: { [SERVICE]: "Connection refused" } }) },
    /^node 10\.0\.0\.2: no verify service at http:\/\/10\.0\.0\.1:8710 \(Connection refused\).*--host 0\.0\.0\.0/,
  ],
  [
    "nodes",
    { facts: nodesWith({ services: { "http://localhost:8710": "Connection refused" } }) },
    /^node 10\.0\.0\.2: .*each node itself: name in verifier\.urls one that all nodes reach, such as http:\/\/10\.0\.0\.2:8710/,
  ],
  [
    "nodes",
    { facts: nodesWith({ services: { [SERVICE]: "refuses the token" } }) },
    /give its token in RLVR_VERIFIER_TOKEN/,
  ],
  [
    "nodes",
    { facts: nodesWith({ python: "3.9.18" }) },
    /^node 10\.0\.0\.2: Python 3\.9\.18 does not run veRL 0\.9; install 3\.10 or later/,
  ],
  [
    "nodes",
    { facts: nodesWith({ verl: "0.8.0" }) },
    /^node 10\.0\.0\.2: veRL 0\.8\.0 in its Python.*install verl==0\.9\.1 on every node/,
  ],
  [
    "nodes",
    { facts: nodesWith({}, "its raylet died") },
    /^node 10\.0\.0\.2: its raylet died; look at ray status/,
  ],
  ["nodes", { facts: { nodes: { nodes: [] } } }, /no node that takes workers; .*ray start/],
  [
    "nodes",
    { facts: { nodes: { failure: "no worker answered within 300 s" } } },
    /no worker answered within 300 s\); look at ray status/,
  ],
  ["disk", { machine: { freeDiskBytes: 1e9 } }, /set trainer\.max_actor_ckpt_to_keep/],
];

describe("runPreflight", () => {
  test("finds nothing wrong with a machine that is right", () => {
    const results = runPreflight(factsWith({}));
    expect(results.filter(({ state }) => state === "failed")).toEqual([]);
    expect(results).toHaveLength(Object.keys(CHECKS).length);
  });

  test.each(WRONG)(
    "%s: refuses a machine wrong in that way alone, with the cure",
    (name, changes, cure) => {
      const failed = runPreflight(factsWith(changes)).filter(({ state }) => state === "failed");
      expect(failed.map((result) => result.name)).toContain(name);
      expect(failed.find((result) => result.name === name)?.detail).toMatch(cure);
    },
  );

  test.each<[string, Changes, RegExp]>([
    [
      "versions",
      { python: { versions: { ...machine.python.versions, vllm: "0.8.5" } } },
      /vllm 0\.8\.5 is older than 0\.18\.0/,
    ],
    [
      "versions",
      { python: { versions: { ...machine.python.versions, transformers: "5.11.0" } } },
      /transformers 5\.11\.0 is not below 5\.11/,
    ],
    [
      "gpu memory",
      { overrides: ["actor_rollout_ref.model.path=Qwen/Qwen2.5-Coder-7B-Instruct"] },
      /lower actor_rollout_ref\.rollout\.gpu_memory_utilization/,
    ],
    ["keys", { machine: { knownKeys: null } }, /no generated defaults/],
    ["nodes", { facts: { nodes: null } }, /not asked: without Ray/],
    [
      "reward",
      {
        facts: {
          services: [{ url: SERVICE, answer: "ok", health: { ...health, settings: null } }],
        },
      },
      /does not tell its limits and its reward/,
    ],
  ])("%s: warns", (name, changes, words) => {
    const found = runPreflight(factsWith(changes)).find((result) => result.name === name);
    expect(found).toMatchObject({
      state: "warning",
      detail: expect.stringMatching(words) as string,
    });
  });

  test("settings without effect may differ, and a reward in Python is its own", () => {
    const rewardOf = (overrides: string[], settings: JudgingSettings = {}) => {
      const services = [{ url: SERVICE, answer: "ok" as const, health: telling(settings) }];
      const results = runPreflight(factsWith({ overrides, facts: { services } }));
      return results.find(({ name }) => name === "reward")?.state;
    };
    expect(rewardOf(["seed=3", "reward.weights.format=0.2", "verifier.workers=7"])).toBe("ok");
    expect(rewardOf(["seed=3", "verifier.max_tests=9"], { "verifier.max_tests": 9, seed: 3 })).toBe(
      "ok",
    );
    expect(rewardOf(["seed=3", "verifier.max_tests=9"], { "verifier.max_tests": 9, seed: 1 })).toBe(
      "failed",
    );
    const own = "reward.custom_reward_function.path=mine.py";
    expect(rewardOf([own, "verifier.time_limit_ms=9"])).toBe("ok");
  });

  test("a service that this machine does not see is the nodes' to judge in a cluster", () => {
    const services = [{ url: SERVICE, answer: null, health: null }];
    const failed = runPreflight(factsWith({ facts: { services, cluster: { cpus: 64, gpus: 8 } } }));
    expect(failed.filter(({ state }) => state === "failed")).toEqual([]);
  });

  test("every check is seen to fail or warn", () => {
    const seen = new Set([...WRONG.map(([name]) => name), "versions", "gpu memory"]);
    expect(Object.keys(CHECKS).filter((name) => !seen.has(name))).toEqual([]);
  });
});
