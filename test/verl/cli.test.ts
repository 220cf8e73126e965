/** `rlvr train engine=verl` as a user runs it, with the stand-in for veRL and a real service. */
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readRunInfo } from "../../src/core/run.js";
import type { LaunchCommand } from "../../src/launch/command.js";
import { toFloat32 } from "../../src/merge/convert.js";
import { openModel } from "../../src/merge/model-folder.js";
import { rowBytes, rowCount } from "../../src/merge/rows.js";
import { serve } from "../service/serve-process.js";
import { saveTorch } from "../merge/torch-writer.js";

const inProject = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
let dir = "";

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "verl-cli-"));
  const python = `#!/bin/sh\nexport FAKE_PYTHON=$0\nexec python3 ${inProject("test/verl/fake_verl.py")} "$@"\n`;
  // Two GPUs, as nvidia-smi would list them.
  const gpus = "#!/bin/sh\necho 'NVIDIA H100, 81559, 81000'\necho 'NVIDIA H100, 81559, 81000'\n";
  for (const [name, text] of Object.entries({ python, "nvidia-smi": gpus })) {
    writeFileSync(join(dir, name), text);
    chmodSync(join(dir, name), 0o755);
  }
  const problem = {
    id: "sum/1",
    source: "apps",
    prompt: [{ role: "user", content: "Print the sum." }],
    tests: { kind: "stdio", cases: [{ input: "1 2\n", output: "3\n" }] },
  };
  const lines = Array.from({ length: 128 }, (_, index) => {
    return JSON.stringify({ ...problem, id: `sum/${index + 1}` }) + "\n";
  });
  writeFileSync(join(dir, "train.jsonl"), lines.join(""));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Runs `rlvr` with these words; `onText` may act on what it prints so far. */
function run(
  words: string[],
  fake: object = {},
  onText: (text: string, stop: () => void) => void = () => {},
) {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", inProject("src/cli/main.ts"), ...words],
    {
      cwd: inProject("."),
      env: environmentWith(fake),
    },
  );
  let text = "";
  let isStopped = false;
  const onData = (chunk: Buffer) => {
    text += chunk.toString();
    onText(text, () => {
      if (!isStopped) child.kill("SIGINT");
      isStopped = true;
    });
  };
  child.stdout.on("data", onData);
  child.stderr.on("data", onData);
  return new Promise<{ code: number | null; text: string }>((resolve) =>
    child.on("close", (code) => resolve({ code, text })),
  );
}

/** Every file with the time it was last written. */
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => `${name} ${statSync(join(folder, name)).mtimeMs}`);

const environmentWith = (fake: object) => ({
  ...process.env,
  PATH: `${dir}:${process.env.PATH}`,
  FAKE_VERL: JSON.stringify({ rows: ROWS, ...fake }),
});

/** Runs `rlvr train engine=verl` on the files of this test. */
const rlvr = (fake: object, words: string[], onText?: Parameters<typeof run>[2]) =>
  run(
    [
      ...["train", "engine=verl", "--preset", "qwen2.5-coder-0.5b-1gpu", "--out", join(dir, "run")],
      `launch.python=${join(dir, "python")}`,
      `data.train_files=${join(dir, "train.jsonl")}`,
      `data.val_files=${join(dir, "train.jsonl")}`,
      ...["trainer.total_training_steps=4", "verifier.workers=1", ...words],
    ],
    fake,
    onText,
  );

/** Shapes and values of a model's tensors, by name. */
async function tensorsOf(model: string) {
  const { tensors, close } = await openModel(model);
  const found: Record<string, { shape: number[]; data: number[] }> = {};
  for (const { name, shape, dtype, read } of tensors) {
    const rows = rowCount(shape);
    const bytes = Buffer.alloc(rows * rowBytes(dtype, shape));
    await read(0, rows, bytes);
    found[name] = { shape: [...shape], data: [...toFloat32(bytes, dtype)] };
  }
  await close();
  return found;
}

/** A folder of shards as one rank of FSDP leaves them, of the starter model. */
async function starterShards(): Promise<string> {
  const actor = join(dir, "actor");
  const starter = inProject("starter/model");
  mkdirSync(actor);
  const specs = Object.entries(await tensorsOf(starter)).map(
    ([name, tensor]) => [name, { kind: "tensor" as const, ...tensor }] as const,
  );
  saveTorch(join(actor, "model_world_size_1_rank_0.pt"), Object.fromEntries(specs));
  writeFileSync(join(actor, "fsdp_config.json"), '{"FSDP_version": 1, "world_size": 1}');
  cpSync(starter, join(actor, "huggingface"), {
    recursive: true,
    filter: (path) => !path.endsWith(".safetensors"),
  });
  return actor;
}

const GROUND_TRUTH = JSON.stringify({ problem_id: "sum/1", inputs: ["1 2\n"], outputs: ["3\n"] });
const ROWS = [
  { output: "```python\nprint(sum(map(int, input().split())))\n```", gts: GROUND_TRUTH },
  { output: "```python\nprint(4)\n```", gts: GROUND_TRUTH },
];

describe("rlvr train engine=verl", () => {
  test("runs to its end: the chapter's lines, verdicts of the real sandbox, exit 0", async () => {
    const { code, text } = await rlvr({}, []);
    expect(text).toMatch(/\[Step 4\] +train \| reward\/score=0\.40 \| reward\/pass_rate=0\.50/);
    expect(text).toMatch(/next: rlvr merge .*global_step_4/);
    expect(code).toBe(0);
    const rollouts = readFileSync(join(dir, "run", "rollouts", "step_000004.jsonl"), "utf8");
    const verdicts = rollouts
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { verdict: string }).verdict);
    expect(verdicts).toEqual(["accepted", "wrong_answer"]);
    expect(existsSync(join(dir, "run", "verl", "verify.sock"))).toBe(false);
  }, 120_000);

  test("a failing preflight starts nothing and exits 1", async () => {
    const { code, text } = await rlvr({ versions: { TransferQueue: null } }, [
      "trainer.n_gpus_per_node=8",
    ]);
    expect(text).toMatch(/failed: packages: TransferQueue cannot be imported .* pip install/);
    expect(text).toMatch(/failed: gpus: 8 GPUs are needed and this machine has 2/);
    expect(text).toMatch(/2 of 14 checks failed; nothing was started/);
    expect(code).toBe(1);
    expect(existsSync(join(dir, "run", "run.json"))).toBe(false);
  }, 120_000);

  test("a second one for the same directory is refused, and the first goes on untouched", async () => {
    const out = join(dir, "run");
    let second: ReturnType<typeof run> | null = null;
    const before: string[][] = [];
    const first = await rlvr({ hang_after: 2 }, [], (text, stop) => {
      if (!text.includes("[Step 2]") || second !== null) return;
      before.push(filesIn(out));
      second = rlvr({}, []).finally(() => {
        before.push(filesIn(out));
        stop();
      });
    });
    const { code, text } = await second!;
    expect(text).toMatch(/rlvr: .*run is being written by process \d+; wait for it or stop it/);
    expect(code).toBe(2);
    expect(before[1]).toEqual(before[0]);
    expect(before[1].join()).toContain("verify.sock");
    expect(first.code).toBe(130);
    expect(existsSync(join(out, "run.lock"))).toBe(false);
  }, 180_000);

  test("a socket on which somebody else's service listens is left to it", async () => {
    const socket = join(dir, "run", "verl", "verify.sock");
    mkdirSync(dirname(socket), { recursive: true });
    const service = createServer().listen(socket);
    const { code, text } = await rlvr({}, []);
    expect(text).toMatch(/cannot listen on .*verify\.sock: .*EADDRINUSE/);
    expect(code).toBe(2);
    expect(existsSync(socket)).toBe(true);
    expect(existsSync(join(dir, "run", "run.json"))).toBe(false);
    await new Promise((resolve) => service.close(resolve));
  }, 120_000);

  test("services that judge otherwise than the config are refused, until they have it", async () => {
    const config = join(dir, "run.yaml");
    writeFileSync(config, "reward: { kind: all_or_nothing }\nverifier: { memory_limit_mb: 256 }\n");
    const words = ["reward.kind=all_or_nothing", "verifier.memory_limit_mb=256"];
    const trainWith = async (...options: string[]) => {
      const service = await serve("--workers", "1", ...options);
      const outcome = await rlvr({}, [...words, `verifier.urls=["${service.url}"]`]);
      await service.stop("SIGTERM");
      return outcome;
    };
    const refused = await trainWith();
    expect(refused.text).toMatch(
      /failed: reward: http:.*: verifier\.memory_limit_mb is 512 there and 256 here, reward\.kind is pass_rate there and all_or_nothing here; .*rlvr serve --config FILE/,
    );
    expect(refused.code).toBe(1);
    expect((await trainWith("--config", config)).code).toBe(0);
  }, 180_000);

  test("a crash exits 1 with the cause; Ctrl-C exits 130 and says how to go on", async () => {
    const crash = await rlvr({ crash_after: 3 }, []);
    expect(crash.code).toBe(1);
    expect(crash.text).toMatch(/failed after step 3 \(exit code 1\)/);
    expect(crash.text).toMatch(/a GPU ran out of memory: lower/);
    const stopped = await rlvr({ steps: 50, pause: 0.5, save_freq: 3 }, [], (text, stop) => {
      if (text.includes("[Step 4]")) stop();
    });
    expect(stopped.text).toMatch(/going on after step 2/);
    expect(stopped.text).toMatch(/interrupted after step \d+/);
    expect(stopped.code).toBe(130);
    expect((await readRunInfo(join(dir, "run"))).status).toBe("interrupted");
  }, 180_000);

  test("health.* decides what is watched, said and stopped for", async () => {
    const bad = { nan_at: 2, pause: 0.3, steps: 12 };
    const stopped = await rlvr(bad, []);
    expect(stopped.text).toMatch(/fatal: step 2: numbers are no longer finite/);
    expect(stopped.code).toBe(1);
    rmSync(join(dir, "run"), { recursive: true });
    const warned = await rlvr({ ...bad, steps: 4 }, ["health.stop_on=[]"]);
    expect(warned.text).toMatch(/warning: step 2: numbers are no longer finite/);
    expect(warned.code).toBe(0);
    rmSync(join(dir, "run"), { recursive: true });
    const unwatched = await rlvr({ ...bad, steps: 4 }, ["health.enable=false"]);
    expect(unwatched.text).not.toMatch(/numbers are no longer finite/);
    expect(unwatched.code).toBe(0);
  }, 180_000);

  test("--dry-run prints the command and makes no run; an unknown release is refused", async () => {
    const { code, text } = await rlvr({}, ["--dry-run"]);
    expect(text).toContain("-m verl.trainer.main_ppo \\\n");
    expect(code).toBe(0);
    expect(existsSync(join(dir, "run"))).toBe(false);
    const facts = await rlvr({}, ["--dry-run", "--json"]);
    const { words, environment } = JSON.parse(
      facts.text.split("\n").find((line) => line.startsWith("{")) ?? "",
    ) as LaunchCommand;
    expect(words.slice(1, 3)).toEqual(["-m", "verl.trainer.main_ppo"]);
    expect(environment.VERL_FILE_LOGGER_PATH).toMatch(/metrics-1\.jsonl$/);
    const unknown = await rlvr({ versions: { verl: "0.11.0" } }, ["--dry-run"]);
    expect(unknown.code).toBe(1);
    expect(unknown.text).toMatch(/veRL 0\.11\.0 is not known here/);
  }, 120_000);

  test("--write-script writes a script that runs by itself and says what --dry-run prints", async () => {
    const script = join(dir, "launch.sh");
    const { code } = await rlvr({}, ["--write-script", script]);
    expect(code).toBe(0);
    expect(readFileSync(script, "utf8")).toMatch(/^#!\/usr\/bin\/env bash\n/);
    expect(existsSync(join(dir, "run", "verl", "train.parquet"))).toBe(true);
    const { text } = await rlvr({}, ["--dry-run"]);
    // The sentence of batch arithmetic follows the command.
    const command = text.slice(0, text.indexOf("\n", text.lastIndexOf("\\\n") + 2));
    const say = (words: string[]) =>
      JSON.parse(
        execFileSync("bash", words, { env: environmentWith({ echo: true }), encoding: "utf8" }),
      ) as [string[], Record<string, string>];
    const [words, variables] = say([script]);
    expect(say(["-c", command])).toEqual([words, variables]);
    expect(words).toContain("trainer.total_training_steps=4");
    expect(variables.VERL_FILE_LOGGER_PATH).toMatch(/metrics-1\.jsonl$/);
    expect(say([script, "trainer.save_freq=3"])[0]).toEqual([...words, "trainer.save_freq=3"]);
    execFileSync(script, { env: environmentWith({}), encoding: "utf8" });
    expect(readFileSync(variables.VERL_FILE_LOGGER_PATH, "utf8")).toContain("critic/score/mean");
  }, 120_000);

  test("rlvr merge and rlvr eval go on from its checkpoints", async () => {
    const { text } = await rlvr({ shards: await starterShards() }, []);
    const next = /^next: rlvr (merge .*)$/m.exec(text)?.[1].split(" ") ?? [];
    expect(next[1]).toMatch(/global_step_4$/);
    const merged = await run(next);
    expect(merged.code).toBe(0);
    // The run directory stands for its newest checkpoint.
    const again = await run(["merge", join(dir, "run"), "--out", join(dir, "again")]);
    expect(again.code).toBe(0);
    const wanted = await tensorsOf(inProject("starter/model"));
    for (const model of [next[3], join(dir, "again")]) {
      expect(await tensorsOf(model)).toEqual(wanted);
    }
    const out = join(dir, "eval");
    const evaluated = await run([
      ...["eval", "starter", "--model", next[3], "--limit", "2", "--max-tokens", "32"],
      ...["--threads", "1", "--out", out],
    ]);
    expect(evaluated.text).toMatch(/pass@1/);
    expect(evaluated.code).toBe(0);
  }, 180_000);
});
